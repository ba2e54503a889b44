"""What every model can do, whatever it is made of: score texts, and take one text apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import ModelFileError
from regard.lazy import fetch
from regard.models import store
from regard.tokens import Place, Token

if TYPE_CHECKING:
    from regard.models.table import TableModel
    from regard.models.vectors import Vectors

# The kind that a file names, and where the model is made.
_HOMES = {
    "AttentionClassifier": ("regard.models.table", "TableModel"),
    "HardmaxClassifier": ("regard.models.hardmax.model", "HardmaxModel"),
    "HierarchicalAttentionClassifier": ("regard.models.hierarchical", "HierarchicalModel"),
    "NeuralAttentionClassifier": ("regard.models.neural", "NeuralModel"),
}


@dataclass(frozen=True)
class Attended:
    """One text as a model sees it.

        score = bias + Σⱼ weight[j] polarity[j]

    Attributes
    ----------
    tokens : list of Token
        The words of the text.
    places : list of Place
        What speaks, and where it stands: a row of the model's words or phrases, once for each time it occurs.
    attention : (places,)
        How loudly each place speaks.
    weights : (places,)
        Its share of the attention of this text.
    polarity : (places, sides)
        Which side it takes.
    scores : (sides,)
        What the model says of the text.
    """

    tokens: list[Token]
    places: list[Place]
    attention: NDArray[np.floating[Any]]
    weights: NDArray[np.float64]
    polarity: NDArray[np.floating[Any]]
    scores: NDArray[np.float64]


class Model(Protocol):
    """A fitted model of texts; ``kind`` is what its files call it, the name of its estimator."""

    kind: ClassVar[str]

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in order: (classes,)."""
        ...

    @property
    def sides(self) -> int:
        """One for two classes, positive for ``classes[1]``; otherwise one a class."""
        ...

    @property
    def bias(self) -> NDArray[np.float64]:
        """The score of a text in which nothing speaks: (sides,)."""
        ...

    @property
    def about(self) -> dict[str, Any]:
        """Settings and measurements, ready for JSON."""
        ...

    @property
    def word_table(self) -> TableModel:
        """Each word of the vocabulary by itself: how loudly it speaks and which side it takes."""
        ...

    @property
    def exact(self) -> bool:
        """Whether words speak the same in every text, so that ``word_table`` is the model."""
        ...

    @property
    def vectors(self) -> Vectors:
        """The embeddings and directions that the two numbers of a word are made of."""
        ...

    def scores(self, texts: Sequence[str], n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each text on each side: (texts, sides)."""
        ...

    def predictions(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The label of each text."""
        ...

    def attend(self, text: str, masked: frozenset[int] = frozenset()) -> Attended:
        """Take one text apart; what covers a masked word is silent."""
        ...

    def attend_many(self, texts: Sequence[str]) -> Iterator[Attended]:
        """``attend`` for each of many texts, in their order."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file."""
        ...

    @classmethod
    def unpack(cls, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """The model that a file holds."""
        ...


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file of any kind; one that is not a model gives a ``ModelFileError``."""
    kind, about, tensors = store.read(path)
    if kind not in _HOMES:
        raise ModelFileError(
            f"{path} must hold a classifier of texts, one of {', '.join(_HOMES)}; it holds a {kind}. If that is one of "
            f"`regard systems`, read it with `regard.systems.{kind}.load`; otherwise upgrade regard."
        )
    try:
        model: Model = fetch(*_HOMES[kind]).unpack(about, tensors)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is no whole model: its parts do not fit together; restore or retrain it.") from (
            error
        )
    return model


def predicted(scores: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[Any]:
    """The label of each text, from its scores (texts, sides); with two classes a tie goes to the first."""
    place = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(classes[place])


# Labels keep their type: integers, booleans, floats; everything else is text.
_CLASS_TYPES = {"i": np.int64, "u": np.int64, "b": np.bool_, "f": np.float64, "U": np.str_}


def pack_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels, ready for JSON."""
    return {"classes": classes.tolist(), "class_type": classes.dtype.kind}


def unpack_classes(about: dict[str, Any]) -> NDArray[Any]:
    """Take the labels that ``pack_classes`` wrote out of ``about``."""
    classes: NDArray[Any] = np.array(about.pop("classes"), dtype=_CLASS_TYPES[about.pop("class_type")])
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes) or len(classes) < 2:
        raise ValueError("classes must be two distinct labels or more")
    return classes
