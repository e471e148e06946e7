"""Reading what ``discreet train classify`` wrote, whichever kind it is."""

from pathlib import Path

from discreet.devices import AUTO
from discreet.errors import InputError
from discreet.files import require_file
from discreet.receipt import FOLDER_RECEIPT
from discreet.tensors import kind_of
from discreet.training.texts import bag_of_words, classifier

TextModel = bag_of_words.BagOfWords | classifier.TextClassifier
"""Says a class or a number of each text, or pair of texts."""


def load_text_model(path: Path, *, device: str = AUTO) -> TextModel:
    """Read a model of texts, onto a device if it is a network."""
    require_file(path, "a model of texts")
    kind = kind_of(path)
    if kind == bag_of_words.KIND:
        return bag_of_words.BagOfWords.load(path)
    if kind == classifier.KIND:
        return classifier.TextClassifier.load(path, device=device)
    if (path.parent / FOLDER_RECEIPT).is_file():
        raise InputError(f"{path} is a part of a run; name its folder, {path.parent}")
    raise InputError(f"{path} is no model of texts; 'discreet train classify' writes one")
