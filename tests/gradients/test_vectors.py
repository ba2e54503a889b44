"""Every step of learning vectors follows the slope of the loss, and a training is the plain model's training."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention.ragged import average, softmax
from regard.models import kernels
from regard.models.table import probabilities


@st.composite
def batch(draw):
    """Some texts over some rows: ragged rows with counts, labels, weights of the classes, vectors, directions, λ."""
    sides = draw(st.sampled_from([1, 3, 5]))
    documents, size, width = draw(st.integers(1, 7)), draw(st.integers(1, 12)), draw(st.sampled_from([3, 8, 21]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return texts(rng, documents, size, max(sides, 2)), space(rng, size, width, sides), draw(st.sampled_from([0.5, 10]))


def texts(rng, documents, size, classes):
    ids = [rng.permutation(size)[: rng.integers(0, size + 1)] for _ in range(documents)]
    starts = np.cumsum([0, *map(len, ids)])
    ids = np.concatenate(ids).astype(np.int32)
    counts = rng.integers(1, 4, len(ids)).astype(np.float32)
    return (ids, counts, starts), rng.integers(0, classes, documents), rng.uniform(0.5, 2, classes)


def space(rng, size, width, sides):
    return rng.normal(size=(size, width)), rng.normal(size=(1 + sides, width))


def loss(rows, labels, weight, vectors, directions, scale):
    """The mean log loss, from the formula."""
    ids, counts, starts = rows
    weights = softmax(vectors[ids] @ directions[0] / scale, starts, counts)
    chances = probabilities(average(weights, vectors[ids] @ directions[1:].T, starts))
    return -np.mean(weight[labels] * np.log(chances[np.arange(len(labels)), labels]))


def train(rows, labels, weight, vectors, directions, scale, order, size, dropout=0.0, seed=0):
    """One pass of the kernel: the vectors, the directions and what Adagrad has added up for them."""
    vectors, directions = vectors.copy(), directions.copy()
    squares = np.zeros_like(vectors), np.zeros_like(directions)
    kernels.train_vectors(
        *rows, labels, order, size, weight, vectors, squares[0], directions, squares[1],
        scale, 0.02, 0.001, 0, dropout, seed,
    )  # fmt: skip
    return vectors, directions, squares


def slopes(rows, labels, weight, vectors, directions, scale):
    """What one step on one batch followed: Adagrad keeps the square of it, and moves the other way."""
    everything = np.arange(len(labels)), len(labels)
    moved, turned, squares = train(rows, labels, weight, vectors, directions, scale, *everything)
    return np.sign(vectors - moved) * np.sqrt(squares[0]), np.sign(directions - turned) * np.sqrt(squares[1])


def plain_loss(torch, rows, labels, weight, E, V, W, scale, which):
    """The plain model: every occurrence is a row of a matrix, and autograd does the rest."""
    ids, counts, starts = rows
    total = 0.0
    for doc in which:
        part = slice(starts[doc], starts[doc + 1])
        occurrences = np.repeat(ids[part], counts[part].astype(int))
        h = E[torch.as_tensor(occurrences.astype(np.int64))]
        score = torch.softmax(h @ V / scale, dim=0) @ (h @ W)
        label = int(labels[doc])
        logits = torch.cat([torch.zeros(1, dtype=score.dtype), score]) if len(score) == 1 else score
        total = total - weight[label] * torch.log_softmax(logits, dim=0)[label]
    return total / len(which)


@settings(max_examples=80)
@given(batch())
def test_a_step_is_the_gradient_by_autograd(drawn):
    torch = pytest.importorskip("torch")
    (rows, labels, weight), (vectors, directions), scale = drawn
    d_vectors, d_directions = slopes(rows, labels, weight, vectors, directions, scale)
    E, V, W = (torch.tensor(x, requires_grad=True) for x in (vectors, directions[0], directions[1:].T.copy()))

    plain_loss(torch, rows, labels, weight, E, V, W, scale, range(len(labels))).backward()

    np.testing.assert_allclose(d_vectors, E.grad.numpy(), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(d_directions[0], V.grad.numpy(), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(d_directions[1:].T, W.grad.numpy(), rtol=1e-10, atol=1e-13)


@settings(max_examples=40)
@given(batch(), st.integers(0, 2**32 - 1))
def test_a_step_is_the_slope_of_the_loss_by_differences(drawn, seed):
    (rows, labels, weight), (vectors, directions), scale = drawn
    d_vectors, d_directions = slopes(rows, labels, weight, vectors, directions, scale)
    rng = np.random.default_rng(seed)
    along, turn = rng.normal(size=vectors.shape), rng.normal(size=directions.shape)
    eps = 1e-5

    up = loss(rows, labels, weight, vectors + eps * along, directions + eps * turn, scale)
    down = loss(rows, labels, weight, vectors - eps * along, directions - eps * turn, scale)

    assert (d_vectors * along).sum() + (d_directions * turn).sum() == pytest.approx(
        (up - down) / (2 * eps), rel=1e-6, abs=1e-8
    )


@settings(max_examples=40)
@given(batch())
def test_the_gradient_has_rank_two_or_one_more_than_the_classes(drawn):
    (rows, labels, weight), (vectors, directions), scale = drawn
    d_vectors, _ = slopes(rows, labels, weight, vectors, directions, scale)

    part = d_vectors @ np.linalg.pinv(directions) @ directions

    np.testing.assert_allclose(part, d_vectors, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("sides", [1, 4])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_training_is_the_training_of_the_plain_model(sides, scale):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(sides)
    rows, labels, weight = texts(rng, 130, 40, max(sides, 2))
    vectors, directions = space(rng, 40, 16, sides)
    vectors *= 0.1
    order = np.concatenate([rng.permutation(130) for _ in range(3)])
    E, V, W = (torch.nn.Parameter(torch.tensor(x)) for x in (vectors, directions[0], directions[1:].T.copy()))
    adagrad = torch.optim.Adagrad([E, V, W], lr=0.02, lr_decay=0.001)

    for first in range(0, len(order), 20):
        adagrad.zero_grad()
        filled = [doc for doc in order[first : first + 20] if rows[2][doc + 1] > rows[2][doc]]
        size = len(order[first : first + 20])
        (len(filled) / size * plain_loss(torch, rows, labels, weight, E, V, W, scale, filled)).backward()
        adagrad.step()
    double = train(rows, labels, weight, vectors, directions, scale, order, 20)
    single = train(rows, labels, weight, vectors.astype(np.float32), directions, scale, order, 20)

    assert np.abs(E.detach().numpy() - vectors).max() > 0.1
    for learned, rtol in ((double, 1e-8), (single, 1e-4)):
        np.testing.assert_allclose(learned[0], E.detach().numpy(), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(learned[1][0], V.detach().numpy(), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(learned[1][1:].T, W.detach().numpy(), rtol=rtol, atol=rtol)


def test_dropout_leaves_out_its_share_of_occurrences_and_depends_on_the_seed_alone():
    size, times = 5000, 3
    rows = np.arange(size, dtype=np.int32), np.full(size, times, np.float32), np.array([0, size])

    def kept(seed):
        slot = np.full(size, -1, np.int32)
        found, places, counts = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size)
        ends = np.empty(2, np.int64)
        n = kernels.gather_rows(*rows, np.array([0]), 0.3, seed, slot, found, places, counts, ends)
        assert (slot == -1).all()
        occurrences = np.zeros(size, int)
        occurrences[found[places[: ends[1]]]] = counts[: ends[1]]
        assert n == np.count_nonzero(occurrences)
        return occurrences

    assert kept(1).mean() == pytest.approx(0.7 * times, abs=0.03)
    assert np.bincount(kept(1), minlength=4) / size == pytest.approx([0.027, 0.189, 0.441, 0.343], abs=0.02)
    np.testing.assert_array_equal(kept(1), kept(1))
    assert (kept(1) != kept(2)).mean() > 0.3


def test_dropout_silences_its_share_of_dimensions_for_a_whole_batch():
    rng = np.random.default_rng(0)
    rows, labels, weight = texts(rng, 50, 30, 2)
    vectors, directions = space(rng, 30, 2000, 1)

    moved, turned, _ = train(rows, labels, weight, vectors, directions, 10.0, np.arange(50), 50, dropout=0.3, seed=5)

    still = (moved == vectors).all(axis=0)
    assert still.mean() == pytest.approx(0.3, abs=0.04)
    np.testing.assert_array_equal((turned == directions).all(axis=0), still)


def test_a_text_of_which_everything_is_left_out_changes_nothing():
    rng = np.random.default_rng(0)
    rows = np.array([0], np.int32), np.ones(1, np.float32), np.array([0, 1])
    vectors, directions = space(rng, 1, 8, 1)

    for seed in range(40):
        moved, turned, _ = train(
            rows, np.array([1]), np.ones(2), vectors, directions, 1.0, np.array([0]), 1, dropout=0.999, seed=seed
        )
        assert np.isfinite(moved).all()
        assert np.isfinite(turned).all()
    np.testing.assert_array_equal(moved, vectors)
