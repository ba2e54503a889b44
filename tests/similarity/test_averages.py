"""Averages in tiles against whole matrices, arrays against tensors, one thread against several."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import rankdata

from regard.errors import DataError, SettingError
from regard.similarity import FAMILIES, SIMILARITIES, General, Minkowski, average, resolve, weights
from regard.similarity.averages import _rounds
from regard.similarity.kernels import exp2, weigh_rows

BY_HAND = {
    "squared_euclidean": lambda x, z: -np.square(x - z).sum(),
    "euclidean": lambda x, z: -math.dist(x, z),
    "manhattan": lambda x, z: -np.abs(x - z).sum(),
    "chebyshev": lambda x, z: -np.abs(x - z).max(),
    "cosine": lambda x, z: x @ z / np.sqrt((x @ x) * (z @ z)),
    "dot": lambda x, z: x @ z,
    "scaled_dot": lambda x, z: x @ z / math.sqrt(len(x)),
}
FAMILY_BY_HAND = {
    "exp": lambda v: np.exp(v),
    "power": lambda v: np.clip(v, 0, None) ** 3,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "softplus": lambda v: np.log1p(np.exp(v)),
    "linear": lambda v: np.clip(v, 0, None),
    "quadratic": lambda v: np.clip(v, 0, None) ** 2,
    "rank": lambda v: rankdata(v, axis=1),
}


def points(n, d=4, dtype=np.float64, seed=0, far=0.0):
    return (np.random.default_rng(seed).normal(size=(n, d)) + far).astype(dtype)


def by_hand(x, z, v, similarity, weigh="exp", bandwidth=1.0):
    scores = np.array([[BY_HAND[similarity](a, b) for b in z] for a in x]) / bandwidth
    amounts = FAMILY_BY_HAND[weigh](scores)
    return amounts / amounts.sum(axis=1, keepdims=True) @ v


def test_every_similarity_and_family_is_checked_by_hand():
    assert set(BY_HAND) == set(SIMILARITIES)
    assert set(FAMILY_BY_HAND) == set(FAMILIES)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("weigh", ["exp", "sigmoid", "rank"])
def test_averages_are_those_of_plain_loops(similarity, weigh):
    x, z, v = points(7), points(30, seed=1), points(30, 2, seed=2)

    found = average(x, z, v, similarity=similarity, weigh=weigh, bandwidth=0.7)

    np.testing.assert_allclose(found, by_hand(x, z, v, similarity, weigh, 0.7), atol=1e-12)


@pytest.mark.parametrize("weigh", FAMILIES)
def test_families_are_what_their_formulas_say(weigh):
    x = points(6) ** 2
    np.testing.assert_allclose(average(x, similarity="dot", weigh=weigh), by_hand(x, x, x, "dot", weigh), atol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("n", [300, 1501])
def test_tiles_and_pairs_are_whole_matrices(similarity, dtype, close, n):
    x, z = points(n, dtype=dtype), points(2100, dtype=dtype, seed=1)
    compare = resolve(similarity).compare

    alone, other = average(x, similarity=similarity), average(x, z, similarity=similarity)

    assert alone.dtype == other.dtype == dtype
    np.testing.assert_allclose(alone, softmax(compare(x, x).astype(float), axis=1) @ x, atol=close)
    np.testing.assert_allclose(other, softmax(compare(x, z).astype(float), axis=1) @ z, atol=close)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 100), st.sampled_from([1e-4, 1.0, 1e4]), st.sampled_from([0.0, 1e5]))
def test_no_scale_and_no_distance_from_zero_spoils_an_average(seed, bandwidth, far):
    x = points(1200, 3, seed=seed, far=far)
    distances = np.square(x[:, None] - x[None]).sum(-1)

    found = average(x, bandwidth=bandwidth)

    # From 1e5 away, products of 1e10 would leave six digits of distances of one.
    np.testing.assert_allclose(found, softmax(-distances / bandwidth, axis=1) @ x, atol=1e-7 if far else 1e-9)


def test_loudnesses_that_are_far_apart_do_not_get_lost():
    x = points(1200, 3) * np.linspace(0.01, 100, 1200)[:, None]

    np.testing.assert_allclose(average(x, similarity="dot"), softmax(x @ x.T, axis=1) @ x, atol=1e-9)


@pytest.mark.parametrize("key", [None, points(3000, seed=5)])
def test_threads_do_not_change_a_bit(key):
    x = points(2000)
    np.testing.assert_array_equal(average(x, key, n_threads=1), average(x, key, n_threads=3))


def test_a_distance_is_a_dot_product_with_a_bias_for_each_key():
    x, z, tau = points(50), points(80, seed=1), 0.8
    by_dot = softmax((x @ z.T - np.square(z).sum(1) / 2) / tau, axis=1) @ z

    np.testing.assert_allclose(average(x, z, bandwidth=2 * tau), by_dot, atol=1e-12)


def test_a_matrix_a_norm_and_a_function_are_similarities_too():
    x, W = points(9), points(4, seed=3)

    def own(a, b):
        return -np.abs(a[:, None] - b[None]).max(-1)

    np.testing.assert_allclose(average(x, similarity=General(W)), softmax(x @ W @ x.T, axis=1) @ x)
    np.testing.assert_allclose(average(x, similarity=own), average(x, similarity=Minkowski(math.inf)))
    third = np.array([[-((np.abs(a - b) ** 3).sum() ** (1 / 3)) for b in x] for a in x])
    np.testing.assert_allclose(average(x, similarity=Minkowski(3)), softmax(third, axis=1) @ x)


def test_nobody_similar_at_all_means_everybody_alike():
    x = -np.ones((2, 1))
    z, v = np.array([[1.0], [2.0], [3.0]]), np.array([3.0, 4.0, 8.0])

    assert average(x, z, v, similarity="dot", weigh="linear").tolist() == [5.0, 5.0]
    assert weights(np.array([[-1.0, -2.0]]), "linear").tolist() == [[0.5, 0.5]]


def test_many_keys_take_no_more_memory_than_few():
    x, many = points(64, 8, np.float32), points(200_000, 8, np.float32)
    average(x, many[:2000])
    tracemalloc.start()
    average(x, many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3e6  # the keys alone are 6.4 MB


# -- the loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 2e-7), (np.float64, 5e-16)])
def test_powers_of_two_are_right_to_the_last_digits(dtype, close):
    tile = np.linspace(-100, 0, 4096, dtype=dtype).reshape(4, -1)
    exact = np.exp2(tile.astype(np.float64))
    zeros = np.zeros(4, dtype)

    weigh_rows(tile, zeros, zeros.copy(), zeros.copy(), zeros.copy())

    np.testing.assert_allclose(tile, exact, rtol=close)
    assert exp2(np.float32(-1e30)) == np.float32(2.0**-126)


@given(st.integers(1, 40))
def test_a_tournament_lets_everybody_meet_once_and_nobody_play_twice_at_a_time(blocks):
    rounds = _rounds(blocks)

    met = [pair for round_ in rounds for pair in round_]
    assert sorted(met) == [(a, b) for a in range(blocks) for b in range(a + 1, blocks)]
    for round_ in rounds:
        players = [player for pair in round_ for player in pair]
        assert len(players) == len(set(players))


# -- tensors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", [*SIMILARITIES, General(points(4, seed=3)), Minkowski(3)])
@pytest.mark.parametrize("weigh", [*FAMILIES, "top_k"])
def test_tensors_are_averaged_like_arrays(similarity, weigh):
    torch = pytest.importorskip("torch")
    x, z = points(12), points(20, seed=1)

    found = average(torch.tensor(x), torch.tensor(z), similarity=similarity, weigh=weigh, bandwidth=0.7)

    np.testing.assert_allclose(found.numpy(), average(x, z, similarity=similarity, weigh=weigh, bandwidth=0.7), 1e-9)


def test_gradients_flow_through_tensors():
    torch = pytest.importorskip("torch")
    x = torch.tensor(points(6), requires_grad=True)

    assert torch.autograd.gradcheck(lambda x: average(x, similarity="scaled_dot"), x)


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: average(points(3), points(3, 5)), "as many features; got 4 and 5"),
        (lambda: average(points(3), points(3), np.ones(2)), "Each of the 3 keys needs a value; got 2"),
        (lambda: average(np.array([[np.nan]])), "must be finite"),
        (lambda: average(np.ones(3)), "a row for each object; got 1 axes"),
        (lambda: average(points(3), weigh=lambda v: v), "F must be finite and not negative"),
        (lambda: average(points(3), similarity=lambda a, b: a), "a number for each pair"),
        (lambda: average(points(3), similarity=General(points(2))), "4 rows, one a feature"),
        (lambda: average(points(3), weigh="top_k", n_neighbors=4), "to choose from, 3; got 4"),
    ],
)
def test_wrong_objects_are_said_in_a_sentence(call, says):
    with pytest.raises(DataError, match=says):
        call()


def test_a_norm_needs_p_of_at_least_one():
    with pytest.raises(SettingError, match="at least 1"):
        Minkowski(0.5)
