"""The hardmax dynamics, one layer a formula: the readable twin of ``kernels.py``, which is tested against it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chosen(points: Floats, A: Floats | None = None, tolerance: float = 1e-12) -> NDArray[np.bool_]:
    """Whom each point likes best.

        C[i] = {j : <A x[i], x[j]> is largest}

    Parameters
    ----------
    points : (n, d)
    A : (d, d), optional
        Symmetric and positive definite; the identity, if not given.
    tolerance
        Products tie that differ by at most this times the largest numbers of ``A x[i]`` and of all points; and all do
        where ``A x[i]`` is zero but for this times the largest numbers of ``A`` and of all points.

    Returns
    -------
    chosen : (n, n)
        Row ``i`` says who is in ``C[i]``.
    """
    u = points if A is None else points @ A
    products = np.einsum("ik,jk->ij", u, points)
    top = np.abs(points).max(initial=0.0)
    big = np.abs(u).max(axis=1, initial=0.0)
    zero = big <= tolerance * top * (1.0 if A is None else np.abs(A).max())
    slack = np.where(zero, np.inf, tolerance * big * top)
    return np.asarray(products >= (products.max(axis=1, initial=-np.inf) - slack)[:, None])


def step(points: Floats, choice: NDArray[np.bool_], alpha: float, multiplicity: Floats | None = None) -> Floats:
    """One layer.

        x[i] ← x[i] + α / (1 + α) · (mean of x over C[i] - x[i])

    Parameters
    ----------
    points : (n, d)
    choice : (n, n)
        What ``chosen`` returned.
    alpha
        The step, positive.
    multiplicity : (n,), optional
        How many equal points one stands for; one, if not given.
    """
    weights: NDArray[Any] = choice * (np.ones(len(points)) if multiplicity is None else multiplicity)
    mean = weights @ points / weights.sum(axis=1, keepdims=True)
    return np.asarray(points + alpha / (1 + alpha) * (mean - points))
