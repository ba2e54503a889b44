"""The loops of the hardmax dynamics, compiled by numba; ``reference.py`` says the same in NumPy, and
``docs/hardmax.md`` proves what they leave out.

Sums run in double precision and in a fixed order, so a result does not depend on threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.tokens.kernels import mix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What rounding may add to a product of two points, in proportion to their size.
_ROUNDING = 1e-13


@njit(cache=True, nogil=True, error_model="numpy")
def distinct_points(x: Floats, first: Ints, one: Ints) -> int:
    """Number the distinct points of a text in order of appearance; returns how many there are.

    Parameters
    ----------
    x : (n, d)
        Without negative zeros, so that equal points are equal bit by bit.
    first : (n,), output
        Where each distinct point appears first.
    one : (n,), output
        The number of each point among the distinct ones.
    """
    n, d = x.shape
    bits = x.view(np.int64)
    size = 4
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1)
    distinct = 0
    for i in range(n):
        state = np.uint64(0)
        for k in range(d):
            state = mix(state ^ np.uint64(bits[i, k]))
        at = np.int64(state & np.uint64(size - 1))
        while table[at] >= 0:
            same = True
            for k in range(d):
                same &= x[i, k] == x[first[table[at]], k]
            if same:
                break
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = distinct
            first[distinct] = i
            distinct += 1
        one[i] = table[at]
    return distinct


@njit(cache=True, nogil=True, error_model="numpy")
def largest(x: Floats) -> float:
    """The largest absolute number."""
    top = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            top = max(top, abs(x[i, k]))
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def arrived(x: Floats, i: int, follows: Ints, near: float) -> bool:
    """Whether a follower is within ``near`` of its leader: beside it, it need not be looked at."""
    if follows[i] < 0:
        return False
    far = 0.0
    for k in range(x.shape[1]):
        far = max(far, abs(x[i, k] - x[follows[i], k]))
    return far <= near


@njit(cache=True, nogil=True, error_model="numpy")
def sink(heap: Ints, size: int, at: int, radius: Floats) -> None:
    """Let an entry of a heap sink to its place; the point farthest out is on top, and among equals the first."""
    moving = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and (
            radius[heap[child + 1]] > radius[heap[child]]
            or (radius[heap[child + 1]] == radius[heap[child]] and heap[child + 1] < heap[child])
        ):
            child += 1
        below = heap[child]
        if radius[below] > radius[moving] or (radius[below] == radius[moving] and below < moving):
            heap[at] = below
            at = child
        else:
            break
    heap[at] = moving


@njit(cache=True, nogil=True, error_model="numpy")
def choose_by_norm(
    x: Floats,
    matrix: Floats,
    plain: bool,
    tolerance: float,
    leader: Ints,
    follows: Ints,
    choice: Ints,
    ties: Ints,
    used: int,
) -> tuple[Ints, int]:
    """Find whom each point likes best, looking at the points farthest from their centre first.

    With ``c`` the centre, ``<Ax, y> <= <Ax, c> + |Ax| |y - c|``: once that is below the best product so far, nobody
    farther in can be liked better. Right in any dimension; fast where few points lie far out.

    Parameters
    ----------
    x : (n, d)
        Distinct points.
    matrix : (d, d)
        ``A``; not looked at where ``plain``.
    tolerance
        Products tie that differ by at most this times the largest numbers of ``A x[i]`` and of ``x``; and all do where
        ``A x[i]`` is zero but for this times the largest numbers of ``A`` and ``x``.
    leader : (n,)
        The layer in which a point became a leader, or -1.
    follows : (n,)
        The leader that a point follows for good, or -1.
    choice : (n,), output
        The only point chosen, or ``-1 - p`` where there are several: ``ties[p]`` says how many, and they come after.
    ties, used
        Where lists of ties are kept, and how much of it is used.

    Returns
    -------
    ties, used
        The same, or a larger copy.
    """
    n, d = x.shape
    top = largest(x)
    near = tolerance * top
    zero = near if plain else near * largest(matrix)
    centre = np.zeros(d)
    heap = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        if not arrived(x, i, follows, near):
            heap[size] = i
            size += 1
            for k in range(d):
                centre[k] += x[i, k]
    centre /= size
    radius = np.empty(n)
    for h in range(size):
        i = heap[h]
        square = 0.0
        for k in range(d):
            square += (x[i, k] - centre[k]) ** 2
        radius[i] = math.sqrt(square)
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, size, at, radius)
    looked = np.empty(n, np.int64)  # the points from the outside in, as far as anybody had to look
    known = 0
    product = np.empty(n)
    u = np.empty(d)
    for i in range(n):
        if leader[i] >= 0:
            choice[i] = i
            continue
        if follows[i] >= 0:
            choice[i] = follows[i]
            continue
        long, big, base = 0.0, 0.0, 0.0
        for k in range(d):
            if plain:
                u[k] = x[i, k]
            else:
                u[k] = 0.0
                for m in range(d):
                    u[k] += matrix[k, m] * x[i, m]
            long += u[k] * u[k]
            big = max(big, abs(u[k]))
            base += u[k] * centre[k]
        if big <= zero:  # every product is zero
            choice[i] = -1 - used if n > 1 else i
            ties, used = keep_all(n, ties, used)
            continue
        long = math.sqrt(long)
        slack = tolerance * big * top
        base += _ROUNDING * d * big * top - slack
        best = -math.inf
        p = 0
        while True:
            if p == known:
                if size == 0:
                    break
                looked[known] = heap[0]
                known += 1
                size -= 1
                heap[0] = heap[size]
                if size:
                    sink(heap, size, 0, radius)
            j = looked[p]
            if base + long * radius[j] < best - 2 * slack:
                break
            s = 0.0
            for k in range(d):
                s += u[k] * x[j, k]
            product[p] = s
            best = max(best, s)
            p += 1
        count, only = 0, -1
        for r in range(p):
            if product[r] >= best - slack:
                count += 1
                only = looked[r]
        if count == 1:
            choice[i] = only
        else:
            ties = room_for(ties, used, count)
            choice[i] = -1 - used
            ties[used] = count
            used += 1
            for r in range(p):
                if product[r] >= best - slack:
                    ties[used] = looked[r]
                    used += 1
    return ties, used


@njit(cache=True, nogil=True, error_model="numpy")
def room_for(ties: Ints, used: int, count: int) -> Ints:
    """The same lists, with room for one more."""
    if used + count + 1 <= ties.size:
        return ties
    larger = np.empty(2 * (used + count + 1), np.int64)
    larger[:used] = ties[:used]
    return larger


@njit(cache=True, nogil=True, error_model="numpy")
def keep_all(n: int, ties: Ints, used: int) -> tuple[Ints, int]:
    """A list of everybody."""
    ties = room_for(ties, used, n)
    ties[used] = n
    for j in range(n):
        ties[used + 1 + j] = j
    return ties, used + n + 1


@njit(cache=True, nogil=True, error_model="numpy")
def settle(choice: Ints, leader: Ints, follows: Ints, layer: int) -> int:
    """Find who became a leader, and who follows one for good; returns how many points are still free.

    A point that chooses itself alone never moves again. One that chooses a leader alone will choose it in every later
    layer, because all points stay in their hull (``docs/hardmax.md``).
    """
    for i in range(choice.size):
        if choice[i] == i and leader[i] < 0:
            leader[i] = layer
    free = 0
    for i in range(choice.size):
        if leader[i] < 0 and follows[i] < 0:
            if choice[i] >= 0 and leader[choice[i]] >= 0:
                follows[i] = choice[i]
            else:
                free += 1
    return free


@njit(cache=True, nogil=True, error_model="numpy")
def move(x: Floats, multiplicity: Floats, choice: Ints, ties: Ints, pull: float, out: Floats) -> bool:
    """Every point goes the share ``pull`` of its way to the mean of those it chose; whether any point moved."""
    n, d = x.shape
    mean = np.empty(d)
    moved = False
    for i in range(n):
        if choice[i] == i:
            for k in range(d):
                out[i, k] = x[i, k]
            continue
        if choice[i] >= 0:
            for k in range(d):
                mean[k] = x[choice[i], k]
        else:
            at = -1 - choice[i]
            total = 0.0
            mean[:] = 0.0
            for r in range(at + 1, at + 1 + ties[at]):
                j = ties[r]
                total += multiplicity[j]
                for k in range(d):
                    mean[k] += multiplicity[j] * x[j, k]
            mean /= total
        for k in range(d):
            out[i, k] = x[i, k] + pull * (mean[k] - x[i, k])
            moved |= out[i, k] != x[i, k]
    return moved


@njit(cache=True, nogil=True, error_model="numpy")
def approach(x: Floats, leader: Ints, follows: Ints, kept: float, out: Floats) -> None:
    """Where points are of which each leads or follows a leader for good: ``kept`` of the way is still to go."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[i, k] = x[i, k]
            if leader[i] < 0 and follows[i] >= 0:
                out[i, k] = x[follows[i], k] + kept * (x[i, k] - x[follows[i], k])


@njit(cache=True, nogil=True, error_model="numpy")
def run_texts(
    points: Floats,
    multiplicity: Floats,
    starts: Ints,
    first: int,
    stop: int,
    layers: int,
    pull: float,
    matrix: Floats,
    plain: bool,
    tolerance: float,
    path: Floats,
    leader: Ints,
    follows: Ints,
    settled: Ints,
) -> None:
    """Move the points of the texts ``first:stop`` through all layers.

    Parameters
    ----------
    points : (n, d), in and out
        The distinct points of all texts, end to end; in the end their final positions.
    multiplicity : (n,)
        How many equal points one stands for.
    starts
        Where each text starts.
    pull
        ``α / (1 + α)``.
    path : (layers + 1, n, d), output
        The positions before each layer and after the last, or an array without elements.
    leader, follows : (n,), output
        The layer in which a point became a leader, or -1; the leader that it follows for good, or -1.
    settled : (texts,), output
        The layer from which on no choice changes, or -1.
    """
    d = points.shape[1]
    keep = path.size > 0
    ties = np.empty(64, np.int64)
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        n = b - a
        x = points[a:b].copy()
        y = np.empty((n, d))
        choice = np.empty(n, np.int64)
        lead, follow = leader[a:b], follows[a:b]
        lead[:] = -1
        follow[:] = -1
        settled[doc] = 0 if n == 0 else -1
        if keep:
            path[0, a:b] = x
        for layer in range(layers):
            if settled[doc] >= 0:
                break
            ties, _ = choose_by_norm(x, matrix, plain, tolerance, lead, follow, choice, ties, 0)
            free = settle(choice, lead, follow, layer)
            moved = move(x, multiplicity[a:b], choice, ties, pull, y)
            if free == 0 or not moved:
                settled[doc] = layer
                break
            x, y = y, x
            if keep:
                path[layer + 1, a:b] = x
        if settled[doc] >= 0:
            at = settled[doc]
            if keep:
                for layer in range(at, layers):
                    approach(x, lead, follow, (1 - pull) ** (layer + 1 - at), path[layer + 1, a:b])
            approach(x, lead, follow, (1 - pull) ** (layers - at), y)
            x, y = y, x
        points[a:b] = x
        for i in range(n):
            if follow[i] >= 0:
                follow[i] += a
