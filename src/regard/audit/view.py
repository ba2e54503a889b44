"""A batch as the tests look at it: orders, erasures and random controls, each worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.audit import kernels
from regard.audit.source import Batch, Erasure, Floats

DRAWS = 20  # random rankings


class Sample(NamedTuple):
    """Some documents of a batch, and their units by themselves.

    Attributes
    ----------
    documents : (sampled,)
        Places in the batch.
    units : (sampled units,)
        Theirs.
    starts : (sampled + 1,)
        Where each document starts among these.
    """

    documents: NDArray[np.int64]
    units: NDArray[np.intp]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """A batch, and what several tests need of it.

    Attributes
    ----------
    batch : Batch
    seed : int
        Of every random choice; a choice depends on it and on the document's place in the data alone.
    draws : int
        How many random rankings.
    stride : int
        What is slow looks at every so manieth document of the data only.
    """

    batch: Batch
    seed: int
    draws: int = DRAWS
    stride: int = 1

    def __len__(self) -> int:
        return len(self.batch)

    @cached_property
    def sample(self) -> Sample:
        """The documents for what is slow, with at least two units."""
        return self._sample(self.stride)

    @cached_property
    def small_sample(self) -> Sample:
        """A quarter of them."""
        return self._sample(4 * self.stride)

    def _sample(self, stride: int) -> Sample:
        wanted = ((self.batch.first + np.arange(len(self))) % stride == 0) & (self.sizes > 1)
        documents = np.flatnonzero(wanted).astype(np.int64)
        starts = np.append(0, np.cumsum(self.sizes[documents])).astype(np.int64)
        units = np.flatnonzero(np.repeat(wanted, self.sizes.astype(np.int64)))
        return Sample(documents, units, starts)

    @cached_property
    def sizes(self) -> Floats:
        """Units of each document."""
        return np.diff(self.batch.starts).astype(np.float64)

    @cached_property
    def confidence(self) -> Floats:
        """The explained probability: (documents,)."""
        return np.asarray(self.batch.chances[np.arange(len(self)), self.batch.explained])

    @cached_property
    def _orders(self) -> dict[str, NDArray[np.int32]]:
        return {}

    @cached_property
    def _erasures(self) -> dict[str, Erasure]:
        return {}

    def order(self, ranking: str) -> NDArray[np.int32]:
        """Places of each document along a ranking, the most important first; equal ones as they stand."""
        if ranking not in self._orders:
            self._orders[ranking] = self.ordered(self.batch.rankings[ranking])
        return self._orders[ranking]

    def ordered(self, keys: Floats) -> NDArray[np.int32]:
        """Places of each document from the largest key to the smallest."""
        order = np.empty(len(keys), np.int32)
        kernels.rank(keys, self.batch.starts, 0, len(self), order)
        return order

    def random_order(self, draw: int, sample: Sample | None = None) -> NDArray[np.int32]:
        """A random order of each document, or of those of a sample."""
        documents = np.arange(len(self)) if sample is None else sample.documents
        starts = self.batch.starts if sample is None else sample.starts
        order = np.empty(int(starts[-1]), np.int32)
        kernels.shuffle(starts, self.batch.first + documents, self.seed, draw, order)
        return order

    def erasure(self, ranking: str) -> Erasure:
        """What happens along a ranking."""
        if ranking not in self._erasures:
            self._erasures[ranking] = self.batch.erase(self.order(ranking))
        return self._erasures[ranking]

    @cached_property
    def random_erasures(self) -> list[Erasure]:
        """What happens along each of the random orders."""
        return [self.batch.erase(self.random_order(draw)) for draw in range(self.draws)]

    @cached_property
    def fewest(self) -> NDArray[np.int64] | None:
        """The exact optimum, where it is known."""
        return self.batch.fewest()

    def tau(self, one: Floats, two: Floats, starts: NDArray[np.int64] | None = None) -> Floats:
        """Kendall's tau-b in each document: NaN where one of the two is constant."""
        starts = self.batch.starts if starts is None else starts
        out = np.empty(len(starts) - 1)
        kernels.tau(one, two, starts, 0, len(out), out)
        return out

    def overlap(
        self, one: NDArray[np.int32], two: NDArray[np.int32], share: float, starts: NDArray[np.int64] | None = None
    ) -> Floats:
        """What the tops of two orders have in common: see ``kernels.top_overlap``."""
        starts = self.batch.starts if starts is None else starts
        out = np.empty(len(starts) - 1)
        kernels.top_overlap(one, two, starts, 0, len(out), share, out)
        return out
