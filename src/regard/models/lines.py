"""Lines that several rows of a table share: most rows are rare, and rare rows with equal counts have equal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct_lines(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct lines of a table.

    Parameters
    ----------
    columns
        Arrays of equal length, of numbers of at most 64 bits.

    Returns
    -------
    first : (lines,)
        The first row that has each line, ascending.
    line : (rows,)
        The line of each row: ``column[first][line]`` is ``column``.
    """
    rows = len(columns[0])
    sums = np.zeros(rows, np.uint64)
    for k, column in enumerate(columns):
        bits = np.ascontiguousarray(column)
        bits = bits.view(f"u{bits.itemsize}").astype(np.uint64)
        # Equal lines have equal sums; whether unequal ones have, by chance, is checked below.
        sums = (sums ^ (bits + np.uint64(k + 1))) * np.uint64(0x9E3779B97F4A7C15)
        sums ^= sums >> np.uint64(29)
    _, first, line = np.unique(sums, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first, line = first[order], rank[line]
    if any(not np.array_equal(column[first][line], column) for column in columns):
        return np.arange(rows), np.arange(rows)
    return first, line
