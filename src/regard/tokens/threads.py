"""Shards of documents in threads; the kernels release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
R = TypeVar("R")


def thread_count(n_threads: int | None) -> int:
    """The number of threads to use: all cores that this process may use, unless told."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_threads)


def in_threads(work: Callable[[T], R], items: Iterable[T], n_threads: int | None) -> list[R]:
    """``[work(item) for item in items]``, in threads; the order is that of the items."""
    threads = thread_count(n_threads)
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def even_shards(starts: NDArray[np.int64], shards: int) -> list[tuple[int, int]]:
    """Cut ragged documents into at most ``shards`` runs of about as many tokens each."""
    documents = len(starts) - 1
    shards = max(1, min(shards, documents))
    goals = starts[0] + (starts[-1] - starts[0]) * np.arange(1, shards) / shards
    cuts = np.concatenate([[0], np.searchsorted(starts, goals), [documents]])
    cuts = np.minimum(np.maximum.accumulate(cuts), documents)
    return [(int(a), int(b)) for a, b in zip(cuts[:-1], cuts[1:], strict=True) if b > a] or [(0, documents)]
