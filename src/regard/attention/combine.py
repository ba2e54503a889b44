"""What is read, in NumPy, each step beside its gradient; and what the next step remembers.

The readable reference of ``regard.nn.combine`` and ``regard.nn.state``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def average(weights: Floats, value: Floats) -> Floats:
    """c[t] = Σₛ w[t, s] v[s]."""
    return weights @ value


def average_backward(d_context: Floats, weights: Floats, value: Floats) -> tuple[Floats, Floats]:
    """∂L/∂w[t, s] = ∂L/∂c[t] · v[s],   ∂L/∂v[s] = Σₜ w[t, s] ∂L/∂c[t]."""
    return d_context @ value.T, weights.T @ d_context


def softmax_backward(d_weights: Floats, weights: Floats) -> Floats:
    """∂L/∂x[t, s] = w[t, s] (∂L/∂w[t, s] - Σⱼ w[t, j] ∂L/∂w[t, j])."""
    d_scores: Floats = weights * (d_weights - (weights * d_weights).sum(-1, keepdims=True))
    return d_scores


def sparsemax_backward(d_weights: Floats, weights: Floats) -> Floats:
    """On the support of each row, ∂L/∂w less its mean there; zero elsewhere."""
    support = weights > 0
    count = np.maximum(support.sum(-1, keepdims=True), 1)
    d_scores: Floats = support * (d_weights - (support * d_weights).sum(-1, keepdims=True) / count)
    return d_scores


def gated(weights: Floats, value: Floats) -> Floats:
    """x'[s] = w[s] v[s]."""
    return weights[:, None] * value


def attentional(context: Floats, query: Floats, matrix: Floats) -> Floats:
    """h̃[t] = tanh(W [c[t]; h[t]])."""
    return np.tanh(np.concatenate([context, query], -1) @ matrix.T)


def uniform(mask: Bools) -> Floats:
    """The weights before the first step: equal over the positions that may be attended to."""
    weights: Floats = mask / max(1, mask.sum())
    return weights


def location_features(weights: Floats, filters: Floats) -> Floats:
    """f[s, r] = Σₒ F[r, o] a[s + o - middle], with zeros beyond the ends: (S, rows of F)."""
    middle = filters.shape[1] // 2
    padded = np.pad(weights, middle)
    return np.stack([filters @ padded[s : s + filters.shape[1]] for s in range(len(weights))])
