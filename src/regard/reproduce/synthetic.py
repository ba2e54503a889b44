"""The synthetic texts of Sun and Lu (2020): neutral words, and words that belong to a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEUTRAL, POLAR = 1000, 50  # words; polar ones for each class
_NEUTRAL_EACH, _POLAR_EACH = 10, 2  # in a text


@dataclass(frozen=True)
class Synthetic:
    """Texts, their labels (0 and 1), and the words of each group: negative, positive, neutral."""

    texts: list[str]
    labels: NDArray[np.int64]
    groups: dict[str, list[str]]


def synthetic(positive: int = 6000, negative: int = 6000, swapped: float = 0.0, seed: int = 0) -> Synthetic:
    """Each text has ten different neutral words and two different polar ones, which agree with its label.

    Parameters
    ----------
    positive, negative : int
        Texts of each class.
    swapped : float
        The share of texts whose polar words are those of the other class (the paper's data II).
    seed : int

    Examples
    --------
    >>> len(synthetic(2, 1).texts[0].split())
    12
    """
    generator = np.random.default_rng(seed)
    groups = {
        "negative": [f"bad{i}" for i in range(POLAR)],
        "positive": [f"good{i}" for i in range(POLAR)],
        "neutral": [f"word{i}" for i in range(NEUTRAL)],
    }
    labels = np.repeat([1, 0], [positive, negative])
    wrong = np.zeros(len(labels), bool)
    wrong[generator.permutation(len(labels))[: round(swapped * len(labels))]] = True
    texts = []
    for label, other in zip(labels.tolist(), wrong.tolist(), strict=True):
        side = "positive" if label != other else "negative"
        chosen = [groups["neutral"][i] for i in generator.choice(NEUTRAL, _NEUTRAL_EACH, replace=False)]
        chosen += [groups[side][i] for i in generator.choice(POLAR, _POLAR_EACH, replace=False)]
        texts.append(" ".join(chosen))
    return Synthetic(texts, labels, groups)
