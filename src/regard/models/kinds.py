"""What kind a word is, from how often it occurs in the texts of each class: on one side, on none, or unclear."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

POLAR, OFTEN = 0.5, 5  # a polar word: |gamma| above the first, and more often than the second in its class
EVEN, CLOSE = 0.1, 5  # a neutral word: |gamma| below the first, and counts that differ by less than the second


def gamma_of(counts: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """How one-sided counts are (Sun and Lu 2020, equation 28).

    Two classes: (f₊ − f₋)/(f₊ + f₋), from −1 to 1. ``K`` classes: (K share − 1)/(K − 1) of the dominant class,
    from 0 (evenly spread) to 1 (one class alone); for two classes that is the absolute value.

    Parameters
    ----------
    counts : (rows, classes)
        How often a row occurs in the texts of each class.
    """
    counts = counts.astype(np.float64)
    total = np.maximum(counts.sum(axis=1), 1)
    k = counts.shape[1]
    if k == 2:
        return np.asarray((counts[:, 1] - counts[:, 0]) / total)
    return np.asarray((k * counts.max(axis=1) / total - 1) / max(k - 1, 1))


def kinds_of(counts: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """0 for none, 1 for neutral, ``2 + k`` for a row that is polar towards class ``k``.

    Polar: |gamma| > 0.5 and more than 5 times in its class. Neutral: |gamma| < 0.1 and counts that differ by
    less than 5 between the classes. With ``K`` classes gamma is the dominant share on a scale from 0 to 1, so 0.5 asks
    for a share of (K + 1)/2K: three quarters of two, two thirds of three.

    Parameters
    ----------
    counts : (rows, classes)
        How often a row occurs in the texts of each class.
    """
    gamma = np.abs(gamma_of(counts))
    counts = counts.astype(np.int64)
    top = counts.max(axis=1)
    polar = (gamma > POLAR) & (top > OFTEN)
    neutral = (gamma < EVEN) & (top - counts.min(axis=1) < CLOSE)
    return np.where(polar, 2 + counts.argmax(axis=1), np.where(neutral, 1, 0))


def kind_names(classes: NDArray[Any]) -> list[str]:
    """What the codes are called: negative and positive for the first and the second of two classes."""
    two = len(classes) == 2
    return ["none", "neutral", *(["negative", "positive"] if two else [str(label) for label in classes])]
