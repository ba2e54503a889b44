"""Every object becomes an average of the objects like it, without ever holding all pairs.

    y[t] = Σₛ w[t, s] v[s],   w[t, s] = F(similarity(x[t], z[s]) / b) / Σₗ F(similarity(x[t], z[l]) / b)

Tiles of similarities are made, weighed and used while they are in the processor's cache, in threads. Results do not
depend on the number of threads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from regard.errors import DataError
from regard.models.settings import number, whole
from regard.similarity import kernels
from regard.similarity.families import TOP_K, Family, exp, family, rank, weights
from regard.similarity.measures import DotFamily, Floats, Objects, Similarity, resolve
from regard.tokens.threads import in_threads

# A tile of these sides stays in the cache of one core while it is weighed.
_ROWS, _COLUMNS, _PAIRS = 256, 1024, 512
# Numbers in the few whole rows that a rank is taken in.
WHOLE = 2**22
# How far apart loudnesses may be, as a power of two, before pairs are not compared once for both sides.
_REACH = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 900.0}

Values = Any


def average(
    query: Objects,
    key: Objects | None = None,
    value: Values | None = None,
    *,
    similarity: str | Similarity | Callable[[Any, Any], Any] = "squared_euclidean",
    weigh: str | Family = "exp",
    bandwidth: float = 1.0,
    n_neighbors: int = 5,
    n_threads: int | None = None,
) -> Any:
    """Replace each query by the average of the values of those keys that are similar to it.

    Parameters
    ----------
    query : (n, d)
        x: an array, a CSR matrix, or a tensor, for which the result is a tensor that gradients flow through.
    key : (m, d), optional
        z; the queries, if not given.
    value : (m, V) or (m,), optional
        v; the keys, if not given.
    similarity
        See ``SIMILARITIES``; ``Minkowski(p)``, ``General(matrix)`` or a function of two blocks of objects.
    weigh : {"exp", "top_k", "power", "sigmoid", "softplus", "linear", "quadratic", "rank"} or callable
        F, or equal weights on the ``n_neighbors`` most similar (of those that tie, the earliest).
    bandwidth : float
        b: similarities are divided by it.
    n_neighbors : int
        For ``top_k``.
    n_threads : int, optional
        All cores, unless told. Tensors have PyTorch's threads.

    Returns
    -------
    averages : (n, V) or (n,)

    Examples
    --------
    >>> average(np.array([[0.0], [0.2], [9.0]])).round(2).ravel().tolist()
    [0.1, 0.1, 9.0]
    """
    similarity = resolve(similarity)
    number(bandwidth, "bandwidth", above=0)
    whole(n_neighbors, "n_neighbors", at_least=1)
    if weigh != TOP_K:
        family(weigh)
    if hasattr(query, "requires_grad"):
        return _of_tensors(query, key, value, similarity, weigh, bandwidth, n_neighbors)
    query = objects(query, "query")
    alike = key is None or key is query
    key = query if key is None else objects(key, "key")
    if query.shape[1] != key.shape[1]:
        raise DataError(f"Queries and keys must have as many features; got {query.shape[1]} and {key.shape[1]}.")
    value = key if value is None else value if sparse.issparse(value) else np.asarray(value)
    if value.shape[0] != key.shape[0]:
        raise DataError(f"Each of the {key.shape[0]} keys needs a value; got {value.shape[0]}.")
    flat = value.ndim == 1
    found = averages(
        query,
        query if alike else key,
        rows_of(value[:, None] if flat else value),
        similarity=similarity,
        weigh=weigh,
        bandwidth=bandwidth,
        n_neighbors=n_neighbors,
        n_threads=n_threads,
    )
    return found[:, 0] if flat else found


@dataclass(frozen=True)
class Rows:
    """Values by their places, so that they need not all exist at once.

    Attributes
    ----------
    read : callable
        From a slice or an array of places to the values (places, V), dense or sparse.
    width : int
        V.
    """

    read: Callable[[Any], Any]
    width: int


def rows_of(value: Any) -> Rows:
    """The rows of an array or a CSR matrix."""
    return Rows(lambda places: value[places], value.shape[1])


def one_hot(codes: NDArray[np.intp], classes: int) -> Rows:
    """One where an object has the class."""
    ones = np.eye(classes)
    return Rows(lambda places: ones[codes[places]], classes)


def averages(
    query: Objects,
    key: Objects,
    value: Rows,
    *,
    similarity: Similarity,
    weigh: str | Family,
    bandwidth: float,
    n_neighbors: int = 5,
    own: bool = True,
    n_threads: int | None = None,
) -> Floats:
    """``average`` of what has been checked: (n, V), in the precision of the queries.

    Without ``own``, where queries are the keys, nobody has a weight on itself.
    """
    if weigh == TOP_K:
        found, _ = most_similar(query, key, n_neighbors, similarity, n_threads, own=own)
        return mean_of(found, value, query.dtype)
    of = family(weigh)
    if of is rank:
        return _by_whole_rows(query, key, value, similarity, of, bandwidth, own, n_threads)
    if of is exp and own and query is key and isinstance(similarity, DotFamily) and not sparse.issparse(key):
        pairs = _Pairs.of(key, similarity, bandwidth)
        if pairs is not None:
            return pairs.averages(value, n_threads)
    tiles = Tiles(query, key, similarity, of, bandwidth, own=own)
    return tiles.averages(value, n_threads)


def mean_of(places: NDArray[np.int64], value: Rows, dtype: np.dtype[Any]) -> Floats:
    """The mean of the values at some places of each row: (n, V)."""
    out = np.empty((len(places), value.width), dtype)
    for start in range(0, len(places), _COLUMNS):
        some = places[start : start + _COLUMNS]
        chosen = dense(value.read(some.ravel()))
        out[start : start + len(some)] = chosen.reshape(*some.shape, -1).mean(axis=1)
    return out


@dataclass(frozen=True)
class Weighed:
    """What each query's softmax or ratio came to, by which any one weight can be told.

    Attributes
    ----------
    peak : (n,)
        The largest similarity, where F is exp; in powers of two.
    total : (n,)
        ΣF; for exp Σ 2^(v - peak).
    """

    peak: Floats
    total: Floats


class Tiles:
    """Similarities of some queries to all keys, a tile at a time.

    Parameters
    ----------
    query, key : (n, d), (m, d)
    similarity, of, bandwidth
        See ``average``.
    own : bool
        Whether a query may attend to the key in its own place.
    """

    def __init__(
        self,
        query: Objects,
        key: Objects,
        similarity: Similarity,
        of: Family,
        bandwidth: float,
        *,
        own: bool = True,
    ) -> None:
        self.query, self.key, self.similarity, self.of, self.own = query, key, similarity, of, own
        self.unit = query.dtype.type((math.log2(math.e) if of is exp else 1.0) / bandwidth)
        self.middle = similarity.middle(key) if isinstance(similarity, DotFamily) else None

    def averages(self, value: Rows, n_threads: int | None) -> Floats:
        """The averages of all queries: (n, V)."""
        out = np.empty((self.query.shape[0], value.width), self.query.dtype)

        def run(start: int) -> None:
            stop = min(start + self.rows, self.query.shape[0])
            out[start:stop] = self._averages(start, stop, value)[0]

        self._in_threads(run, n_threads)
        return out

    def weighed(self, n_threads: int | None) -> Weighed:
        """The sums that weights are divided by."""
        peak, total = np.empty((2, self.query.shape[0]), self.query.dtype)

        def run(start: int) -> None:
            stop = min(start + self.rows, self.query.shape[0])
            _, peak[start:stop], total[start:stop] = self._averages(start, stop, None)

        self._in_threads(run, n_threads)
        if self.of is exp and isinstance(self.similarity, DotFamily):
            term = self.similarity.own(self.query, self.middle)
            peak += 0 if term is None else term * self.unit
        return Weighed(peak, total)

    def best(self, k: int, n_threads: int | None) -> tuple[NDArray[np.int64], Floats]:
        """The k largest similarities of each query, falling, and where they are: (n, k) each."""
        n = self.query.shape[0]
        best = np.full((n, k), -np.inf, self.query.dtype)
        places = np.zeros((n, k), np.int64)

        def run(start: int) -> None:
            stop = min(start + self.rows, n)
            compare = self._compare(start, stop)
            for first in range(0, self.key.shape[0], _COLUMNS):
                tile = compare(first)
                if not self.own:
                    tile[self._same(tile, start, first)] = -np.inf
                kernels.keep_best(tile, first, best[start:stop], places[start:stop])

        self._in_threads(run, n_threads)
        return places, best

    @property
    def rows(self) -> int:
        """Queries at a time: enough for all cores, and the same whatever their number."""
        return min(_ROWS, max(16, -(-int(self.query.shape[0]) // 8)))

    def _in_threads(self, run: Callable[[int], None], n_threads: int | None) -> None:
        with one_blas_thread():
            in_threads(run, range(0, self.query.shape[0], self.rows), n_threads)

    def _compare(self, start: int, stop: int) -> Callable[[int], Floats]:
        """From the place of a tile's first key to the tile (rows, keys), in units of the bandwidth."""
        query, similarity = self.query[start:stop], self.similarity
        if not isinstance(similarity, DotFamily):

            def plain(first: int) -> Floats:
                tile = similarity.compare(query, self.key[first : first + _COLUMNS])
                return np.ascontiguousarray(tile * self.unit)

            return plain
        queries = similarity.queries(query, self.middle) * self.unit
        own = None if self.of is exp else similarity.own(query, self.middle)
        space = np.empty((stop - start) * _COLUMNS, self.query.dtype)

        def product(first: int) -> Floats:
            keys = similarity.keys(self.key[first : first + _COLUMNS], self.middle)
            if sparse.issparse(keys) or sparse.issparse(queries):
                found = queries @ keys.T
                tile = np.ascontiguousarray(found.toarray() if sparse.issparse(found) else found)
            else:
                tile = space[: (stop - start) * keys.shape[0]].reshape(stop - start, keys.shape[0])
                np.matmul(queries, keys.T, out=tile)
            if (bias := similarity.bias(keys)) is not None:
                tile += bias * self.unit
            if own is not None:
                tile += (own * self.unit)[:, None]
            return tile

        return product

    @staticmethod
    def _same(tile: Floats, start: int, first: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where in a tile objects meet themselves."""
        rows = np.arange(max(0, first - start), min(tile.shape[0], first + tile.shape[1] - start))
        return rows, rows + start - first

    def _averages(self, start: int, stop: int, value: Rows | None) -> tuple[Floats, Floats, Floats]:
        """Averages, peaks and totals of some queries: an online softmax, or sums of F."""
        size, dtype = stop - start, self.query.dtype
        compare = self._compare(start, stop)
        summed = np.zeros((size, value.width if value else 0), dtype)
        total, shrink = np.zeros(size, dtype), np.empty(size, dtype)
        peak = np.full(size, np.finfo(dtype).min / 4, dtype)
        for first in range(0, self.key.shape[0], _COLUMNS):
            tile = compare(first)
            if self.of is exp:
                if not self.own:
                    tile[self._same(tile, start, first)] = np.finfo(dtype).min / 2
                kernels.weigh_rows(tile, tile.max(axis=1), peak, total, shrink)
                summed *= shrink[:, None]
            else:
                tile = _amounts(self.of, tile)
                if not self.own:
                    tile[self._same(tile, start, first)] = 0
                total += tile.sum(axis=1)
            if value:
                summed += _as(tile @ value.read(slice(first, first + tile.shape[1])), dtype)
        none = total == 0
        if value and none.any():
            summed[none] = _mean(value, self.key.shape[0])
        return summed / np.where(none, 1, total)[:, None], peak, total


class _Pairs:
    """A set of objects that attend to each other by dot products: each pair is compared once, for both.

    With h[i] = c |k[i]|² / 2 of the keys' side of the product,

        2^(c k[i]·k[j] - h[i] - h[j])  =  2^(-c |k[i] - k[j]|² / 2)

    is the same for i and j, never above one, and one for i = j. What a softmax over j sees beside it, h[j] and the
    key's own bias, is the loudness l[j] = 2^(h[j] + bias[j]), and

        y[i] = Σⱼ 2^(...) l[j] v[j] / Σⱼ 2^(...) l[j]

    Where loudnesses differ so much that a sum may be lost, this way is not taken.
    """

    def __init__(self, keys: Floats, half: Floats, loudness: Floats, factor: Any) -> None:
        self.keys, self.half, self.loudness, self.factor = keys, half, loudness, factor

    @classmethod
    def of(cls, points: Floats, similarity: DotFamily, bandwidth: float) -> _Pairs | None:
        """The pairs of some points, where that can be done."""
        factor = similarity.mutual(points.shape[1])
        if factor is None or len(points) < 2 * _PAIRS:
            return None
        dtype = points.dtype
        unit = math.log2(math.e) / bandwidth
        keys = similarity.keys(points, similarity.middle(points))
        half = np.einsum("ij,ij->i", keys, keys) * dtype.type(unit * factor / 2)
        bias = similarity.bias(keys)
        louder = half if bias is None else half + bias * dtype.type(unit)
        louder = louder - louder.max()
        if not louder.min() >= -_REACH[dtype] or not np.isfinite(half).all():
            return None
        return cls(keys, half, np.exp2(louder), dtype.type(unit * factor))

    def averages(self, value: Rows, n_threads: int | None) -> Floats:
        """Tiles of pairs in rounds like a tournament's, so that no two threads ever add to the same rows."""
        n, dtype = len(self.keys), self.keys.dtype
        summed, total = np.zeros((n, value.width), dtype), np.zeros(n, dtype)
        blocks = -(-n // _PAIRS)
        mine = threading.local()

        def run(pair: tuple[int, int]) -> None:
            if not hasattr(mine, "space"):
                mine.space = np.empty(_PAIRS * _PAIRS, dtype)
            i, j = (slice(b * _PAIRS, min(n, (b + 1) * _PAIRS)) for b in pair)
            self._pair(i, j, value, summed, total, mine.space)

        with one_blas_thread():
            for round_ in [[(b, b) for b in range(blocks)], *_rounds(blocks)]:
                in_threads(run, round_, n_threads)
        summed /= total[:, None]
        return summed

    def _pair(self, i: slice, j: slice, value: Rows, summed: Floats, total: Floats, space: Floats) -> None:
        rows, columns = i.stop - i.start, j.stop - j.start
        tile = space[: rows * columns].reshape(rows, columns)
        np.matmul(self.keys[i] * self.factor, self.keys[j].T, out=tile)
        column_total = np.zeros(columns, tile.dtype)
        kernels.weigh_pairs(
            tile, self.half[i], self.half[j], self.loudness[i], self.loudness[j], total[i], column_total
        )
        summed[i] += _as(tile @ self._loud(value, j), tile.dtype)
        if i != j:
            summed[j] += _as(tile.T @ self._loud(value, i), tile.dtype)
            total[j] += column_total

    def _loud(self, value: Rows, of: slice) -> Any:
        block, loudness = value.read(of), self.loudness[of]
        return sparse.diags_array(loudness) @ block if sparse.issparse(block) else block * loudness[:, None]


def most_similar(
    query: Objects,
    key: Objects,
    k: int,
    similarity: Similarity,
    n_threads: int | None = None,
    *,
    own: bool = True,
) -> tuple[NDArray[np.int64], Floats]:
    """The k keys that are most similar to each query, the most similar first: places and similarities, (n, k) each.

    Of keys that tie, the earliest comes first.
    """
    most = key.shape[0] - (not own)
    if not 1 <= k <= most:
        raise DataError(f"`n_neighbors` must be at most the number of objects to choose from, {most}; got {k}.")
    return Tiles(query, key, similarity, linear_unit, 1.0, own=own).best(k, n_threads)


def linear_unit(v: Any) -> Any:
    """The similarity itself."""
    return v


def whole_rows(
    query: Objects, key: Objects, similarity: Similarity, of: Family, bandwidth: float, places: Any, *, own: bool = True
) -> Floats:
    """The weights of some queries on all keys: (places, m)."""
    scores = similarity.compare(query[places], key) / query.dtype.type(bandwidth)
    found: Floats = weights(scores, of) if own else with_own(weights(without_own(scores, places), of), places)
    return found


def without_own(scores: Floats, places: NDArray[np.intp]) -> Floats:
    """Scores (n, m) of objects in some places, without those of the objects themselves: (n, m - 1)."""
    keep = np.ones(scores.shape, bool)
    keep[np.arange(len(places)), places] = False
    return scores[keep].reshape(len(places), -1)


def with_own(shares: Floats, places: NDArray[np.intp]) -> Floats:
    """Weights on the others (n, m - 1) as weights on all (n, m), zero on the objects themselves."""
    found = np.zeros((len(places), shares.shape[1] + 1), shares.dtype)
    keep = np.ones(found.shape, bool)
    keep[np.arange(len(places)), places] = False
    found[keep] = shares.ravel()
    return found


def applied(shares: Floats, value: Rows) -> Floats:
    """Σₛ w[t, s] v[s] for whole rows of weights: (n, V)."""
    m = shares.shape[1]
    found = np.zeros((len(shares), value.width), shares.dtype)
    for first in range(0, m, _COLUMNS):
        found += _as(shares[:, first : first + _COLUMNS] @ value.read(slice(first, first + _COLUMNS)), shares.dtype)
    return found


def _by_whole_rows(
    query: Objects,
    key: Objects,
    value: Rows,
    similarity: Similarity,
    of: Family,
    bandwidth: float,
    own: bool,
    n_threads: int | None,
) -> Floats:
    """For an F that must see a whole row, of which there are as many at a time as fit."""
    n, m = query.shape[0], key.shape[0]
    out = np.empty((n, value.width), query.dtype)
    some = max(1, WHOLE // max(1, m))

    def run(start: int) -> None:
        places = np.arange(start, min(start + some, n))
        out[places] = applied(whole_rows(query, key, similarity, of, bandwidth, places, own=own), value)

    with one_blas_thread():
        in_threads(run, range(0, n, some), n_threads)
    return out


def objects(given: Any, name: str) -> Objects:
    """Objects as a matrix of finite float32 or float64 numbers, dense or CSR."""
    matrix = sparse.csr_array(given) if sparse.issparse(given) else np.asarray(given)
    if matrix.dtype not in _REACH:
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2:
        raise DataError(f"`{name}` must have a row for each object; got {matrix.ndim} axes.")
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        raise DataError(f"`{name}` must be finite; it has NaN or infinity: fill in or leave out what is missing.")
    return matrix


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Products on one thread each, for the threads are ours."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


def _rounds(blocks: int) -> list[list[tuple[int, int]]]:
    """Every pair of different blocks once, in rounds in which each block plays at most once."""
    players = [*range(blocks), *([-1] if blocks % 2 else [])]
    rounds = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        met = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in met if min(a, b) >= 0])
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _amounts(of: Family, tile: Floats) -> Floats:
    amounts = np.asarray(of(tile), tile.dtype)
    if not (amounts >= 0).all() or not np.isfinite(amounts).all():
        raise DataError(
            "F must be finite and not negative: weights are shares. Take another `weigh` or a larger `bandwidth`."
        )
    return amounts


def _as(found: Any, dtype: np.dtype[Any]) -> Floats:
    return dense(found).astype(dtype, copy=False)


def dense(found: Any) -> Floats:
    """What may be sparse, as an array."""
    return np.asarray(found.toarray() if sparse.issparse(found) else found)


def _mean(value: Rows, count: int) -> NDArray[np.float64]:
    summed = np.zeros(value.width)
    for first in range(0, count, _COLUMNS):
        summed += np.asarray(value.read(slice(first, first + _COLUMNS)).sum(axis=0)).ravel()
    return summed / count


def _of_tensors(
    query: Any,
    key: Any,
    value: Any,
    similarity: Similarity,
    weigh: str | Family,
    bandwidth: float,
    n_neighbors: int,
) -> Any:
    """By ``regard.nn``, so that gradients flow, on whatever device."""
    import torch

    from regard.nn.similarity import average_similar

    score = similarity.score(1.0 / bandwidth, query.shape[1])
    if weigh != TOP_K:
        of = family(weigh)
        how: Any = "softmax" if of is exp else lambda scores, mask: weights(scores, of)  # noqa: ARG005
        return average_similar(query, value, among=key, score=score, weigh=how)
    key = query if key is None else key
    value = key if value is None else value
    with torch.no_grad():
        places = [
            torch.sort(score(query[start : start + _ROWS], key), descending=True, stable=True)[1][:, :n_neighbors]
            for start in range(0, len(query), _ROWS)
        ]
    return value[torch.cat(places)].mean(1)
