"""What moves the two scores of a word during training: the terms of the gradient flow (Sun and Lu 2020).

With the weights ``α``, the score ``s`` of a text and ``g = onehot(label) − probabilities``, which for two classes is
``y β``, sums over the occurrences of a word ``e`` and over all occurrences are

    π(e) = Σ_e α g        ρ(e) = Σ_e α g·(s_e − s)        P(h) = Σ α_j g h_j        R(h) = Σ α_j g·(s_j − s) h_j

A sum over all occurrences of something that depends on the word alone is a sum over words weighted by ``π`` or ``ρ``:
``P = Σ_words π(e) h_e``. So one pass over the tokens gives both, and everything else is a few products with the
embeddings: O(tokens + words · d).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, SettingError
from regard.explain.entries import (
    Floats,
    entry_weights,
    inner_model,
    known_rows,
    label_codes,
    some_texts,
    summed,
)
from regard.explain.words import by_class
from regard.models.table import probabilities
from regard.models.vectors import Vectors
from regard.tokens import Rows

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Terms:
    """The speed of every word's two scores under gradient flow, and what it is made of.

    Attributes
    ----------
    polarity : dict of str to (rows, sides)
        A, B, C, whose sum is d polarity / dτ; with an affine encoder also ``A (M)`` and ``B (M)``, which come of the
        matrix's own movement.
    attention : dict of str to (rows,)
        D, E, F, whose sum is d attention / dτ; with an affine encoder also ``D (M)`` and ``E (M)``, with the
        additive score also ``F (M)``.
    exact_polarity : (rows, sides)
        d polarity / dτ of the model itself. With the additive score the terms are those of the model without its tanh
        (first order, as in the paper), and this differs from their sum; otherwise it is their sum.
    exact_attention : (rows,)
        d attention / dτ of the model itself.
    pi : (rows, sides)
        Σ α g over the occurrences of the word: how its texts pull at their score.
    rho : (rows,)
        Σ α g·(s_e − s): how far it stands on the right side of its texts.
    beta : float
        The mean probability of a wrong label: near 0 at the end of training.
    """

    polarity: dict[str, Floats]
    attention: dict[str, Floats]
    exact_polarity: Floats
    exact_attention: Floats
    pi: Floats
    rho: Floats
    beta: float

    @property
    def polarity_change(self) -> Floats:
        """The sum of the terms of the polarity: (rows, sides)."""
        return _sum(self.polarity)

    @property
    def attention_change(self) -> Floats:
        """The sum of the terms of the attention: (rows,)."""
        return _sum(self.attention)


def gradient_terms(model: Any, texts: Any, labels: Any, n_threads: int | None = None) -> pl.DataFrame:
    """What moves the two scores of every word and phrase, on these texts.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it; one that reads words among their neighbours gives a
        ``SettingError``, for no word has a score of its own there.
    texts, labels
        The training texts and their labels.
    n_threads
        All cores, if None.

    Returns
    -------
    frame
        word, kind, the terms of ``Terms.polarity`` (with more than two classes one column for each: ``A NAME``),
        ``polarity change``, the terms of ``Terms.attention``, ``attention change``; with the additive score also
        ``exact polarity change`` and ``exact attention change``. One row for each of the model's.
    """
    import polars as pl

    inner = inner_model(model)
    check_terms(inner.vectors)
    found = some_texts(texts)
    codes = label_codes(labels, len(found), inner.classes)
    table = inner.word_table
    rows = table.vocabulary.rows(table.vocabulary.tokens(found, n_threads), n_threads)
    terms = row_terms(inner.vectors, rows, codes, inner.bias)
    return pl.DataFrame(
        {"word": table.vocabulary.names(), "kind": table.kinds(), **term_columns(terms, inner.vectors, inner.classes)}
    )


def term_columns(terms: Terms, vectors: Vectors, classes: NDArray[Any]) -> dict[str, Floats]:
    """The terms as the columns of a frame."""
    columns: dict[str, Floats] = {}
    for name, polarity in (*terms.polarity.items(), ("polarity change", terms.polarity_change)):
        columns |= by_class(name, polarity, classes)
    columns |= terms.attention | {"attention change": terms.attention_change}
    if vectors.additive is not None:
        columns |= by_class("exact polarity change", terms.exact_polarity, classes)
        columns["exact attention change"] = terms.exact_attention
    return columns


def check_terms(vectors: Vectors) -> None:
    """Whether the formulas of the paper cover the model: a ``SettingError`` where they do not."""
    if vectors.contextual:
        raise SettingError(
            f"Gradient terms need words that speak the same in every text; the encoder {vectors.encoder!r} reads them "
            "among their neighbours: use no encoder or an affine one, or `word_scores` for what is seen in context."
        )
    if vectors.affine is not None and vectors.additive is not None:
        raise SettingError(
            "Gradient terms are known for an affine encoder and for the additive score, not for both at once: use the "
            "score 'dot' or no encoder."
        )


def vector_terms(
    vectors: Vectors,
    ids: NDArray[np.integer[Any]],
    starts: NDArray[np.integer[Any]],
    codes: NDArray[np.integer[Any]],
    bias: NDArray[np.floating[Any]] | None = None,
) -> Terms:
    """The same from numbered tokens, for a training loop that calls it once an epoch.

    Parameters
    ----------
    vectors
        The model.
    ids : (tokens,)
        The row of each token; below zero where it is unknown.
    starts : (texts + 1,)
        Where each text starts.
    codes : (texts,)
        The label of each text as a place among the classes.
    bias : (sides,), optional
        What is added to the score of every text; zero, if not given.
    """
    check_terms(vectors)
    if len(codes) != len(starts) - 1:
        raise DataError(f"Expected a label for each of the {len(starts) - 1} texts; got {len(codes)}.")
    return row_terms(vectors, known_rows(ids, starts), codes, bias)


def row_terms(
    vectors: Vectors,
    rows: Rows,
    codes: NDArray[np.integer[Any]],
    bias: NDArray[np.floating[Any]] | None = None,
) -> Terms:
    """The same from the distinct rows of each text and their counts."""
    e = vectors.embedding.astype(np.float64)
    v = vectors.attention.astype(np.float64)
    w = vectors.output.astype(np.float64)
    zero = np.zeros(w.shape[1]) if bias is None else bias.astype(np.float64)
    if vectors.additive is not None:
        return _additive(e, v, w, vectors.additive.astype(np.float64), vectors.scale, rows, codes, zero)
    affine = None if vectors.affine is None else vectors.affine.astype(np.float64)
    return _dot(e, v, w, affine, vectors.scale, rows, codes, zero)


def _sum(terms: dict[str, Floats]) -> Floats:
    total: Floats = np.sum(list(terms.values()), axis=0)
    return total


@dataclass(frozen=True)
class _Pulls:
    """What one pass over the tokens gives: ``π``, ``ρ`` and the mean ``β``."""

    pi: Floats
    rho: Floats
    beta: float


def _pulls(attention: Floats, polarity: Floats, rows: Rows, codes: NDArray[np.integer[Any]], bias: Floats) -> _Pulls:
    texts, size = len(rows.starts) - 1, len(attention)
    documents, weights = entry_weights(rows, attention)
    score = summed(documents, weights[:, None] * polarity[rows.ids], texts)
    chances = probabilities(score + bias)
    everyone = np.arange(texts)
    if polarity.shape[1] == 1:
        beta = chances[everyone, 1 - codes]
        g = (np.where(codes == 1, beta, -beta))[:, None]
    else:
        g = -chances
        g[everyone, codes] += 1
        beta = 1 - chances[everyone, codes]
    pull = weights[:, None] * g[documents]
    apart = polarity[rows.ids] - score[documents]
    return _Pulls(
        summed(rows.ids, pull, size),
        summed(rows.ids, (pull * apart).sum(axis=1)[:, None], size)[:, 0],
        float(beta.mean()),
    )


def _dot(
    e: Floats,
    v: Floats,
    w: Floats,
    affine: Floats | None,
    scale: float,
    rows: Rows,
    codes: NDArray[np.integer[Any]],
    bias: Floats,
) -> Terms:
    """``a = h·V/λ`` with ``h = e`` (DP) or ``h = M e`` (DP-A)."""
    m = len(rows.starts) - 1
    h = e if affine is None else e @ affine.T
    pulls = _pulls(h @ v / scale, h @ w, rows, codes, bias)
    pi, rho = pulls.pi, pulls.rho
    # V and W as the embedding meets them.
    near_v, near_w = (v, w) if affine is None else (affine.T @ v, affine.T @ w)
    polarity = {
        "A": np.outer(rho, near_w.T @ near_v) / (m * scale),
        "B": pi @ (near_w.T @ near_w) / m,
        "C": h @ (h.T @ pi) / m,
    }
    attention = {
        "D": pi @ (near_w.T @ near_v) / (m * scale),
        "E": rho * (near_v @ near_v) / (m * scale**2),
        "F": h @ (h.T @ rho) / (m * scale**2),
    }
    if affine is not None:
        all_pi, all_rho = e @ (e.T @ pi), e @ (e.T @ rho)
        polarity["A (M)"] = np.outer(all_rho, w.T @ v) / (m * scale)
        polarity["B (M)"] = all_pi @ (w.T @ w) / m
        attention["D (M)"] = all_pi @ (w.T @ v) / (m * scale)
        attention["E (M)"] = all_rho * (v @ v) / (m * scale**2)
    return Terms(polarity, attention, _sum(polarity), _sum(attention), pi, rho, pulls.beta)


def _additive(
    e: Floats,
    v: Floats,
    w: Floats,
    matrix: Floats,
    scale: float,
    rows: Rows,
    codes: NDArray[np.integer[Any]],
    bias: Floats,
) -> Terms:
    """``a = V·tanh(M e)/λ`` (AD): the terms of ``a = V·M e/λ``, and the exact speeds beside them."""
    m = len(rows.starts) - 1
    x = e @ matrix.T
    near_v = matrix.T @ v

    plain = _pulls(x @ v / scale, e @ w, rows, codes, bias)
    polarity = {
        "A": np.outer(plain.rho, w.T @ near_v) / (m * scale),
        "B": plain.pi @ (w.T @ w) / m,
        "C": e @ (e.T @ plain.pi) / m,
    }
    attention = {
        "D": plain.pi @ (w.T @ near_v) / (m * scale),
        "E": plain.rho * (near_v @ near_v) / (m * scale**2),
        "F": x @ (x.T @ plain.rho) / (m * scale**2),
        "F (M)": e @ (e.T @ plain.rho) * (v @ v) / (m * scale**2),
    }

    u = np.tanh(x)
    exact = _pulls(u @ v / scale, e @ w, rows, codes, bias)
    open_v = (1 - u**2) * v  # V behind the slope of tanh at each word
    slope = open_v @ matrix  # λ ∂a_e/∂e
    pull = (exact.rho / scale)[:, None] * slope + exact.pi @ w.T  # −m ∂loss/∂e
    s_change = (pull @ w + e @ (e.T @ exact.pi)) / m
    by_e = (slope * pull).sum(axis=1) / (m * scale)
    by_v = u @ (u.T @ exact.rho)
    by_matrix = (open_v @ ((exact.rho[:, None] * open_v).T @ e) * e).sum(axis=1)
    a_change = by_e + (by_v + by_matrix) / (m * scale**2)
    return Terms(polarity, attention, s_change, a_change, exact.pi, exact.rho, exact.beta)
