"""How good the predictions are, where they err, and whether the probabilities may be believed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.models.measure import measure
from regard.models.table import probabilities

_BINS = 10
_Z = 1.959963984540054  # two-sided 95 %


@dataclass(frozen=True)
class Bin:
    """Texts with about the same predicted probability.

    Attributes
    ----------
    low, high : float
        Probabilities from ``low`` up to ``high``.
    texts : int
        How many.
    mean : float
        Their mean probability.
    share : float
        The share for which it came true.
    lower, upper : float
        Wilson's 95 % interval of that share.
    """

    low: float
    high: float
    texts: int
    mean: float
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Assessment:
    """Measurements on labelled texts; it holds no text, so a model file may keep it.

    Attributes
    ----------
    part : str
        Which texts: ``test``, ``validation`` or another name.
    texts : int
        How many.
    accuracy, macro_f1 : float
        As ``AttentionClassifier.evaluate`` says them.
    log_loss : float or None
        The same; None where no text has a known label.
    confusion : tuple of tuple of int, or None
        ``confusion[truth][prediction]``, in the order of the classes.
    unknown : int
        Texts whose label is none of the classes; each counts as an error.
    probability_of : str or None
        What the calibration is about: the second of two classes, or nothing for "the prediction".
    calibration : tuple of Bin, or None
        By predicted probability, empty bins left out.
    calibration_error : float or None
        The mean distance of probability and share, over texts.
    """

    part: str
    texts: int
    accuracy: float
    macro_f1: float
    log_loss: float | None
    confusion: tuple[tuple[int, ...], ...] | None = None
    unknown: int = 0
    probability_of: str | None = None
    calibration: tuple[Bin, ...] | None = None
    calibration_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Self:
        """What ``to_dict`` wrote; unknown names are passed over."""
        known = {name: value for name, value in known.items() if name in cls.__dataclass_fields__}
        if known.get("confusion") is not None:
            known["confusion"] = tuple(tuple(row) for row in known["confusion"])
        if known.get("calibration") is not None:
            known["calibration"] = tuple(Bin(**each) for each in known["calibration"])
        return cls(**known)


def assess(scores: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any], part: str = "test") -> Assessment:
    """Measure predictions on labelled texts.

    Parameters
    ----------
    scores : (texts, sides)
        What a table model says.
    labels : (texts,)
        The truth.
    classes : (classes,)
        The labels in order.
    part
        What to call the texts.

    Examples
    --------
    >>> scores = np.array([[2.0], [-1.0], [0.5], [-3.0]])
    >>> found = assess(scores, np.array(["+", "-", "-", "-"]), np.array(["-", "+"]))
    >>> found.accuracy, found.confusion
    (0.75, ((2, 1), (0, 1)))
    """
    measured = measure(scores, labels, classes)
    chances = probabilities(scores)
    # The same rule as TableModel.predictions: with two classes a tie goes to the first.
    predicted = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    known = np.isin(labels, classes)
    truth = np.searchsorted(classes, labels[known])
    k = len(classes)
    confusion = np.bincount(truth * k + predicted[known], minlength=k * k).reshape(k, k)
    if k == 2:
        about, chance, came_true = str(classes[1]), chances[known, 1], truth == 1
    else:
        about, chance, came_true = None, chances[known].max(axis=1), truth == predicted[known]
    bins = _calibration(chance, came_true)
    return Assessment(
        part,
        **measured,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        unknown=int((~known).sum()),
        probability_of=about,
        calibration=bins,
        calibration_error=sum(b.texts * abs(b.mean - b.share) for b in bins) / max(1, len(chance)),
    )


def _calibration(chance: NDArray[np.float64], came_true: NDArray[np.bool_]) -> tuple[Bin, ...]:
    place = np.minimum((chance * _BINS).astype(np.intp), _BINS - 1)
    bins = []
    for i in range(_BINS):
        here = place == i
        if n := int(here.sum()):
            share = float(came_true[here].mean())
            bins.append(Bin(i / _BINS, (i + 1) / _BINS, n, float(chance[here].mean()), share, *wilson(share, n)))
    return tuple(bins)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``n``.

    Examples
    --------
    >>> [round(x, 3) for x in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)
