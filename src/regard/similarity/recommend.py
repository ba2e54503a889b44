"""What a person will like: what similar persons like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.models.settings import whole
from regard.similarity.estimators import SimilarityRegressor


def recommend(model: SimilarityRegressor, person: Any, known: Any = None, n: int = 5) -> NDArray[np.intp]:
    """The items that persons similar to this one like most, the best first.

        liking[item] = Σ_other w[person, other] likes[other, item]

    Parameters
    ----------
    model
        Fitted with persons (m, features) and their likes (m, items). Persons may be described by anything, also by
        what they like themselves.
    person : (persons, features)
        For whom.
    known : (persons, items), optional
        Not zero where a person knows an item already, which is then not recommended.
    n : int
        How many items.

    Returns
    -------
    items : (persons, n)
        Their places; of items that are liked alike, the earliest first.

    Examples
    --------
    >>> model = SimilarityRegressor(bandwidth=10.0)
    >>> model = model.fit([[179, 70, 25], [180, 70, 26], [185, 80, 54]], [[1, 1, 0], [1, 0, 0], [0, 0, 1]])
    >>> recommend(model, [[180, 70, 26]], known=[[1, 0, 0]], n=1).tolist()
    [[1]]
    """
    whole(n, "n", at_least=1)
    liking = model.predict(person)
    if liking.ndim == 1:
        raise DataError("The model must foretell likes of several items; fit it with likes (persons, items).")
    if known is not None:
        known = np.asarray(known)
        if known.shape != liking.shape:
            raise DataError(f"`known` must say for each person and item, {liking.shape}; got shape {known.shape}.")
        liking = np.where(known != 0, -np.inf, liking)
        least = int(np.isfinite(liking).sum(axis=1).min())
        if n > least:
            raise DataError(f"`n` must be at most the number of items that a person does not know, {least}; got {n}.")
    if n > liking.shape[1]:
        raise DataError(f"`n` must be at most the number of items, {liking.shape[1]}; got {n}.")
    return np.argsort(-liking, axis=1, kind="stable")[:, :n]
