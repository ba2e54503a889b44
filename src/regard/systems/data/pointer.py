"""Problems whose answer is made of their own inputs: sorting, convex hulls, short tours; with their exact answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError, nearest

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NOTHING = -1  # fills up answers that are shorter than the longest
LARGEST = 100  # numbers to sort are drawn from 0, 1, ..., 99
LONGEST_TOUR = 13  # an exact tour takes memory and time like n 2^n
TABLE = 1 << 23  # entries of the table of Held and Karp at a time


@dataclass(frozen=True)
class Problems:
    """Problems and their answers.

    Attributes
    ----------
    inputs : (problems, most inputs, dim) float
        Numbers to sort (dim = 1) or points of the unit square (dim = 2), filled up with zeros.
    lengths : (problems,) int
        How many inputs each has.
    answers : (problems, longest answer) int
        Positions of inputs in the order to point at them, filled up with -1.
    """

    inputs: Floats
    lengths: Integers
    answers: Integers

    def __len__(self) -> int:
        return len(self.inputs)


def make(task: str, problems: int, sizes: Sequence[int], seed: int | Sequence[int]) -> Problems:
    """Draw problems of several sizes, and solve them.

    Parameters
    ----------
    task : str
        "sorting": different whole numbers of 0 to 99, divided by 100, from the smallest to the largest. "hull": the
        corners of the convex hull of points, counterclockwise from the one that comes first among the inputs. "tour":
        the shortest closed tour, counterclockwise from the first city.
    problems : int
        How many of each size.
    sizes : sequence of int
        Of how many inputs.
    seed : int, or several

    Examples
    --------
    >>> drawn = make("sorting", 1, [4], seed=0)
    >>> drawn.inputs[0, drawn.answers[0], 0].tolist()
    [0.22, 0.35, 0.69, 0.95]
    """
    if task not in TASKS:
        raise SettingError(f"`task` must be one of {', '.join(TASKS)}; got {task!r}.{nearest(task, TASKS)}")
    if not sizes or problems < 1:
        raise SettingError(f"There must be one size and one problem at least; got {list(sizes)} and {problems}.")
    rng = np.random.default_rng(seed)
    parts = [TASKS[task](problems, size, rng) for size in sizes]
    most = max(sizes)
    return Problems(
        np.concatenate([np.pad(inputs, ((0, 0), (0, most - inputs.shape[1]), (0, 0))) for inputs, _ in parts]),
        np.repeat(np.asarray(sizes), problems),
        np.concatenate([widened(answers, most) for _, answers in parts]),
    )


def widened(answers: Integers, width: int) -> Integers:
    """Fill up with -1 to a width."""
    return np.pad(answers, ((0, 0), (0, width - answers.shape[1])), constant_values=NOTHING)


def sorting(problems: int, size: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Different whole numbers, and the order that sorts them."""
    if not 1 <= size <= LARGEST:
        raise SettingError(f"There are 1 to {LARGEST} different numbers to sort; got {size}.")
    numbers = rng.permuted(np.tile(np.arange(LARGEST), (problems, 1)), axis=1)[:, :size]
    return numbers[..., None] / LARGEST, np.argsort(numbers, axis=1)


def hull(problems: int, size: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Points of the unit square, and the corners of their convex hull."""
    points = rng.random((problems, size, 2))
    return points, convex_hull(points)


def tour(problems: int, size: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Cities in the unit square, and the shortest closed tour."""
    points = rng.random((problems, size, 2))
    return points, shortest_tour(points)


TASKS: dict[str, Callable[[int, int, np.random.Generator], tuple[Floats, Integers]]] = {
    "sorting": sorting,
    "hull": hull,
    "tour": tour,
}


def convex_hull(points: Floats) -> Integers:
    """The corners of convex hulls by gift wrapping: from a corner, the next is what has all points on its left.

    Parameters
    ----------
    points : (problems, n, 2)
        In general position: no three on a line.

    Returns
    -------
    corners : (problems, most corners)
        Counterclockwise, from the corner with the lowest number, filled up with -1.
    """
    problems, n, _ = points.shape
    if n < 3:
        raise SettingError(f"A convex hull needs at least 3 points; got {n}.")
    each = np.arange(problems)
    first = points[..., 0].argmin(1)  # the leftmost point is a corner
    corners = np.full((problems, n), NOTHING)
    here, open_ = first, np.ones(problems, dtype=bool)
    for step in range(n):
        corners[open_, step] = here[open_]
        ahead = (here + 1) % n
        for k in range(n):
            turn = cross(points[each, here], points[each, ahead], points[:, k])
            ahead = np.where((turn < 0) & (k != here), k, ahead)
        here, open_ = ahead, open_ & (ahead != first)
        if not open_.any():
            break
    return from_the_lowest(corners[:, : step + 1])


def cross(a: Floats, b: Floats, c: Floats) -> Floats:
    """Twice the signed area of the triangle a, b, c: positive where they turn left."""
    turn: Floats = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    return turn


def from_the_lowest(corners: Integers) -> Integers:
    """Turn each ring so that it starts with its lowest number; (problems, corners), filled up with -1."""
    counts = np.maximum((corners != NOTHING).sum(1, keepdims=True), 1)
    start = np.where(corners == NOTHING, np.iinfo(np.int64).max, corners).argmin(1)[:, None]
    steps = np.arange(corners.shape[1])
    turned = np.take_along_axis(corners, (start + steps) % counts, 1)
    return np.where(steps < counts, turned, NOTHING)


def shortest_tour(points: Floats) -> Integers:
    r"""The shortest closed tours, by the recursion of Held and Karp (1962), for all problems at once.

        best(S, j) = min over i in S \ {j} of best(S \ {j}, i) + |i - j|,   best({j}, j) = |0 - j|

    Parameters
    ----------
    points : (problems, n, 2)

    Returns
    -------
    order : (problems, n)
        From city 0, counterclockwise: of the two directions the one with a positive area.
    """
    n = points.shape[1]
    if not 2 <= n <= LONGEST_TOUR:
        raise SettingError(f"An exact tour is worked out for 2 to {LONGEST_TOUR} cities; got {n}.")
    at_a_time = max(1, TABLE // (n << n))
    parts = [points[i : i + at_a_time] for i in range(0, len(points), at_a_time)]
    return np.concatenate([_counterclockwise(part, _held_karp(part)) for part in parts])


def _held_karp(points: Floats) -> Integers:
    problems, n, _ = points.shape
    distance = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    others = n - 1  # cities 1 to n - 1 are bits 0 to n - 2
    best = np.full((1 << others, others, problems), np.inf)
    before = np.zeros((1 << others, others, problems), dtype=np.int8)
    for j in range(others):
        best[1 << j, j] = distance[:, 0, j + 1]
    between = np.ascontiguousarray(distance[:, 1:, 1:].transpose(1, 2, 0))
    for count in range(2, others + 1):
        for chosen in combinations(range(others), count):
            members, those = sum(1 << j for j in chosen), list(chosen)
            for j in chosen:
                ways = best[members ^ (1 << j), those] + between[those, j]  # j itself is never reached: infinite
                take = ways.argmin(0)
                best[members, j] = ways[take, np.arange(problems)]
                before[members, j] = np.asarray(those, dtype=np.int8)[take]
    return _walk_back(best, before, distance)


def _walk_back(best: Floats, before: NDArray[np.int8], distance: Floats) -> Integers:
    problems, n = distance.shape[:2]
    each, members = np.arange(problems), np.full(problems, (1 << (n - 1)) - 1)
    here = (best[-1] + distance[:, 0, 1:].T).argmin(0)
    order = np.zeros((problems, n), dtype=np.int64)
    for step in range(n - 1, 0, -1):
        order[:, step] = here + 1
        here, members = before[members, here, each].astype(np.int64), members ^ (1 << here)
    return order


def _counterclockwise(points: Floats, order: Integers) -> Integers:
    backwards = polygon_area(points, order) < 0
    return np.where(backwards[:, None], np.concatenate([order[:, :1], order[:, :0:-1]], 1), order)


def polygon_area(points: Floats, order: Integers) -> Floats:
    """The signed areas of polygons: positive counterclockwise.

    Parameters
    ----------
    points : (problems, n, 2)
    order : (problems, corners)
        Filled up with -1.
    """
    ahead = _ring(order)
    each = np.arange(len(points))[:, None]
    x, y = np.moveaxis(points[each, np.maximum(order, 0)], -1, 0)
    x2, y2 = np.moveaxis(points[each, np.maximum(ahead, 0)], -1, 0)
    area: Floats = np.where(order == NOTHING, 0.0, x * y2 - x2 * y).sum(1) / 2
    return area


def tour_length(points: Floats, order: Integers) -> Floats:
    """How long the closed tours are.

    Parameters
    ----------
    points : (problems, n, 2)
    order : (problems, n)
        Filled up with -1.
    """
    each, ahead = np.arange(len(points))[:, None], _ring(order)
    legs = np.linalg.norm(points[each, np.maximum(order, 0)] - points[each, np.maximum(ahead, 0)], axis=-1)
    length: Floats = np.where(order == NOTHING, 0.0, legs).sum(1)
    return length


def _ring(order: Integers) -> Integers:
    """The successor of each, the first after the last."""
    last = np.maximum((order != NOTHING).sum(1), 1) - 1
    ahead = np.concatenate([order[:, 1:], np.full((len(order), 1), NOTHING)], 1)
    ahead[np.arange(len(order)), last] = order[:, 0]
    return ahead


def is_simple(points: Floats, order: Integers) -> NDArray[np.bool_]:
    """Whether polygons have three corners at least, all different, and no two sides that cross.

    Parameters
    ----------
    points : (problems, n, 2)
    order : (problems, corners)
        Filled up with -1.
    """
    corners = (order != NOTHING).sum(1)
    ordered = np.sort(order, axis=1)
    simple: NDArray[np.bool_] = (corners >= 3) & ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(1)
    each, ahead = np.arange(len(points))[:, None], _ring(order)
    a, b = points[each, np.maximum(order, 0)], points[each, np.maximum(ahead, 0)]
    for i, j in combinations(range(order.shape[1]), 2):
        apart = cross(a[:, i], b[:, i], a[:, j]) * cross(a[:, i], b[:, i], b[:, j]) < 0
        across = cross(a[:, j], b[:, j], a[:, i]) * cross(a[:, j], b[:, j], b[:, i]) < 0
        simple &= ~(apart & across & (order[:, j] != NOTHING))
    return simple


def nearest_first(points: Floats) -> Integers:
    """Tours that always go on to the nearest city not yet seen, from city 0."""
    problems, n, _ = points.shape
    each, order = np.arange(problems), np.zeros((problems, n), dtype=np.int64)
    seen = np.zeros((problems, n), dtype=bool)
    for step in range(1, n):
        here = order[:, step - 1]
        seen[each, here] = True
        far = np.linalg.norm(points - points[each, here][:, None], axis=-1)
        order[:, step] = np.where(seen, np.inf, far).argmin(1)
    return order
