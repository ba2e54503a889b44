"""Scores of many documents, in threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.attention import kernels
from regard.tokens.threads import even_shards, in_threads, thread_count
from regard.tokens.vocabulary import Rows


def score(
    rows: Rows,
    attention: NDArray[np.float32],
    loudness: NDArray[np.float64],
    polarity: NDArray[np.float32],
    bias: NDArray[np.float64],
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """The score of each document on each side: (documents, sides).

    See ``kernels.score_rows`` for the formula; the result does not depend on ``n_threads``.
    """
    out = np.empty((len(rows.starts) - 1, len(bias)))

    def run(shard: tuple[int, int]) -> None:
        kernels.score_rows(rows.ids, rows.counts, rows.starts, *shard, attention, loudness, polarity, bias, out)

    in_threads(run, even_shards(rows.starts, thread_count(n_threads)), n_threads)
    return out
