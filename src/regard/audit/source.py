"""What can be audited: anything that gives texts as batches of units with scores, and can say what removal does.

Four kinds of source meet these two protocols: regard's own models (``linear.ModelSource``), any function of texts
(``queried.FunctionSource``), scores from a file (``scores_file.FileSource``), and networks of other libraries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Shares of a document's units at which curves are read: those of ERASER, and steps of 5%.
BINS = (0.01, 0.05, 0.1, 0.2, 0.5)
SHARES = np.array(sorted({*BINS, *(step / 20 for step in range(21))}))
STEPS = np.searchsorted(SHARES, [step / 20 for step in range(21)])


class Span(NamedTuple):
    """A unit in its text: the characters ``start:end``."""

    start: int
    end: int


@dataclass(frozen=True)
class Erasure:
    """What happens to each document when its units are removed along a ranking.

    Attributes
    ----------
    removed, kept : (documents, shares)
        The explained probability without the first units, and with them alone, at ``SHARES``.
    flip : (documents,)
        After how many removals the decision changes for the first time; 0 where it never does.
    mass : (documents,)
        How much of the attention these have; NaN where there is none or the decision never changes.
    monotone : (documents,)
        The share of steps on which the probability does not fall while units are put back, the least important first.
    """

    removed: Floats
    kept: Floats
    flip: Places
    mass: Floats
    monotone: Floats


class Batch(Protocol):
    """Some documents as units, one after another: unit ``j`` of document ``d`` is ``starts[d] + j``."""

    def __len__(self) -> int:
        """How many documents."""
        ...

    @property
    def first(self) -> int:
        """The place of the first document in the data."""
        ...

    @property
    def starts(self) -> Places:
        """Where each document starts: (documents + 1,)."""
        ...

    @property
    def chances(self) -> Floats:
        """The probability of each class: (documents, classes)."""
        ...

    @property
    def explained(self) -> Places:
        """The class whose probability is followed, which is the predicted one: (documents,)."""
        ...

    @property
    def rankings(self) -> dict[str, Floats]:
        """What claims to be importance, by name, the main one first: (units,) each."""
        ...

    def leave_one_out(self) -> tuple[Floats, NDArray[np.bool_]]:
        """How much of the explained probability goes with each unit, and whether the decision does: (units,) each."""
        ...

    def erase(self, order: NDArray[np.int32]) -> Erasure:
        """Remove units along an order of places, (units,)."""
        ...

    def fewest(self) -> Places | None:
        """The fewest removals that change the decision, 0 where none do; None where that cannot be known exactly."""
        ...


class Source(Protocol):
    """A model and what explains it."""

    @property
    def name(self) -> str:
        """What to call it."""
        ...

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in order."""
        ...

    @property
    def units(self) -> str:
        """What is removed: words, or words and phrases."""
        ...

    @property
    def removal(self) -> str:
        """How it is removed, in one sentence."""
        ...

    @property
    def exact(self) -> bool:
        """Whether removal is worked out in closed form, from one reading of each text."""
        ...

    @property
    def evaluations(self) -> int:
        """How many texts the model has been asked about so far."""
        ...

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The texts in their order, some at a time."""
        ...

    def spans(self, text: str) -> list[Span]:
        """Where the units of a text stand."""
        ...
