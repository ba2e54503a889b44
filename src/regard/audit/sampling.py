"""How sure a mean over documents is, and whether two means differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regard.audit.source import Floats

_NUMBERS = 25_000_000  # drawn at most, whatever the number of documents
_FEWEST = 100
_SIGNS = 10_000
_MANY = 2000  # documents; with as many differences the sum under random signs is normal


@dataclass(frozen=True)
class Sampling:
    """Resamples of the documents, drawn once and shared by all measures.

    Attributes
    ----------
    documents : int
    seed : int
    """

    documents: int
    seed: int = 0

    @property
    def resamples(self) -> int:
        """Of the bootstrap: a thousand, or fewer where the documents are so many that each says little."""
        return min(1000, max(_FEWEST, _NUMBERS // max(1, self.documents)))

    @cached_property
    def _times(self) -> NDArray[np.float32]:
        """How often each document is drawn: (resamples, documents)."""
        generator = np.random.default_rng([self.seed, 1])
        n = self.documents
        times = np.empty((self.resamples, n), np.float32)
        for i in range(self.resamples):
            times[i] = np.bincount(generator.integers(0, n, n, np.int32), minlength=n)
        return times

    def interval(self, values: Floats) -> tuple[float, float]:
        """The 95% bootstrap interval of the mean over documents; NaN is left out.

        Parameters
        ----------
        values : (documents,)
        """
        known = np.isfinite(values)
        if known.sum() < 2:
            return float("nan"), float("nan")
        centre = float(values[known].mean())
        from_centre = np.where(known, values - centre, 0.0).astype(np.float32)
        together = self._times @ from_centre
        number = np.full(self.resamples, self.documents) if known.all() else self._times @ known.astype(np.float32)
        means = together[number > 0] / number[number > 0]
        low, high = np.quantile(means.astype(np.float64), [0.025, 0.975])
        return centre + float(low), centre + float(high)

    def interval_of(self, columns: Floats, of: Callable[[Floats], Floats]) -> tuple[float, float]:
        """The 95% bootstrap interval of what is made of sums over documents, such as a quotient of two.

        Parameters
        ----------
        columns : (documents, m)
        of : function
            Sums (resamples, m) to numbers (resamples,).
        """
        low, high = np.quantile(of((self._times @ columns.astype(np.float32)).astype(np.float64)), [0.025, 0.975])
        return float(low), float(high)

    def difference(self, one: Floats, two: Floats) -> float:
        """The p value of the paired sign-flip test, by which the signs of ``one - two`` may be a coin's.

        By 10,000 draws of the signs; with more than 2,000 differences by the normal limit of their sum.

        Parameters
        ----------
        one, two : (documents,)
            Documents in which either is NaN are left out.
        """
        d = one - two
        d = d[np.isfinite(d) & (d != 0)]
        if not len(d):
            return 1.0
        if len(d) > _MANY:
            return math.erfc(abs(float(d.sum())) / math.sqrt(2 * float((d**2).sum())))
        generator = np.random.default_rng([self.seed, 2])
        bits = np.unpackbits(generator.integers(0, 256, (_SIGNS, -(-len(d) // 8)), np.uint8), axis=1)[:, : len(d)]
        sums = 2 * (bits.astype(np.float64) @ d) - d.sum()
        extreme = int((np.abs(sums) >= abs(float(d.sum())) * (1 - 1e-9)).sum())
        return (1 + extreme) / (1 + _SIGNS)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction: the p values as if each of several tests had been the only one.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, highest = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = highest
    return adjusted
