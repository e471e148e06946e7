"""Sensitive entities of texts: where they are, what kind they are, and which are the same.

Sources are labels in the data, a list (gazetteer), spaCy and Presidio. Everything found here is as
sensitive as the text; only counts may be shown.
"""
