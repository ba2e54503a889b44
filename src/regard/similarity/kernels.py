"""The loops that turn a tile of scores into weights while it is in the processor's cache, compiled by numba.

Scores come in powers of two: the factor log₂ e is in the queries already.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

# Taylor's numbers of 2^x on [-1/2, 1/2]; the first one left out is below the last digit.
_WIDE = tuple(math.log(2) ** k / math.factorial(k) for k in range(14))
_NARROW = tuple(np.float32(c) for c in _WIDE[:8])
# Sums run in as many lanes as the processor has. Scores are finite here, so NaN needs no rule.
_FAST = {"reassoc", "nsz", "nnan", "contract", "arcp"}


def exp2(x: Any) -> Any:
    """2^x for finite x, to the last digits; what is too small to be a normal number becomes the smallest one."""
    return np.exp2(max(x, -126.0 if isinstance(x, np.float32) else -1022.0))


@overload(exp2)
def _exp2(x: Any) -> Any:
    """2^x = 2^n · 2^f: the whole part n goes into the exponent's bits, and 2^f is a polynomial."""
    if x == types.float32:

        def narrow(x: Any) -> Any:
            x = max(x, np.float32(-126))
            n = np.floor(x + np.float32(0.5))
            f = x - n
            p = _NARROW[7] * f + _NARROW[6]
            p = ((p * f + _NARROW[5]) * f + _NARROW[4]) * f + _NARROW[3]
            p = ((p * f + _NARROW[2]) * f + _NARROW[1]) * f + _NARROW[0]
            bits = np.int32((np.int32(n) + np.int32(127)) << np.int32(23))
            return p * bits.view(np.float32)

        return narrow

    def wide(x: Any) -> Any:
        x = max(x, -1022.0)
        n = np.floor(x + 0.5)
        f = x - n
        p = (_WIDE[13] * f + _WIDE[12]) * f + _WIDE[11]
        p = ((p * f + _WIDE[10]) * f + _WIDE[9]) * f + _WIDE[8]
        p = ((p * f + _WIDE[7]) * f + _WIDE[6]) * f + _WIDE[5]
        p = ((p * f + _WIDE[4]) * f + _WIDE[3]) * f + _WIDE[2]
        p = (p * f + _WIDE[1]) * f + _WIDE[0]
        bits = np.int64((np.int64(np.int32(n)) + 1023) << 52)
        return p * bits.view(np.float64)

    return wide


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def weigh_rows(
    tile: NDArray[np.floating],
    highest: NDArray[np.floating],
    peak: NDArray[np.floating],
    total: NDArray[np.floating],
    shrink: NDArray[np.floating],
) -> None:
    """One step of a softmax that sees its scores tile by tile.

        peak' = max(peak, highest),   tile = 2^(tile - peak'),   total = 2^(peak - peak') total + Σ tile

    Parameters
    ----------
    tile : (rows, keys), in and out
        Scores; become weights that are not yet divided by the total.
    highest : (rows,)
        The largest score in each row of the tile, which NumPy finds faster than a loop here.
    peak, total : (rows,), in and out
        The largest score so far, and the sum of the weights so far.
    shrink : (rows,), output
        2^(peak - peak'): what older sums are to be multiplied with.
    """
    for i in range(tile.shape[0]):
        x = tile[i]
        top = max(peak[i], highest[i])
        summed = x.dtype.type(0)
        for s in range(x.size):
            x[s] = exp2(x[s] - top)
            summed += x[s]
        shrink[i] = exp2(peak[i] - top)
        total[i] = total[i] * shrink[i] + summed
        peak[i] = top


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def weigh_pairs(
    tile: NDArray[np.floating],
    row_half: NDArray[np.floating],
    column_half: NDArray[np.floating],
    row_loudness: NDArray[np.floating],
    column_loudness: NDArray[np.floating],
    row_total: NDArray[np.floating],
    column_total: NDArray[np.floating],
) -> None:
    """Weights that serve both ways: of the columns for the rows, and of the rows for the columns.

        tile[i, j] = 2^(tile[i, j] - half[i] - half[j])
        total[i] += Σⱼ tile[i, j] loudness[j],   total[j] += Σᵢ tile[i, j] loudness[i]

    Parameters
    ----------
    tile : (rows, columns), in and out
        Dot products.
    row_half, column_half : (rows,), (columns,)
        Half of each object's product with itself.
    row_loudness, column_loudness : (rows,), (columns,)
        What each object's weight is multiplied with, for whoever it speaks to.
    row_total, column_total : (rows,), (columns,), in and out
    """
    for i in range(tile.shape[0]):
        x = tile[i]
        half, loudness = row_half[i], row_loudness[i]
        summed = x.dtype.type(0)
        for j in range(x.size):
            x[j] = exp2(x[j] - half - column_half[j])
            summed += x[j] * column_loudness[j]
            column_total[j] += x[j] * loudness
        row_total[i] += summed


@njit(cache=True, nogil=True)
def keep_best(tile: NDArray[np.floating], first: int, best: NDArray[np.floating], places: NDArray[np.int64]) -> None:
    """Let the best scores of each row so far compete with those of a tile.

    Scores that tie stay in the order of their places: the earliest wins.

    Parameters
    ----------
    tile : (rows, keys)
    first : int
        The place of the tile's first key.
    best : (rows, k), in and out
        Falling.
    places : (rows, k), in and out
    """
    last = best.shape[1] - 1
    for i in range(tile.shape[0]):
        for s in range(tile.shape[1]):
            x = tile[i, s]
            if x > best[i, last]:
                j = last
                while j > 0 and best[i, j - 1] < x:
                    best[i, j] = best[i, j - 1]
                    places[i, j] = places[i, j - 1]
                    j -= 1
                best[i, j] = x
                places[i, j] = first + s
