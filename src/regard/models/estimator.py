"""What every text classifier shares with the others: one face towards scikit-learn, files and readers."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from regard.corpus.labels import MOST_CLASSES
from regard.errors import DataError, ModelFileError
from regard.lazy import fetch
from regard.models.inputs import as_labels, as_texts, labels_like
from regard.models.measure import measure
from regard.models.model import Model, load_model
from regard.models.table import probabilities

if TYPE_CHECKING:
    import polars as pl

# The kind of a model, and the estimator that learns it.
_HOMES = {
    "AttentionClassifier": "regard.models.attention_classifier",
    "HardmaxClassifier": "regard.models.hardmax_classifier",
    "HierarchicalAttentionClassifier": "regard.models.hierarchical_classifier",
    "NeuralAttentionClassifier": "regard.models.neural_classifier",
}
# Settings that say how the work is done, not what comes of it.
_HOW = {"n_threads", "verbose", "device", "checkpoint"}
_SHOWN = 6  # classes, and words of each, in a notebook


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that learns a ``Model`` from texts; what learns is in the children.

    A child's ``fit`` sets ``model_``, ``classes_``, ``n_iter_`` and ``validation_``, and calls ``_about`` for what the
    model says of itself.

    Attributes
    ----------
    kind : str
        What its files call it.
    """

    kind: str
    n_threads: int | None
    model_: Any
    classes_: NDArray[Any]
    n_iter_: int
    validation_: dict[str, Any] | None

    # -- predicting ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each text: (texts,) for two classes, otherwise (texts, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if self.model_.sides == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class: (texts, classes), in the order of ``classes_``."""
        return probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each text."""
        scores = self._scores(X)
        return np.asarray(self.model_.predictions(scores))

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Accuracy, macro-F1 and log loss on labelled texts, ready for JSON."""
        texts = as_texts(X)
        scores = self._scores(texts)
        return measure(scores, labels_like(as_labels(y, len(texts)), self.classes_), self.classes_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.asarray(self.model_.scores(as_texts(X), self.n_threads))

    # -- learning ------------------------------------------------------------------------------------------------

    def _training_data(self, X: Any, y: Any) -> tuple[list[str], NDArray[Any], NDArray[np.intp]]:
        """Texts, the distinct labels, and the label of each text as a place among them."""
        texts = as_texts(X)
        labels = as_labels(y, len(texts))
        if not texts:
            raise DataError("Training needs texts; got none.")
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"Training needs two classes or more; got one class, {classes[0].item()!r}.")
        if len(classes) > MOST_CLASSES:
            raise DataError(
                f"Training takes up to {MOST_CLASSES:,} classes; got {len(classes):,} for {len(texts):,} texts: these "
                "are probably not the labels."
            )
        return texts, classes, codes

    def _validation_data(
        self, validation: tuple[Any, Any], classes: NDArray[Any]
    ) -> tuple[list[str], NDArray[np.intp]]:
        """Texts to measure on, and their labels as places among the classes."""
        texts = as_texts(validation[0])
        labels = labels_like(as_labels(validation[1], len(texts)), classes)
        strange = np.setdiff1d(labels, classes)
        if len(strange):
            raise DataError(
                f"Validation labels must occur in training; {strange[0].item()!r} does not: leave those rows out."
            )
        return texts, np.searchsorted(classes, labels)

    def _about(self, texts: int) -> dict[str, Any]:
        """Settings and measurements, ready for JSON."""
        from importlib.metadata import version

        parameters = {k: v for k, v in self.get_params().items() if k not in _HOW}
        for name, value in parameters.items():
            if isinstance(value, np.generic):
                parameters[name] = value.item()
            elif isinstance(value, dict):
                parameters[name] = {str(k): float(v) for k, v in value.items()}
            elif isinstance(value, os.PathLike):
                parameters[name] = os.fspath(value)
            elif isinstance(value, tuple | list):
                parameters[name] = list(value)
            elif not isinstance(value, int | float | str | None):
                parameters[name] = None  # a generator of random numbers has moved on and cannot be had again
        return {
            "regard": version("regard"),
            "parameters": parameters,
            "texts": texts,
            "epochs": self.n_iter_,
            **({"validation": self.validation_} if self.validation_ else {}),
        }

    def describe(self, **facts: Any) -> None:
        """Add facts, ready for JSON, to what the model says of itself."""
        check_is_fitted(self)
        self.model_.about.update(facts)

    # -- reading and keeping -------------------------------------------------------------------------------------

    @property
    def table_(self) -> pl.DataFrame:
        """Every word and phrase by itself, as a Polars frame: word, attention, polarity, counts, gamma, kind."""
        check_is_fitted(self)
        frame: pl.DataFrame = self.model_.word_table.table()
        return frame

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file; ``regard.load`` reads it."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that ``save`` wrote."""
        found = load(path)
        if not isinstance(found, cls):
            raise ModelFileError(f"{path} holds a {found.kind}; expected a {cls.kind}: read it with `regard.load`.")
        return found

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """A fitted estimator around a model that was learned before."""
        asked, epochs = model.about.get("parameters"), model.about.get("epochs")
        if not isinstance(asked, dict) or not isinstance(epochs, int):
            raise ModelFileError("A model must say how it was trained, but this one does not: train it again.")
        known = cls().get_params()
        said = {name: value for name, value in asked.items() if name in known}
        parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in said.items()}  # JSON has no tuples
        if isinstance(weights := parameters.get("class_weight"), dict):
            by_name = {str(label): label for label in model.classes.tolist()}  # JSON knows only strings as keys
            parameters["class_weight"] = {by_name[name]: weight for name, weight in weights.items() if name in by_name}
        loaded = cls(**parameters)
        loaded.model_ = model
        loaded.classes_ = model.classes
        loaded.n_iter_ = epochs
        loaded.validation_ = model.about.get("validation")
        return loaded

    def _html_repr(self) -> str:
        """In a notebook: scikit-learn's diagram, and below it what was learned."""
        diagram: str = super()._html_repr()
        if not hasattr(self, "model_"):
            return diagram
        table = self.model_.word_table
        codes, words = table.kind_codes(), table.vocabulary.words
        lines = []
        for k, label in enumerate(self.classes_.tolist()[:_SHOWN]):
            rows = np.flatnonzero(codes[:words] == 2 + k)
            loudest = rows[np.argsort(-table.attention[rows], kind="stable")][:_SHOWN]
            names = ", ".join(f"<bdi>{escape(table.vocabulary.word_list[row])}</bdi>" for row in loudest.tolist())
            lines.append(f"<li>loudest for <b><bdi>{escape(str(label))}</bdi></b>: {names or 'no word'}</li>")
        more = len(self.classes_) - _SHOWN
        return (
            f"{diagram}<p>{words:,} words and {len(table) - words:,} phrases, {len(self.classes_)} classes</p>"
            f"<ul>{''.join(lines)}{f'<li>and {more} more classes</li>' if more > 0 else ''}</ul>"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def load(path: str | os.PathLike[str]) -> TextClassifier:
    """Read a model that ``save`` or ``regard train`` wrote, as a fitted estimator."""
    model = load_model(path)
    estimator: type[TextClassifier] = fetch(_HOMES[model.kind], model.kind)
    return estimator.from_model(model)
