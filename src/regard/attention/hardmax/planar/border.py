"""One layer for many points of the plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.attention.hardmax.kernels import largest
from regard.attention.hardmax.planar import kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose(
    x: Floats,
    matrix: Floats,
    plain: bool,
    tolerance: float,
    leader: Ints,
    follows: Ints,
    choice: Ints,
    ties: Ints,
) -> tuple[Ints, int]:
    """Find whom each point likes best, in n log n: see ``kernels.choose_by_norm``, which does the same."""
    top = largest(x)
    margin = 2 * tolerance * top + 1e-14 * top
    border, at = _border(x, follows, tolerance * top, margin)
    corners = border[at]
    along = x[np.roll(corners, -1)] - x[corners]
    angles = np.arctan2(-along[:, 0], along[:, 1])
    # The corner from which the angles rise comes first.
    turn = int(np.argmin(angles))
    order = np.roll(np.arange(len(at)), -turn)
    return kernels.choose_on_border(
        x,
        matrix,
        plain,
        tolerance,
        top,
        leader,
        follows,
        border,
        at[order],
        np.maximum.accumulate(angles[order]),
        choice,
        ties,
    )


def _border(x: Floats, follows: Ints, near: float, margin: float) -> tuple[Ints, Ints]:
    """The points on the border of the hull, counterclockwise, and which of them are its corners."""
    kept = kernels.outer(x, follows, near, margin)
    if np.ptp(x[kept, 0]) < np.ptp(x[kept, 1]):  # a quarter turn: edges must not be steep throughout
        x = np.column_stack([x[:, 1], -x[:, 0]])
    order = kept[np.lexsort((x[kept, 1], x[kept, 0]))]
    corners = kernels.hull(x, order)
    place = np.empty(len(order))
    kernels.places_on_border(x, order, corners, margin, place)
    number = np.full(len(x), -1.0)
    number[order] = place
    number[corners] = np.arange(len(corners))
    on = order[number[order] >= 0]
    border = on[np.argsort(number[on], kind="stable")]
    return border, np.searchsorted(number[border], np.arange(len(corners))).astype(np.int64)
