"""Text in, text out: documents in files, tokens in documents."""
