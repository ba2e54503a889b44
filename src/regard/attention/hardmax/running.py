"""Points that move toward those that they like best, layer by layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.attention.hardmax import kernels
from regard.attention.hardmax.planar import border
from regard.errors import DataError, SettingError
from regard.tokens.threads import even_shards, in_threads, thread_count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# From so many distinct points of the plane on, the border of the hull is worth finding.
_MANY = 400


@dataclass(frozen=True)
class Clustering:
    """Where points went, and after whom.

    Attributes
    ----------
    points : (n, d)
        The final positions.
    became : (n,)
        The layer in which a point was first chosen by itself alone, and so became a leader; -1 for the others. Equal
        points are leaders together.
    cluster : (n,)
        The first point of the leader that a point follows for good, itself for a leader; -1 for a point that is still
        free, or goes toward several leaders.
    settled : (texts,)
        The layer from which on no choice changes, whatever the number of layers; -1 where the layers did not suffice.
    path : (layers + 1, n, d) or None
        The positions before the first layer and after each, if they were asked for.
    """

    points: Floats
    became: Ints
    cluster: Ints
    settled: Ints
    path: Floats | None

    @property
    def leaders(self) -> Ints:
        """The leaders, in their order: (leaders,)."""
        return np.flatnonzero(self.became >= 0)


def run(
    points: Any,
    layers: int,
    alpha: float,
    *,
    A: Any = None,
    multiplicity: Any = None,
    starts: Any = None,
    tolerance: float = 1e-12,
    path: bool = False,
    n_threads: int | None = 1,
) -> Clustering:
    """Move points through the layers of a pure-attention hardmax transformer (Alcalde, Fantuzzi and Zuazua 2024).

        C[i] = {j : <A x[i], x[j]> is largest},   x[i] ← x[i] + α / (1 + α) · (mean of x over C[i] - x[i])

    Parameters
    ----------
    points : (n, d)
        Finite numbers.
    layers
        How many; 0 or more.
    alpha
        The step, positive.
    A : (d, d), optional
        Symmetric and positive definite; the identity, if not given.
    multiplicity : (n,), optional
        How many equal points each one stands for, positive; one, if not given.
    starts : (texts + 1,), optional
        Where each text starts: points see only those of their own text. One text, if not given.
    tolerance
        Products tie that differ by at most this times the largest numbers of ``A x[i]`` and of the text's points; and
        all do where ``A x[i]`` is zero but for this times the largest numbers of ``A`` and of the text's points. Equal
        points tie in any case.
    path
        Whether to keep the positions of every layer.
    n_threads
        All cores, if None; the result does not depend on it.

    Examples
    --------
    >>> found = run([[2.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 0.2]], layers=50, alpha=1.0)
    >>> found.leaders.tolist(), found.cluster.tolist()
    ([0, 2], [0, 0, 2, 0])
    """
    x = _points(points)
    n, d = x.shape
    if isinstance(layers, bool) or not isinstance(layers, int | np.integer) or layers < 0:
        raise SettingError(f"`layers` must be a whole number of at least 0; got {layers!r}.")
    for name, value, least in (("alpha", alpha, "above 0"), ("tolerance", tolerance, "at least 0")):
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < 0 or (name == "alpha" and value == 0):
            raise SettingError(f"`{name}` must be a number {least}; got {value!r}.")
    matrix = np.eye(d) if A is None else _matrix(A, d)
    bounds = _starts(starts, n)
    times = _times(multiplicity, n)

    first, one, distinct_starts = _distinct(x, bounds)
    unit = math.frexp(np.abs(x).max(initial=0.0))[1]  # by a power of two, so that nothing is rounded or overflows
    moving = np.ldexp(x[first], -unit) + 0.0
    kept = np.empty((layers + 1, *moving.shape) if path else (0, 0, 0))
    weight = np.asarray(np.bincount(one, times, len(first)), np.float64)
    became, follows = np.full(len(first), -1), np.full(len(first), -1)
    settled = np.full(len(bounds) - 1, -1)
    how = (layers, float(alpha / (1 + alpha)), matrix, A is None, float(tolerance))
    if len(first) >= _MANY and d <= 2 and np.diff(distinct_starts).max() >= _MANY:
        for text in range(len(settled)):
            part = slice(distinct_starts[text], distinct_starts[text + 1])
            settled[text] = _run_in_plane(moving[part], weight[part], *how, kept[:, part], became[part], follows[part])
            follows[part] += np.where(follows[part] >= 0, distinct_starts[text], 0)
    else:
        arguments: tuple[Any, ...] = (*how, kept, became, follows, settled)

        def go(shard: tuple[int, int]) -> None:
            kernels.run_texts(moving, weight, distinct_starts, *shard, *arguments)

        in_threads(go, even_shards(distinct_starts, thread_count(n_threads)), n_threads)

    follows = np.where(became >= 0, np.arange(len(first)), follows)
    cluster = np.where(follows >= 0, first[follows], -1)[one]
    positions = np.ldexp(kept[:, one], unit) if path else None
    return Clustering(np.ldexp(moving[one], unit), became[one], cluster, settled, positions)


def _run_in_plane(
    x: Floats,
    multiplicity: Floats,
    layers: int,
    pull: float,
    matrix: Floats,
    plain: bool,
    tolerance: float,
    path: Floats,
    leader: Ints,
    follows: Ints,
) -> int:
    """As ``kernels.run_texts`` for one text of the plane or the line, in n log n a layer; returns when it settled."""
    n, d = x.shape
    wide, wide_matrix = x, matrix
    if d == 1:
        wide = np.column_stack([x, np.zeros(n)])
        wide_matrix = np.diag([matrix[0, 0], 1.0])
    out = np.empty_like(x)
    choice, ties = np.empty(n, np.int64), np.empty(64, np.int64)
    now = x.copy()
    keep = len(path) > 0
    if keep:
        path[0] = now
    settled = -1 if n else 0
    for layer in range(layers if n else 0):
        wide[:, :d] = now
        ties, _ = border.choose(wide, wide_matrix, plain, tolerance, leader, follows, choice, ties)
        free = kernels.settle(choice, leader, follows, layer)
        moved = kernels.move(now, multiplicity, choice, ties, pull, out)
        if free == 0 or not moved:
            settled = layer
            break
        now, out = out, now
        if keep:
            path[layer + 1] = now
    if settled >= 0:
        if keep:
            for layer in range(settled, layers):
                kernels.approach(now, leader, follows, (1 - pull) ** (layer + 1 - settled), path[layer + 1])
        kernels.approach(now, leader, follows, (1 - pull) ** (layers - settled), out)
        now = out
    x[:] = now
    return settled


def _distinct(x: Floats, starts: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct points of each text: the first of each, the distinct point of every point, and where texts start."""
    one = np.empty(len(x), np.int64)
    first = np.empty(len(x), np.int64)
    ends = [0]
    for a, b in zip(starts[:-1], starts[1:], strict=True):
        end = ends[-1]
        size = kernels.distinct_points(x[a:b], first[end:], one[a:b])
        first[end : end + size] += a
        one[a:b] += end
        ends.append(end + size)
    return first[: ends[-1]], one, np.array(ends)


def _points(points: Any) -> Floats:
    try:
        x = np.array(points, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"Points must be numbers in the shape (points, dimensions); got {type(points).__name__}."
        ) from (error)
    if x.ndim != 2 or not x.shape[1]:
        raise DataError(f"Points must have the shape (points, dimensions); got {x.shape}.")
    if not np.isfinite(x).all():
        row = int(np.argmin(np.isfinite(x).all(axis=1)))
        raise DataError(f"Points must be finite numbers; got {x[row].tolist()} at place {row}: leave it out.")
    return x + 0.0  # no negative zero: equal points are equal bit by bit


def _matrix(given: Any, d: int) -> Floats:
    A = np.array(given, np.float64)
    if A.shape != (d, d) or not np.isfinite(A).all() or not np.allclose(A, A.T, rtol=1e-10, atol=0):
        raise SettingError(f"`A` must be a symmetric matrix of the shape {(d, d)}; got the shape {A.shape}.")
    if np.linalg.eigvalsh(A)[0] <= 0:
        raise SettingError("`A` must be positive definite: all of its eigenvalues must be above zero.")
    return A


def _starts(given: Any, n: int) -> Ints:
    starts = np.array([0, n] if given is None else given, np.int64)
    if starts.ndim != 1 or len(starts) < 1 or starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
        raise DataError(f"`starts` must rise from 0 to the number of points, {n}; got {starts.tolist()!r:.60}.")
    return starts


def _times(given: Any, n: int) -> Floats:
    times = np.ones(n) if given is None else np.array(given, np.float64)
    if times.shape != (n,) or not np.isfinite(times).all() or (times <= 0).any():
        raise DataError(f"`multiplicity` must be one positive number for each of the {n} points.")
    return times
