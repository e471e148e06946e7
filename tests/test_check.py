"""Lists that are typed on one line, read alike wherever they are read."""

import pytest

from discreet import check
from discreet.cli._choice import LabelChoice
from discreet.cli.embed import _possible
from discreet.errors import InvalidValue
from discreet.mechanisms.material import Material
from discreet.mechanisms.registry import find
from discreet.training.user_entity.settings import Records
from discreet.training.vectors.settings import PublishedTask

READ = {
    "embed": lambda said: _possible(said, "topic", LabelChoice()),
    "audit": lambda said: tuple(
        Material(labels=said)._of_labels(find("randomized-response", "label"))[0]["labels"]
    ),
    "train embeddings": lambda said: PublishedTask(labels=said).classes,
    "train user-entity": lambda said: Records(label="topic", labels=said).classes,
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_a_label_with_a_comma_is_in_quotes(read):
    assert read('"a, b",True, c') == ("a, b", "True", "c")


@pytest.mark.parametrize("said", ["", '"a, b', '"a" b,c', "a\nb"])
def test_labels_that_cannot_be_read_are_refused_without_repeating_them(said):
    with pytest.raises(InvalidValue, match=r"double quotes around it$"):
        check.labels(said)
