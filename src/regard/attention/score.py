"""Scores in NumPy: how well each query matches each key, for T queries (T, Q) and S keys (S, K).

The readable reference of ``regard.nn.score``, which is tested against it; it is tested against plain loops.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dot(query: Floats, key: Floats, scale: float = 1.0) -> Floats:
    """x[t, s] = scale · q[t]·k[s]."""
    return scale * query @ key.T


def scaled_dot(query: Floats, key: Floats) -> Floats:
    """x[t, s] = q[t]·k[s] / √d."""
    return dot(query, key, 1 / np.sqrt(query.shape[-1]))


def general(query: Floats, key: Floats, matrix: Floats) -> Floats:
    """x[t, s] = q[t]' W k[s]."""
    return query @ matrix @ key.T


def biaffine(query: Floats, key: Floats, matrix: Floats, u: Floats, w: Floats, b: float) -> Floats:
    """x[t, s] = q[t]' W k[s] + u·q[t] + w·k[s] + b."""
    return general(query, key, matrix) + (query @ u)[:, None] + key @ w + b


def additive(query: Floats, key: Floats, v: Floats) -> Floats:
    """x[t, s] = v' tanh(q[t] + k[s]), of projected queries and keys."""
    scores: Floats = np.tanh(query[:, None] + key[None]) @ v
    return scores


def cosine(query: Floats, key: Floats, scale: float = 1.0) -> Floats:
    """x[t, s] = scale · q[t]·k[s] / |q[t]||k[s]|; zero where either is the zero vector."""
    lengths = np.outer(np.linalg.norm(query, axis=1), np.linalg.norm(key, axis=1))
    return scale * np.divide(query @ key.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def location(query: Floats, key: Floats, matrix: Floats) -> Floats:
    """x[t, j] = (W q[t])[j], for the positions that there are."""
    return (query @ matrix.T)[:, : len(key)]


def distance(query: Floats, key: Floats, p: float = 2.0, scale: float = 1.0) -> Floats:
    """x[t, s] = -scale · |q[t] - k[s]|_p."""
    distances: Floats = np.linalg.norm(query[:, None] - key[None], ord=p, axis=-1)
    return -scale * distances


def squared_distance(query: Floats, key: Floats, scale: float = 1.0) -> Floats:
    """x[t, s] = -scale · |q[t] - k[s]|²."""
    return -scale * distance(query, key) ** 2


def kernel(scores: Floats, of: Callable[[Floats], Floats]) -> Floats:
    """x[t, s] = F(x'[t, s]) of another score x', for any increasing F."""
    return of(scores)
