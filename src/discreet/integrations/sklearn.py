"""A transformer for scikit-learn: texts in, sanitised texts out, in a pipeline."""

from typing import Any

import numpy as np

from discreet.errors import InputError, needs_extra
from discreet.release.choice import chosen_sanitizer
from discreet.release.frames import sanitize

with needs_extra("SanitizingTransformer", "sklearn"):
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted


class SanitizingTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sanitises texts on their way through a pipeline.

    Nothing is learnt from the texts: ``fit`` makes the mechanism and looks at nothing.

    Privacy: ``statement_`` holds for each word of what ``transform`` gives back, each time it is
    called. Cross-validation and a second ``transform`` of the same texts are further releases of
    them if what comes out is handed on. What a model that was trained on sanitised texts shows of
    them is covered by the same statement.

    Args:
        epsilon: the privacy loss allowed; needed.
        mechanism: a word mechanism by its name; that of the command unless given.
        space: the public vocabulary by its name.
        readable: for text that people read, as ``discreet sanitize --readable``.
        layout: and what follows: see :class:`discreet.Sanitizer`.
        identifiers: as there.
        repeat: as there.
        public: as there.
        polish: as there.
        settings: other settings of the mechanism, by the names of its parameters.
        accept_weak: transform even if the setting protects next to nothing.
        random_state: a seed makes the noise repeatable, and ``statement_`` says so: for
            experiments, never for a release.

    >>> SanitizingTransformer(epsilon=8).fit_transform(["The doctor saw me.", None])[1] is None
    True
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: str | None = None,
        space: str | None = None,
        readable: bool = False,
        layout: str = "tokens",
        identifiers: str | None = None,
        repeat: str = "each",
        public: str | None = None,
        polish: bool = False,
        settings: dict[str, Any] | None = None,
        accept_weak: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.space = space
        self.readable = readable
        self.layout = layout
        self.identifiers = identifiers
        self.repeat = repeat
        self.public = public
        self.polish = polish
        self.settings = settings
        self.accept_weak = accept_weak
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> "SanitizingTransformer":  # noqa: ARG002
        """Make the mechanism; nothing is learnt from what is given."""
        given = self.get_params(deep=False)
        del given["random_state"]
        self.sanitizer_ = chosen_sanitizer(**(given.pop("settings") or {}), **given)
        self.statement_ = sanitize([], sanitizer=self.sanitizer_, **self._noise()).statement
        return self

    def transform(self, X: Any) -> Any:
        """A NumPy array of the same shape with a sanitised text for each; None stays None.

        Args:
            X: texts in one dimension, or in a table with a single column.
        """
        check_is_fitted(self, "sanitizer_")
        texts = _texts(X)
        release = sanitize(texts.ravel(), sanitizer=self.sanitizer_, **self._noise())
        return release.values.reshape(texts.shape)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The name of the only column."""
        return np.asarray(["text"] if input_features is None else input_features, dtype=object)

    def _noise(self) -> dict[str, Any]:
        seeded = self.random_state is not None
        rng = np.random.default_rng(self.random_state) if seeded else None
        return {"rng": rng, "accept_weak": True}  # a weak setting was refused when it was fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.allow_nan = True
        tags.requires_fit = True
        tags.non_deterministic = self.random_state is None
        tags.no_validation = True
        return tags


def _texts(X: Any) -> Any:
    """Texts as a NumPy array, without row labels."""
    texts = np.asarray(X, dtype=object)
    if texts.ndim != 1 and texts.shape[1:] != (1,):
        raise InputError(
            "texts must be in one dimension, or in a table with a single column; got an array of "
            f"shape {texts.shape}: choose a column with ColumnTransformer"
        )
    return texts
