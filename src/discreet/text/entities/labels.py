"""Entities that the data itself marks: one BIO tag for each token."""

from collections.abc import Container, Sequence

from discreet.text.entities.found import Entity, category_of, entity_id, is_category

PROBLEM = "has a tag that is not O, B-LABEL or I-LABEL; correct it"


class BadTags(Exception):
    """Why the tags of a row cannot be used, as the end of a sentence."""


def spans_of_tags(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """``(first token, token after the last, label)`` of each entity.

    ``I-X`` that does not continue an ``X`` begins one, as in CoNLL's first scheme (IOB1).

    >>> spans_of_tags(["B-PER", "I-PER", "O", "I-ORG", "B-ORG"])
    [(0, 2, 'PER'), (3, 4, 'ORG'), (4, 5, 'ORG')]
    """
    spans: list[tuple[int, int, str]] = []
    for position, tag in enumerate(tags):
        if tag == "O":
            continue
        mark, _, label = tag.partition("-")
        if mark not in ("B", "I") or not label:
            raise BadTags(PROBLEM)
        if mark == "I" and spans and spans[-1][1:] == (position, label):
            spans[-1] = (spans[-1][0], position + 1, label)
        else:
            spans.append((position, position + 1, label))
    return spans


def labelled(
    tokens: Sequence[str], tags: Sequence[str], categories: Container[str]
) -> tuple[list[Entity], int]:
    """The entities that the tags mark, by tokens, and how many are of categories not chosen."""
    if len(tokens) != len(tags):
        raise BadTags(f"has {len(tokens)} tokens but {len(tags)} tags; give each token its tag")
    kept, left_out = [], 0
    for start, end, label in spans_of_tags(tags):
        category = category_of(label)
        if category in categories:
            if not is_category(category):  # it is counted by its name, so it must be one
                raise BadTags("has a tag whose label is not a short name; correct it")
            kept.append(Entity(start, end, category, entity_id(" ".join(tokens[start:end]))))
        else:
            left_out += 1
    return kept, left_out
