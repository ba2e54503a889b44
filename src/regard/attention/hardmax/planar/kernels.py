"""The loops over the border of a hull in the plane, compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.attention.hardmax.kernels import arrived, keep_all, largest, room_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True, error_model="numpy")
def outer(x: Floats, follows: Ints, near: float, margin: float) -> Ints:
    """The points that are not inside, by more than ``margin``, of the octagon of the farthest points.

    Followers that have arrived at their leader are left out.
    """
    n = x.shape[0]
    best = np.full(8, -math.inf)
    corner = np.zeros(8, np.int64)
    for i in range(n):
        a, b = x[i, 0], x[i, 1]
        # Counterclockwise: east, north-east, north, ...
        for k, s in enumerate((a, a + b, b, b - a, -a, -a - b, -b, a - b)):
            if s > best[k]:
                best[k] = s
                corner[k] = i
    edges = np.empty((8, 3))
    m = 0
    for k in range(8):
        p, q = corner[k], corner[(k + 1) % 8]
        right, up = x[q, 0] - x[p, 0], x[q, 1] - x[p, 1]
        long = math.hypot(right, up)
        if long > 0:
            edges[m, 0] = -up / long
            edges[m, 1] = right / long
            edges[m, 2] = edges[m, 0] * x[p, 0] + edges[m, 1] * x[p, 1] + margin
            m += 1
    kept = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        inside = m > 2
        for k in range(m):
            if edges[k, 0] * x[i, 0] + edges[k, 1] * x[i, 1] <= edges[k, 2]:
                inside = False
                break
        if not inside and not arrived(x, i, follows, near):
            kept[size] = i
            size += 1
    return kept[:size].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def hull(x: Floats, order: Ints) -> Ints:
    """The corners of the hull of some points, counterclockwise; none lies on a line with its neighbours.

    Parameters
    ----------
    x : (n, 2)
    order
        The points, from left to right and, where these are equal, from below.
    """
    corners = np.empty(2 * order.size, np.int64)
    size = 0
    for way in range(2):
        base = size
        for r in range(order.size):
            p = order[r] if way == 0 else order[order.size - 1 - r]
            while size - base >= 2:
                a, b = corners[size - 2], corners[size - 1]
                turn = (x[b, 0] - x[a, 0]) * (x[p, 1] - x[a, 1]) - (x[b, 1] - x[a, 1]) * (x[p, 0] - x[a, 0])
                if turn > 0:
                    break
                size -= 1
            corners[size] = p
            size += 1
        size -= 1  # the last point of one way is the first of the other
    return corners[: max(size, 1)].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def places_on_border(x: Floats, order: Ints, corners: Ints, margin: float, place: Floats) -> None:
    """Where on the border each point lies: ``k + t`` is the share ``t`` of the edge from corner ``k``; -1 is inside.

    Parameters
    ----------
    x, order
        As for ``hull``.
    corners
        What ``hull`` returned.
    margin
        A point this far from an edge still lies on it.
    place : (order,), output
        In the order of ``order``.
    """
    h = corners.size
    place[:] = -1.0
    if h == 1:
        place[:] = 0.0
        return
    last = order[order.size - 1]
    east = 0
    while corners[east] != last:
        east += 1
    for way in range(2):  # the lower edges from left to right, then the upper ones, which run back
        edge = 0 if way == 0 else h - 1
        stop = east if way == 0 else east - 1
        forward = 1 if way == 0 else -1
        for r in range(order.size):
            p = order[r]
            while edge != stop:
                end = corners[(edge + 1) % h] if way == 0 else corners[edge]
                if x[end, 0] + margin >= x[p, 0]:
                    break
                edge += forward
            k = edge
            while k != stop:
                a, b = corners[k], corners[(k + 1) % h]
                if min(x[a, 0], x[b, 0]) - margin > x[p, 0]:
                    break
                right, up = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1]
                long = math.hypot(right, up)
                away = abs(right * (x[p, 1] - x[a, 1]) - up * (x[p, 0] - x[a, 0])) / long
                if away <= margin and place[r] < 0:
                    t = (right * (x[p, 0] - x[a, 0]) + up * (x[p, 1] - x[a, 1])) / (long * long)
                    place[r] = k + min(max(t, 1e-9), 1.0 - 1e-9)  # not the corners themselves
                k += forward


@njit(cache=True, nogil=True, error_model="numpy")
def choose_on_border(
    x: Floats,
    matrix: Floats,
    plain: bool,
    tolerance: float,
    top: float,
    leader: Ints,
    follows: Ints,
    border: Ints,
    at: Ints,
    angles: Floats,
    choice: Ints,
    ties: Ints,
) -> tuple[Ints, int]:
    """Find whom each point likes best: the corner that lies farthest its way, by halving, and what ties with it.

    Parameters
    ----------
    x, matrix, plain, tolerance, leader, follows, choice, ties
        As for ``choose_by_norm``.
    top
        The largest absolute number of ``x``.
    border
        The points on the border, counterclockwise.
    at : (corners,)
        Which of them are the corners.
    angles : (corners,)
        Corner ``k`` lies farthest in the directions from ``angles[k - 1]`` to ``angles[k]``; ascending.
    """
    n, h, m = x.shape[0], at.size, border.size
    zero = tolerance * top * (1.0 if plain else largest(matrix))
    used = 0
    for i in range(n):
        if leader[i] >= 0:
            choice[i] = i
            continue
        if follows[i] >= 0:
            choice[i] = follows[i]
            continue
        if plain:
            u, v = x[i, 0], x[i, 1]
        else:
            u = matrix[0, 0] * x[i, 0] + matrix[0, 1] * x[i, 1]
            v = matrix[1, 0] * x[i, 0] + matrix[1, 1] * x[i, 1]
        big = max(abs(u), abs(v))
        if big <= zero:
            choice[i] = -1 - used if n > 1 else i
            ties, used = keep_all(n, ties, used)
            continue
        k = np.searchsorted(angles, math.atan2(v, u)) % h
        best = u * x[border[at[k]], 0] + v * x[border[at[k]], 1]
        for forward in (1, h - 1):  # the angle is rounded: its neighbours decide
            for _ in range(h):
                other = border[at[(k + forward) % h]]
                s = u * x[other, 0] + v * x[other, 1]
                if s <= best:
                    break
                best = s
                k = (k + forward) % h
        slack = tolerance * big * top
        # Away from the best corner products fall; a point beside its edge may be off by as much as the slack.
        enough = best - 4 * slack - 1e-13 * big * top
        low, high = at[k], at[k]
        while high - low + 1 < m:
            j = border[(high + 1) % m]
            s = u * x[j, 0] + v * x[j, 1]
            best = max(best, s)
            if s < enough:
                break
            high += 1
        while high - low + 1 < m:
            j = border[(low - 1) % m]
            s = u * x[j, 0] + v * x[j, 1]
            best = max(best, s)
            if s < enough:
                break
            low -= 1
        count, only = 0, -1
        for r in range(low, high + 1):
            j = border[r % m]
            if u * x[j, 0] + v * x[j, 1] >= best - slack:
                count += 1
                only = j
        if count == 1:
            choice[i] = only
            continue
        ties = room_for(ties, used, count)
        choice[i] = -1 - used
        ties[used] = count
        used += 1
        for r in range(low, high + 1):
            j = border[r % m]
            if u * x[j, 0] + v * x[j, 1] >= best - slack:
                ties[used] = j
                used += 1
    return ties, used
