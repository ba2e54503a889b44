"""The table classifier for whoever has counts already: any non-negative matrix of documents and features."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from regard.attention.scoring import score
from regard.errors import DataError
from regard.models.progress import progress_bar
from regard.models.settings import checked
from regard.models.table import loudness, probabilities
from regard.models.training import fit_table
from regard.tokens import Rows


class TableClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Attention over the features of a matrix, most often counts; two numbers a feature.

        weight[d, j] ∝ X[d, j] exp(attention[j]),   score[d] = bias + Σⱼ weight[d, j] polarity[j]

    The features of a document are its non-zero columns, and ``X[d, j]`` says how many equal features column ``j``
    stands for. Where the training matrix has negative values, each column becomes two features, one for what is above
    zero and one for what is below. ``AttentionClassifier`` does the same from texts.

    Parameters
    ----------
    scale, epochs, dropout, learning_rate, validation_fraction, class_weight, random_state, n_threads, verbose
        As in ``AttentionClassifier``.

    Attributes
    ----------
    attention_ : (features,)
        How loudly a feature speaks. With negative values in training, the second half is for what is below zero.
    polarity_ : (features,) or (features, classes)
        Which side it takes; one number for two classes.
    bias_ : float or (classes,)
        The score of an empty document.
    classes_ : (classes,)
        The labels.
    n_iter_ : int
        Epochs.

    Examples
    --------
    >>> X = [[3, 0, 1], [2, 0, 1], [0, 2, 1], [0, 1, 1]]
    >>> TableClassifier().fit(X, ["a", "a", "b", "b"]).predict([[1, 0, 0], [0, 1, 0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        *,
        scale: float = 10.0,
        epochs: int | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        learning_rate: float = 1.0,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.scale = scale
        self.epochs = epochs
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn two numbers for each column.

        Parameters
        ----------
        X : (documents, features)
            Counts or other numbers, sparse or dense.
        y : (documents,)
            Labels of at least two classes.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"Training needs two classes or more; got one class, {self.classes_[0]!r}.")
        settings = checked(self, self.classes_, codes)
        with progress_bar(self.verbose) as report:
            rows, features = self._features(X, fitting=True)
            fitted = fit_table(rows, features, codes, len(self.classes_), settings, report)
        self.attention_ = fitted.attention
        self.polarity_ = fitted.polarity[:, 0] if len(self.classes_) == 2 else fitted.polarity
        self.bias_ = float(fitted.bias[0]) if len(self.classes_) == 2 else fitted.bias
        self.n_iter_ = fitted.epochs
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each document: (documents,) for two classes, otherwise (documents, classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        rows, features = self._features(X)
        polarity = self.polarity_.reshape(features, -1)
        scores = score(
            rows, self.attention_, loudness(self.attention_), polarity, np.atleast_1d(self.bias_), self.n_threads
        )
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class: (documents, classes)."""
        scores = self.decision_function(X)
        return probabilities(scores[:, None] if scores.ndim == 1 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each document."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)])

    def _features(self, X: Any, fitting: bool = False) -> tuple[Rows, int]:
        """The matrix as ragged rows, which is what CSR is, and the number of features."""
        X = sparse.csr_matrix(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        below = X.data < 0
        if fitting:
            self.signed_ = bool(below.any())
        if self.signed_:
            X.indices = X.indices + X.shape[1] * below
            X.data = np.abs(X.data)
        elif below.any():
            raise DataError(
                f"Values must be zero or more, as in training; the smallest is {X.data.min():g}: train with such "
                "values or leave them out."
            )
        rows = Rows(X.indices.astype(np.int32), X.data.astype(np.float32), X.indptr.astype(np.int64))
        return rows, X.shape[1] * (2 if self.signed_ else 1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
