"""Attention over ragged documents: formulas against differences, kernels against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.attention.ragged import average, average_backward, softmax, softmax_backward
from regard.attention.scoring import score
from regard.models.table import loudness
from regard.tokens import Rows


@st.composite
def ragged(draw, sides=None):
    """Scores, counts, values and starts of a few documents, empty ones among them."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    sides = sides or draw(st.sampled_from([1, 3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n = starts[-1]
    return rng.normal(0, 2, n), rng.integers(1, 4, n).astype(float), rng.normal(0, 3, (n, sides)), starts


@given(ragged())
def test_weights_sum_to_one_in_each_document_that_has_entries(batch):
    scores, counts, _, starts = batch
    weights = softmax(scores, starts, counts)

    for a, b in zip(starts[:-1], starts[1:], strict=True):
        assert weights[a:b].sum() == pytest.approx(1.0 if b > a else 0.0)
        assert (weights[a:b] >= 0).all()


@given(ragged(), st.floats(-500, 500))
def test_weights_do_not_change_when_all_scores_rise_together(batch, shift):
    scores, counts, _, starts = batch

    np.testing.assert_allclose(softmax(scores + shift, starts, counts), softmax(scores, starts, counts), atol=1e-12)


@given(ragged())
def test_backward_is_the_slope_of_softmax(batch):
    scores, counts, _, starts = batch
    direction = np.cos(np.arange(scores.size))
    d_weights = np.sin(np.arange(scores.size))
    eps = 1e-6

    exact = softmax_backward(d_weights, softmax(scores, starts, counts), starts) @ direction
    up = d_weights @ softmax(scores + eps * direction, starts, counts)
    down = d_weights @ softmax(scores - eps * direction, starts, counts)

    np.testing.assert_allclose(exact, (up - down) / (2 * eps), rtol=1e-5, atol=1e-8)


@given(ragged())
def test_the_whole_backward_agrees_with_autograd(batch):
    torch = pytest.importorskip("torch")
    scores, counts, values, starts = batch
    d_context = np.cos(np.arange((len(starts) - 1) * values.shape[1])).reshape(len(starts) - 1, -1)

    weights = softmax(scores, starts, counts)
    d_weights, d_values = average_backward(d_context, weights, values, starts)
    d_scores = softmax_backward(d_weights, weights, starts)

    s = torch.tensor(scores, requires_grad=True)
    v = torch.tensor(values, requires_grad=True)
    total = torch.zeros((), dtype=torch.float64)
    for d, (a, b) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        if b > a:
            w = torch.softmax(s[a:b] + torch.tensor(counts[a:b]).log(), dim=0)
            total = total + (w @ v[a:b]) @ torch.tensor(d_context[d])
    if scores.size:
        total.backward()
        np.testing.assert_allclose(d_scores, s.grad.numpy(), atol=1e-12)
        np.testing.assert_allclose(d_values, v.grad.numpy(), atol=1e-12)


@given(ragged(), st.integers(1, 3), st.sampled_from([1.0, 1e5]))
def test_the_scoring_kernel_agrees_with_the_formula(batch, n_threads, apart):
    scores, counts, values, starts = batch
    table, sides = (apart * scores).astype(np.float32), values.astype(np.float32)
    bias = np.arange(values.shape[1], dtype=float)
    rows = Rows(np.arange(len(scores), dtype=np.int32), counts.astype(np.float32), starts)

    found = score(rows, table, loudness(table), sides, bias, n_threads)

    expected = bias + average(softmax(table.astype(float), starts, counts), sides.astype(float), starts)
    np.testing.assert_allclose(found, expected, atol=1e-12)
