"""Attention by similarity as scikit-learn's estimators: smoothing, classification, regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from regard.errors import SettingError
from regard.models.settings import number, one_of, whole
from regard.similarity.averages import (
    WHOLE,
    Rows,
    Tiles,
    averages,
    mean_of,
    most_similar,
    one_hot,
    rows_of,
    whole_rows,
)
from regard.similarity.bandwidth import leave_one_out
from regard.similarity.families import TOP_K, Family, exp, family, rank
from regard.similarity.measures import Floats, Objects, Similarity, resolve

SEARCHES = ("auto", "tiles", "brute", "kd_tree", "ball_tree")


@dataclass(frozen=True)
class Speakers:
    """Which objects spoke for each query, and how loudly.

    Attributes
    ----------
    indices : (n, k)
        Places in the reference, the loudest first.
    weights : (n, k)
        Their shares of all attention, which sums to one over the whole reference.
    similarities : (n, k)
    """

    indices: NDArray[np.int64]
    weights: Floats
    similarities: Floats


class _Attending(BaseEstimator):  # type: ignore[misc]
    """What has a reference set, and looks at it by similarity."""

    def __init__(
        self,
        *,
        similarity: str | Similarity | Callable[[Any, Any], Any] = "squared_euclidean",
        weigh: str | Family = "exp",
        bandwidth: float | Literal["auto"] = "auto",
        n_neighbors: int = 5,
        search: str = "auto",
        n_threads: int | None = None,
    ) -> None:
        self.similarity = similarity
        self.weigh = weigh
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.search = search
        self.n_threads = n_threads

    def speakers(self, X: Any, n_speakers: int = 5) -> Speakers:
        """The objects of the reference that speak loudest for each of these.

        Parameters
        ----------
        X : (n, features)
        n_speakers : int
            How many; with ``weigh="top_k"`` at most ``n_neighbors``, for nobody else has a weight.
        """
        check_is_fitted(self)
        whole(n_speakers, "n_speakers", at_least=1)
        query = self._queries(X)
        count = min(n_speakers, self.reference_.shape[0])
        if self.weigh == TOP_K:
            indices, similarities = self._nearest(query)
            shares = np.full(indices.shape, 1 / indices.shape[1], query.dtype)
            return Speakers(indices[:, :count], shares[:, :count], similarities[:, :count])
        similarity, of = resolve(self.similarity), family(self.weigh)
        indices, similarities = most_similar(query, self.reference_, count, similarity, self.n_threads)
        scaled = similarities / query.dtype.type(self.bandwidth_)
        if of is rank:
            return Speakers(indices, self._whole_weights(query, indices, similarity, of), similarities)
        sums = Tiles(query, self.reference_, similarity, of, self.bandwidth_).weighed(self.n_threads)
        if of is exp:
            shares = np.exp2(scaled * query.dtype.type(np.log2(np.e)) - sums.peak[:, None]) / sums.total[:, None]
        else:
            none = (sums.total == 0)[:, None]
            shares = (of(scaled) + none) / np.where(none, self.reference_.shape[0], sums.total[:, None])
        return Speakers(indices, shares, similarities)

    def _whole_weights(self, query: Objects, indices: Any, similarity: Similarity, of: Family) -> Floats:
        some = max(1, WHOLE // self.reference_.shape[0])
        shares = [
            np.take_along_axis(
                whole_rows(query, self.reference_, similarity, of, self.bandwidth_, slice(start, start + some)),
                indices[start : start + some],
                axis=1,
            )
            for start in range(0, query.shape[0], some)
        ]
        return np.concatenate(shares)

    def _queries(self, X: Any) -> Objects:
        query = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return query if query.dtype == self.reference_.dtype else query.astype(self.reference_.dtype)

    def _checked(self) -> tuple[Similarity, Family | None]:
        if self.weigh != TOP_K:
            family(self.weigh)
        whole(self.n_neighbors, "n_neighbors", at_least=1)
        one_of(self.search, "search", SEARCHES)
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "auto"):
            number(self.bandwidth, "bandwidth", above=0)
        if self.n_threads is not None:
            whole(self.n_threads, "n_threads", at_least=1, instead=" or None")
        similarity = resolve(self.similarity)
        if self.search not in ("auto", "tiles") and similarity.metric() is None:
            raise SettingError(
                f"`search` must be 'auto' or 'tiles' for a similarity that scikit-learn cannot search by, "
                f"{self.similarity!r}; got {self.search!r}."
            )
        return similarity, None if self.weigh == TOP_K else family(self.weigh)

    def _remember(self, X: Objects, value: Rows) -> None:
        """Keep the reference, and find the bandwidth or the index for it."""
        similarity, of = self._checked()
        self.reference_ = X
        if of is None:
            self._index(similarity)
        elif isinstance(self.bandwidth, str):
            self.bandwidth_ = leave_one_out(X, value, similarity, of)
        else:
            self.bandwidth_ = float(self.bandwidth)

    def _index(self, similarity: Similarity) -> None:
        metric = similarity.metric()
        self.index_ = None
        if self.search != "tiles" and metric is not None:
            index = NearestNeighbors(n_neighbors=self.n_neighbors, algorithm=self.search, n_jobs=self.n_threads)
            self.index_ = index.set_params(**metric).fit(self.reference_)

    def _nearest(self, query: Objects, own: bool = True) -> tuple[NDArray[np.int64], Floats]:
        if self.index_ is None:
            similarity = resolve(self.similarity)
            return most_similar(query, self.reference_, self.n_neighbors, similarity, self.n_threads, own=own)
        distances, places = self.index_.kneighbors(query if own else None)
        if self.index_.metric == "cosine":
            return places, 1 - distances
        return places, -(distances**2 if self.index_.metric == "euclidean" else distances)

    def _averages(self, query: Objects, value: Rows, own: bool = True) -> Floats:
        if self.weigh == TOP_K:
            places, _ = self._nearest(query, own)
            return mean_of(places, value, query.dtype)
        return averages(
            query,
            self.reference_,
            value,
            similarity=resolve(self.similarity),
            weigh=self.weigh,
            bandwidth=self.bandwidth_,
            own=own,
            n_threads=self.n_threads,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AttentionSmoother(OneToOneFeatureMixin, TransformerMixin, _Attending):  # type: ignore[misc]
    """Replace each object by the average of the objects similar to it: what is noise in one of them, averages out.

        y[t] = Σₛ w[t, s] z[s],   w[t, s] ∝ F(similarity(x[t], z[s]) / bandwidth)

    Parameters
    ----------
    similarity : str, Similarity or callable
        "squared_euclidean", "euclidean", "manhattan", "chebyshev", "cosine", "dot", "scaled_dot"; ``Minkowski(p)``,
        ``General(matrix)``; or a function from two blocks of objects to (n, m).
    weigh : str or callable
        F: "exp", "power", "sigmoid", "softplus", "linear", "quadratic", "rank" or a function; "top_k" for equal
        weights on the ``n_neighbors`` most similar.
    bandwidth : float or "auto"
        What similarities are divided by. "auto": where each object of the reference is best foretold by the others.
    n_neighbors : int
        For "top_k".
    search : {"auto", "tiles", "brute", "kd_tree", "ball_tree"}
        How "top_k" finds them: by scikit-learn where it knows the similarity, or by comparing with all, in tiles (of
        those that tie, the earliest in the reference).
    among : {"fitted", "batch"}
        z: what was fitted, or whatever is to be transformed: self-attention.
    own : bool
        Whether an object listens to itself in self-attention. Its own noise makes it more similar to itself than to
        anybody else; without, objects of the reference (``fit_transform``) and new ones (``transform``) are averaged
        alike, which is what a classifier behind needs where there is much noise.
    n_threads : int, optional
        All cores, unless told.

    Attributes
    ----------
    reference_ : (m, features)
        z.
    bandwidth_ : float
        Not with "top_k".

    Examples
    --------
    >>> AttentionSmoother(bandwidth=1.0).fit_transform([[0.0], [0.2], [9.0]]).round(2).ravel().tolist()
    [0.1, 0.1, 9.0]
    """

    def __init__(
        self,
        *,
        similarity: str | Similarity | Callable[[Any, Any], Any] = "squared_euclidean",
        weigh: str | Family = "exp",
        bandwidth: float | Literal["auto"] = "auto",
        n_neighbors: int = 5,
        search: str = "auto",
        among: str = "fitted",
        own: bool = True,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            similarity=similarity,
            weigh=weigh,
            bandwidth=bandwidth,
            n_neighbors=n_neighbors,
            search=search,
            n_threads=n_threads,
        )
        self.among = among
        self.own = own

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Keep the reference, and choose the bandwidth."""
        one_of(self.among, "among", ("fitted", "batch"))
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self._remember(X, rows_of(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:  # noqa: ARG002
        """Self-attention: each object becomes an average over all of them."""
        self.fit(X)
        return self._averages(self.reference_, rows_of(self.reference_), self.own)

    def transform(self, X: Any) -> Floats:
        """The averages: (n, features)."""
        check_is_fitted(self)
        query = self._queries(X)
        if self.among == "fitted":
            return self._averages(query, rows_of(self.reference_))
        return averages(
            query,
            query,
            rows_of(query),
            similarity=resolve(self.similarity),
            weigh=self.weigh,
            bandwidth=getattr(self, "bandwidth_", 1.0),
            n_neighbors=self.n_neighbors,
            own=self.own,
            n_threads=self.n_threads,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SimilarityClassifier(ClassifierMixin, _Attending):  # type: ignore[misc]
    """Classify by attention: queries are the new objects, keys the training objects, values their labels.

        P(c | x) = Σₛ w[s] [label[s] = c],   w[s] ∝ F(similarity(x, z[s]) / bandwidth)

    With ``weigh="top_k"`` it is k nearest neighbours, with "exp" a kernel classifier (Nadaraya and Watson).

    Parameters
    ----------
    similarity, weigh, bandwidth, n_neighbors, search, n_threads
        As in ``AttentionSmoother``; "auto" foretells labels.

    Attributes
    ----------
    classes_ : (classes,)
    reference_ : (m, features)
        The training objects.
    bandwidth_ : float
        Not with "top_k".

    Examples
    --------
    >>> model = SimilarityClassifier().fit([[0.0], [1.0], [5.0], [6.0]], ["low", "low", "high", "high"])
    >>> model.predict([[0.4], [5.5]]).tolist()
    ['low', 'high']
    >>> model.speakers([[5.8]], n_speakers=1).indices.tolist()
    [[3]]
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the training objects and their labels, and choose the bandwidth."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        self._remember(X, one_hot(self._codes, len(self.classes_)))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The share of attention that each class gets: (n, classes)."""
        check_is_fitted(self)
        return self._averages(self._queries(X), one_hot(self._codes, len(self.classes_)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most attention; of classes that tie, the first."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])


class SimilarityRegressor(RegressorMixin, _Attending):  # type: ignore[misc]
    """Foretell by attention: queries are the new objects, keys the training objects, values what they have.

        ŷ(x) = Σₛ w[s] y[s],   w[s] ∝ F(similarity(x, z[s]) / bandwidth)

    With ``weigh="top_k"`` it is the mean of the k nearest neighbours, with "exp" kernel regression.

    Parameters
    ----------
    similarity, weigh, bandwidth, n_neighbors, search, n_threads
        As in ``AttentionSmoother``; "auto" foretells ``y``.

    Attributes
    ----------
    reference_ : (m, features)
        The training objects.
    bandwidth_ : float
        Not with "top_k".
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the training objects and what they have, (m,) or (m, outputs), and choose the bandwidth."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        self._targets = np.asarray(y, dtype=np.float64)
        self._remember(X, rows_of(self._targets.reshape(len(y), -1)))
        return self

    def predict(self, X: Any) -> Floats:
        """The averages: (n,) or (n, outputs)."""
        check_is_fitted(self)
        found = self._averages(self._queries(X), rows_of(self._targets.reshape(len(self._targets), -1)))
        return found if self._targets.ndim > 1 else found[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
