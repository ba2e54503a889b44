"""Every step of training follows the slope of the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import kernels
from regard.attention.ragged import average, softmax
from regard.models.table import probabilities
from regard.models.training import _start

STEP = 1e-3


def counted(classes):
    """A document counts in its own rows."""
    nothing = np.empty(0, np.int32)
    return np.empty((0, classes), np.int32), np.empty((classes, 0), np.float32), nothing, np.empty(0, np.float32)


@st.composite
def document(draw):
    """One document over a small table: rows, counts, label, table, bias, class weights."""
    sides = draw(st.sampled_from([1, 3, 5]))
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = n + draw(st.integers(0, 5))
    ids = rng.permutation(size)[:n].astype(np.int32)
    counts = rng.integers(1, 4, n).astype(np.float32)
    attention = rng.normal(0, 1, size)
    polarity = rng.normal(0, 2, (size, sides))
    bias = rng.normal(0, 1, sides)
    classes = max(sides, 2)
    return ids, counts, int(rng.integers(classes)), attention, polarity, bias, rng.uniform(0.5, 2, classes)


def loss(attention, polarity, bias, ids, counts, label, weight):
    starts = np.array([0, len(ids)])
    scores = bias + average(softmax(attention[ids], starts, counts), polarity[ids], starts)
    return -weight[label] * math.log(probabilities(scores)[0, label])


def one_step(ids, counts, label, attention, polarity, bias, weight):
    """What one pass over one document changes, in units of the step."""
    table = np.concatenate([np.exp(attention)[:, None], polarity], axis=1).astype(np.float32)
    before, bias_before = table.astype(float), bias.copy()
    bias = bias.copy()
    kernels.train_epoch(
        ids, counts, np.array([0, len(ids)]), np.array([label]), np.array([0]), weight.astype(np.float32),
        table, bias, STEP, STEP, STEP, 1.0, 1.0, 0.0, 7, 1e6, 1e6, *counted(len(weight)),
    )  # fmt: skip
    loud = (table[:, 0] / before[:, 0] - 1) / STEP
    return loud, (table[:, 1:] - before[:, 1:]) / STEP, (bias - bias_before) / STEP


def speaking(attention, ids, counts):
    w = softmax(attention[ids], np.array([0, len(ids)]), counts)
    return 1 / (w @ w)


@settings(max_examples=60)
@given(document())
def test_a_step_is_the_slope_of_the_loss_by_differences(drawn):
    ids, counts, label, attention, polarity, bias, weight = drawn
    d_attention, d_polarity, d_bias = one_step(*drawn)
    n = speaking(attention, ids, counts)
    eps = 1e-6

    def slope(change):
        up = loss(
            *(x + eps * d for x, d in zip((attention, polarity, bias), change, strict=True)), ids, counts, label, weight
        )
        down = loss(
            *(x - eps * d for x, d in zip((attention, polarity, bias), change, strict=True)), ids, counts, label, weight
        )
        return (up - down) / (2 * eps)

    for row in range(len(attention)):
        unit = np.zeros_like(attention)
        unit[row] = 1
        assert d_attention[row] == pytest.approx(-n * slope((unit, 0 * polarity, 0 * bias)), rel=2e-3, abs=2e-3)
        for side in range(polarity.shape[1]):
            unit2 = np.zeros_like(polarity)
            unit2[row, side] = 1
            assert d_polarity[row, side] == pytest.approx(
                -n * slope((0 * attention, unit2, 0 * bias)), rel=2e-3, abs=2e-3
            )
    for side in range(len(bias)):
        unit3 = np.zeros_like(bias)
        unit3[side] = 1
        assert d_bias[side] == pytest.approx(-slope((0 * attention, 0 * polarity, unit3)), rel=1e-4, abs=1e-6)


@settings(max_examples=60)
@given(document())
def test_a_step_is_the_gradient_by_autograd(drawn):
    torch = pytest.importorskip("torch")
    ids, counts, label, attention, polarity, bias, weight = drawn
    d_attention, d_polarity, d_bias = one_step(*drawn)
    a, s, b = (torch.tensor(x, requires_grad=True) for x in (attention, polarity, bias))

    w = torch.softmax(a[ids.tolist()] + torch.tensor(counts).double().log(), dim=0)
    scores = b + w @ s[ids.tolist()]
    if len(bias) == 1:
        value = torch.nn.functional.softplus(-scores[0] if label == 1 else scores[0])
    else:
        value = -torch.log_softmax(scores, dim=0)[label]
    (weight[label] * value).backward()

    n = speaking(attention, ids, counts)
    np.testing.assert_allclose(d_attention, -n * a.grad.numpy(), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(d_polarity, -n * s.grad.numpy(), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(d_bias, -b.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_steps_of_any_size_leave_everything_within_its_bounds():
    ids, counts = np.array([0, 1], np.int32), np.ones(2, np.float32)
    table, bias = np.ones((2, 2), np.float32), np.zeros(1)
    for label in (1, 0, 1):
        kernels.train_epoch(
            ids, counts, np.array([0, 2]), np.array([label]), np.array([0]), np.ones(2, np.float32),
            table, bias, 1e300, 1e300, 1e300, 1.0, 1.0, 0.0, 7, 1e3, 1e6, *counted(2),
        )  # fmt: skip

    assert np.isfinite(table).all()
    assert (np.abs(table[:, 1]) <= 1e6).all()
    assert abs(bias[0]) <= 1e6


def test_dropout_leaves_out_its_share_and_depends_on_the_seed_alone():
    size = 20_000
    ids, counts = np.arange(size, dtype=np.int32), np.ones(size, np.float32)

    def moved(seed):
        table = np.ones((size, 2), np.float32)
        kernels.train_epoch(
            ids, counts, np.array([0, size]), np.array([1]), np.array([0]), np.ones(2, np.float32),
            table, np.zeros(1), 0.0, 1.0, 0.0, 1.0, 1.0, 0.3, seed, 1e3, 1e6, *counted(2),
        )  # fmt: skip
        return table[:, 1] != 1

    assert moved(1).mean() == pytest.approx(0.7, abs=0.02)
    np.testing.assert_array_equal(moved(1), moved(1))
    assert (moved(1) != moved(2)).mean() > 0.3


@settings(max_examples=40)
@given(
    st.integers(3, 5),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 4), min_size=3, max_size=40),
    st.integers(0, 4),
)
def test_a_text_left_out_of_its_own_rows_moves_them_as_if_it_had_not_been_counted(classes, seed, others, label):
    label %= classes
    rng = np.random.default_rng(seed)
    size = 6
    texts_with = rng.integers(0, 4, (size, classes)).astype(np.int32)
    for row, k in enumerate(others):
        texts_with[row % size, k % classes] += 1
    texts_with[:, label] += 1  # the text itself has every row
    share = np.full(classes, 1 / classes)
    alphas = np.full(classes, 0.5)

    def start(without):
        """Polarity and attention from the counts, by the formula itself; one class loses a text, the rest stay."""
        n = texts_with.astype(float)
        total = n.sum(axis=1, keepdims=True)
        ratio = np.log1p((n - without) / alphas) - np.log1p((total - n) / (alphas * (1 - share) / share))
        return 2.0 * ratio, ratio

    less = np.log1p(np.maximum(np.arange(64) - 1, 0) / 0.5) - np.log1p(np.arange(64) / 0.5)
    less = np.tile(2.0 * less, (classes, 1)).astype(np.float32)
    polarity, ratio = start(0)
    fewer, fewer_ratio = start(np.eye(classes)[label])
    top = np.abs(ratio).argmax(axis=1).astype(np.int32)
    attention = 0.6 * np.abs(ratio).max(axis=1)
    quiet_attention = np.where(top == label, 0.6 * np.abs(fewer_ratio).max(axis=1), attention)
    quieter = np.exp(0.6 * np.abs(fewer_ratio).max(axis=1) - attention).astype(np.float32)
    ids, counts = np.arange(size, dtype=np.int32), np.ones(size, np.float32)

    def moved(attention, polarity, left_out):
        before = np.concatenate([np.exp(attention)[:, None], polarity], axis=1).astype(np.float32)
        table, bias = before.copy(), np.zeros(classes)
        kernels.train_epoch(
            ids, counts, np.array([0, size]), np.array([label]), np.array([0]), np.ones(classes, np.float32),
            table, bias, STEP, 1.0, STEP, 1.0, 1.0, 0.0, 7, 1e6, 1e6, *left_out,
        )  # fmt: skip
        return (table[:, 1:] - before[:, 1:]), table[:, 0] / before[:, 0] - 1, bias

    one = moved(attention, polarity, (texts_with, less, top, quieter))
    other = moved(quiet_attention, fewer, counted(classes))

    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-2, atol=1e-4)


@settings(max_examples=30)
@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_a_row_is_as_loud_without_a_text_of_its_top_side_as_its_other_sides_make_it(classes, seed):
    rng = np.random.default_rng(seed)
    texts_with = rng.poisson(rng.uniform(0, 3, (30, classes))).astype(np.int32)
    table, own = _start(texts_with, rng.integers(classes, size=50), 2.0)

    for row in range(30):
        top = own.top_side[row]
        ratio = table.polarity[row] / 2.0
        assert abs(ratio[top]) == np.abs(ratio).max()
        ratio[top] += own.less[top, texts_with[row, top]] / 2.0
        expected = min(0.6 * np.abs(ratio).max(), 6.0)
        assert math.log(own.quieter[row]) + table.attention[row] == pytest.approx(expected, abs=1e-5)
