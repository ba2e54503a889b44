"""The loops that PyTorch has no fast word for, compiled by numba, on the CPU.

``additive.py``, ``simplex.py`` and ``window.py`` say the same in PyTorch, for other devices, and the tests
compare the two. Sums may be reordered so that they run in vector registers; nothing may forget NaN or
infinity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]

REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
def additive_rows(a: Floats, b: Floats, v: Floats, first: int, stop: int, out: Floats) -> None:
    """Scores of the queries ``first:stop``, counted through all batches.

        out[t, s] = Σd v[d] tanh(q[t, d] + k[s, d]) = Σd v[d] - 2 Σd v[d] / (1 + a[t, d] b[s, d])

    Parameters
    ----------
    a : (B, T, D)
        exp(2 q).
    b : (B, S, D)
        exp(2 k).
    v : (D,)
    out : (B, T, S), output
    """
    steps, size, depth = a.shape[1], b.shape[1], v.shape[0]
    one, two = v.dtype.type(1), v.dtype.type(2)
    whole = v.sum()
    for row in range(first, stop):
        batch, step = row // steps, row % steps
        x = a[batch, step]
        for s in range(size):
            y = b[batch, s]
            total = v.dtype.type(0)
            for d in range(depth):
                total += v[d] / (one + x[d] * y[d])
            out[batch, step, s] = whole - two * total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
def additive_backward_rows(
    a: Floats, b: Floats, grad: Floats, first: int, stop: int, d_a: Floats, d_b: Floats, d_v: Floats
) -> None:
    """Sums for the gradients of ``additive_rows``, with h = 1 / (1 + a b), so that ∂tanh = 4 h (1 - h).

        d_a[t, d] = Σs g[t, s] h (1 - h),   d_b[s, d] += Σt g[t, s] h (1 - h),   d_v[d] += Σts g[t, s] h

    Parameters
    ----------
    d_b : (batches that first:stop touches, S, D), added to
    """
    steps, size, depth = a.shape[1], b.shape[1], a.shape[2]
    one = a.dtype.type(1)
    start = first // steps
    for row in range(first, stop):
        batch, step = row // steps, row % steps
        x, d_x = a[batch, step], d_a[batch, step]
        for s in range(size):
            g = grad[batch, step, s]
            y, d_y = b[batch, s], d_b[batch - start, s]
            for d in range(depth):
                h = one / (one + x[d] * y[d])
                gh = g * h
                slope = gh * (one - h)
                d_x[d] += slope
                d_y[d] += slope
                d_v[d] += gh


@njit(cache=True, nogil=True, error_model="numpy")
def sparsemax_rows(scores: Floats, best: Floats, first: int, stop: int, out: Floats) -> None:
    """Project the rows ``first:stop`` on the simplex.

        out[s] = max(x[s] - τ, 0),   τ such that the row sums to one

    Only scores within one of the best can count. The sum falls with τ, convex and in straight pieces, so
    Newton's steps from the left end after finitely many, at the exact τ.
    """
    size = scores.shape[1]
    near = np.empty(size)
    for row in range(first, stop):
        count = 0
        for s in range(size):
            z = np.float64(scores[row, s]) - best[row]
            near[count] = z
            count += z > -1.0
        tau, moved = -1.0, True
        while moved:
            total, support = -1.0, 0
            for s in range(count):
                above = near[s] > tau
                total += near[s] if above else 0.0
                support += above
            step = total / support
            moved = step > tau
            tau = max(step, tau)
        for s in range(size):
            out[row, s] = max(np.float64(scores[row, s]) - best[row] - tau, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def entmax15_rows(scores: Floats, best: Floats, first: int, stop: int, out: Floats) -> None:
    """Entmax with α = 1.5 for the rows ``first:stop``.

        out[s] = max(x[s]/2 - τ, 0)²,   τ such that the row sums to one

    The sum falls with τ and is convex, so Newton's steps come from the left and never pass the root.
    """
    size = scores.shape[1]
    near = np.empty(size)
    for row in range(first, stop):
        count = 0
        for s in range(size):
            z = 0.5 * (np.float64(scores[row, s]) - best[row])
            near[count] = z
            count += z > -1.0
        tau = -1.0
        for _ in range(60):
            total, squares = 0.0, 0.0
            for s in range(count):
                u = max(near[s] - tau, 0.0)
                total += u
                squares += u * u
            step = 0.5 * (squares - 1.0) / total
            tau += step
            if step <= 1e-16:
                break
        for s in range(size):
            u = max(0.5 * (np.float64(scores[row, s]) - best[row]) - tau, 0.0)
            out[row, s] = u * u


# A view made for each slot of a window can cost more than the slot: where it does, these loops index whole
# arrays, with positions that the compiler sees to be non-negative.


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
def window_score_rows(query: Floats, key: Floats, start: Ints, first: int, stop: int, out: Floats) -> None:
    """Dot products of the queries ``first:stop`` with the keys of their windows; zero beyond the ends.

    out[t, o] = q[t] · k[start[t] + o]
    """
    steps, size, depth, width = query.shape[1], key.shape[1], query.shape[2], out.shape[2]
    for row in range(first, stop):
        batch, step = row // steps, row % steps
        begin = start[batch, step]
        for o in range(width):
            total = query.dtype.type(0)
            if 0 <= begin + o < size:
                s = np.uint64(begin + o)
                for d in range(depth):
                    total += query[batch, step, d] * key[batch, s, d]
            out[batch, step, o] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
def window_read_rows(weights: Floats, value: Floats, start: Ints, first: int, stop: int, out: Floats) -> None:
    """Averages over windows, for the queries ``first:stop``.

    out[t] = Σₒ w[t, o] v[start[t] + o]
    """
    steps, size, depth, width = weights.shape[1], value.shape[1], value.shape[2], weights.shape[2]
    for row in range(first, stop):
        batch, step = row // steps, row % steps
        begin = start[batch, step]
        for d in range(depth):
            out[batch, step, d] = 0
        for o in range(max(0, -begin), min(width, size - begin)):
            s, w = np.uint64(begin + o), weights[batch, step, o]
            for d in range(depth):
                out[batch, step, d] += w * value[batch, s, d]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
def window_spread_rows(
    weights: Floats, given: Floats, start: Ints, batch: int, left: int, right: int, out: Floats
) -> None:
    """Hand out to the sources what their windows' queries give, in one batch, for the columns ``left:right``.

    out[s] += Σ over (t, o) with start[t] + o = s of w[t, o] g[t]
    """
    size, width, depth = out.shape[1], weights.shape[2], right - left
    for step in range(weights.shape[1]):
        begin, g = start[batch, step], given[batch, step, left:right]
        for o in range(max(0, -begin), min(width, size - begin)):
            w, source = weights[batch, step, o], out[batch, begin + o, left:right]
            for d in range(depth):
                source[d] += w * g[d]
