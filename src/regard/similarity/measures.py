"""What "similar" means: one number for each pair of objects, the larger the more alike."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from regard.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    from regard.nn.score import Score

# Numbers of one precision, float32 or float64; objects may also be a CSR matrix.
Floats = NDArray[np.floating]
Objects = Any


class Similarity(ABC):
    """How alike n queries (n, d) and m keys (m, d) are: (n, m)."""

    @abstractmethod
    def compare(self, query: Objects, key: Objects) -> Floats:
        """The similarity of every pair, for arrays that are small enough to hold all pairs."""

    @abstractmethod
    def score(self, scale: float, dim: int) -> Score:
        """``scale`` times the same, as a score of ``regard.nn`` for tensors of ``dim`` features."""

    def metric(self) -> dict[str, Any] | None:
        """What scikit-learn's neighbour search calls it, where it knows it."""
        return None


class DotFamily(Similarity):
    """Similarities that are dot products of something, and a bias for each key.

        similarity[t, s] = query'[t]·key'[s] + bias[s] + own[t]

    Softmax does not see what belongs to the query alone.
    """

    def middle(self, key: Objects) -> Floats | None:  # noqa: ARG002
        """What both sides are measured from, (d,); nothing for most."""
        return None

    @abstractmethod
    def queries(self, query: Objects, middle: Floats | None) -> Objects:
        """The query's side of the product: (n, d)."""

    def keys(self, key: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002
        """The key's side of the product: (m, d)."""
        return key

    def bias(self, keys: Objects) -> Floats | None:  # noqa: ARG002
        """What a key has by itself, from its side of the product: (m,)."""
        return None

    def own(self, query: Objects, middle: Floats | None) -> Floats | None:  # noqa: ARG002
        """What a query has by itself: (n,)."""
        return None

    def mutual(self, dim: int) -> float | None:  # noqa: ARG002
        """The factor c where query' = c key' for the same object of ``dim`` features: pairs are alike both ways."""
        return None

    def compare(self, query: Objects, key: Objects) -> Floats:
        """As one matrix product."""
        middle = self.middle(key)
        keys = self.keys(key, middle)
        found = products(self.queries(query, middle), keys)
        if (bias := self.bias(keys)) is not None:
            found += bias
        if (own := self.own(query, middle)) is not None:
            found += own[:, None]
        return found


@dataclass(frozen=True)
class Dot(DotFamily):
    """similarity = x·z."""

    def queries(self, query: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002, D102
        return query

    def mutual(self, dim: int) -> float | None:  # noqa: ARG002, D102
        return 1.0

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        from regard.nn.score import Dot

        return Dot(scale=scale)


@dataclass(frozen=True)
class ScaledDot(DotFamily):
    """similarity = x·z / √d."""

    def queries(self, query: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002, D102
        return query / query.dtype.type(math.sqrt(query.shape[1]))

    def mutual(self, dim: int) -> float | None:  # noqa: D102
        return 1 / math.sqrt(dim)

    def score(self, scale: float, dim: int) -> Score:  # noqa: D102
        from regard.nn.score import ScaledDot

        return ScaledDot(divisor=math.sqrt(dim) / scale)


@dataclass(frozen=True)
class Cosine(DotFamily):
    """similarity = x·z / |x||z|; zero where either is the zero vector."""

    def queries(self, query: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002, D102
        return unit(query)

    def keys(self, key: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002, D102
        return unit(key)

    def mutual(self, dim: int) -> float | None:  # noqa: ARG002, D102
        return 1.0

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        from regard.nn.score import Cosine

        return Cosine(scale=scale)

    def metric(self) -> dict[str, Any] | None:  # noqa: D102
        return {"metric": "cosine"}


@dataclass(frozen=True)
class SquaredEuclidean(DotFamily):
    """similarity = -|x - z|² = 2 x·z - |z|² - |x|²: a dot product with a bias for each key.

    Distances do not move with the middle of the keys, but without it the digits of objects far from zero would go into
    |z|². Sparse objects stay where they are, for they would not stay sparse.
    """

    def middle(self, key: Objects) -> Floats | None:  # noqa: D102
        return None if sparse.issparse(key) else key.mean(axis=0, dtype=np.float64).astype(key.dtype)

    def queries(self, query: Objects, middle: Floats | None) -> Objects:  # noqa: D102
        return 2 * self.keys(query, middle)

    def keys(self, key: Objects, middle: Floats | None) -> Objects:  # noqa: D102
        if middle is None:
            return key
        return (key.toarray() if sparse.issparse(key) else key) - middle

    def bias(self, keys: Objects) -> Floats | None:  # noqa: D102
        return -squares(keys)

    def own(self, query: Objects, middle: Floats | None) -> Floats | None:  # noqa: D102
        return -squares(self.keys(query, middle))

    def mutual(self, dim: int) -> float | None:  # noqa: ARG002, D102
        return 2.0

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        from regard.nn.score import SquaredDistance

        return SquaredDistance(scale=scale)

    def metric(self) -> dict[str, Any] | None:  # noqa: D102
        return {"metric": "euclidean"}


@dataclass(frozen=True, eq=False)
class General(DotFamily):
    """similarity = x' W z, for a matrix that is given or learned elsewhere.

    Parameters
    ----------
    matrix : (d, d)
        W.
    """

    matrix: Any

    def queries(self, query: Objects, middle: Floats | None) -> Objects:  # noqa: ARG002, D102
        matrix = np.asarray(self.matrix, dtype=query.dtype)
        if matrix.ndim != 2 or matrix.shape[0] != query.shape[1]:
            raise DataError(f"`matrix` must have {query.shape[1]} rows, one a feature; got shape {matrix.shape}.")
        return query @ matrix

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        import torch

        from regard.nn.score import Custom

        return Custom(lambda query, key: scale * query @ torch.as_tensor(self.matrix).to(query) @ key.mT)


@dataclass(frozen=True)
class Minkowski(Similarity):
    """similarity = -|x - z|_p, for p >= 1; p = inf is the largest difference.

    Parameters
    ----------
    p : float
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.p >= 1:
            raise SettingError(f"`p` must be at least 1 for |x|_p to be a norm; got {self.p}.")

    def compare(self, query: Objects, key: Objects) -> Floats:
        """By differences: without the detour over dot products, which loses digits where objects are close."""
        query, key = (x.toarray() if sparse.issparse(x) else x for x in (query, key))
        options = {"metric": "chebyshev"} if math.isinf(self.p) else {"metric": "minkowski", "p": self.p}
        found: Floats = -cdist(query, key, **options).astype(query.dtype, copy=False)
        return found

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        from regard.nn.score import Distance

        return Distance(p=self.p, scale=scale)

    def metric(self) -> dict[str, Any] | None:  # noqa: D102
        return {"metric": "chebyshev"} if math.isinf(self.p) else {"metric": "minkowski", "p": self.p}


@dataclass(frozen=True)
class Custom(Similarity):
    """A function of the user's, from queries (n, d) and keys (m, d) to similarities (n, m).

    It is called on blocks of both, with tensors if it is given tensors.
    """

    function: Callable[[Any, Any], Any]

    def compare(self, query: Objects, key: Objects) -> Floats:  # noqa: D102
        found = np.asarray(self.function(query, key), dtype=query.dtype)
        if found.shape != (query.shape[0], key.shape[0]):
            raise DataError(
                f"A similarity must return a number for each pair, ({query.shape[0]}, {key.shape[0]}); "
                f"got shape {found.shape}."
            )
        return found

    def score(self, scale: float, dim: int) -> Score:  # noqa: ARG002, D102
        from regard.nn.score import Custom

        return Custom(lambda query, key: scale * self.function(query, key))


SIMILARITIES: dict[str, Callable[[], Similarity]] = {
    "squared_euclidean": SquaredEuclidean,
    "euclidean": Minkowski,
    "manhattan": lambda: Minkowski(1),
    "chebyshev": lambda: Minkowski(math.inf),
    "cosine": Cosine,
    "dot": Dot,
    "scaled_dot": ScaledDot,
}


def resolve(similarity: str | Similarity | Callable[[Any, Any], Any]) -> Similarity:
    """A similarity by its name; a similarity itself; a function of the user's."""
    if isinstance(similarity, Similarity):
        return similarity
    if isinstance(similarity, str):
        if similarity not in SIMILARITIES:
            raise SettingError(
                f"Unknown similarity {similarity!r}.{nearest(similarity, SIMILARITIES)} Known by name: "
                f"{', '.join(SIMILARITIES)}; `Minkowski(p)`, `General(matrix)` and functions have none."
            )
        return SIMILARITIES[similarity]()
    if callable(similarity):
        return Custom(similarity)
    raise SettingError(f"`similarity` must be a name, a Similarity or a function; got {similarity!r}.")


def products(query: Objects, key: Objects) -> Floats:
    """All dot products as a dense array, of arrays or sparse matrices."""
    found = query @ key.T
    return np.asarray(found.toarray() if sparse.issparse(found) else found)


def squares(objects: Objects) -> Floats:
    """|x|² of each object."""
    return np.asarray(row_norms(objects, squared=True))


def unit(objects: Objects) -> Objects:
    """Objects of length one; the zero vector stays."""
    lengths = row_norms(objects)
    shrink = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.diags_array(shrink).tocsr() @ objects if sparse.issparse(objects) else objects * shrink[:, None]
