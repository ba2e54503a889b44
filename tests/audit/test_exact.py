"""Every exact form beside a slow and obvious way: all subsets, running the model again, all permutations."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from regard.audit import kernels
from regard.audit.source import SHARES
from regard.audit.view import View
from tests.audit.cases import (
    chances_of,
    documents,
    fewest_by_trying,
    jsd,
    jsds,
    label_of,
    random_batch,
    score_of,
)

seeds = st.integers(0, 2**32 - 1)
shapes = st.fixed_dictionaries(
    {
        "seed": seeds,
        "classes": st.integers(2, 4),
        "far": st.sampled_from([0.1, 1.0, 5.0, 400.0]),
        "bias": st.sampled_from([0.0, 0.5]),
    }
)
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


@given(shapes)
def test_leaving_one_out_is_running_the_model_again_without_it(shape):
    batch = random_batch(**shape)

    change, flips = batch.leave_one_out()

    for d, part in documents(batch):
        n, label = part.stop - part.start, batch.explained[d]
        before = chances_of(score_of(batch, part, range(n)))[label]
        for i in range(n):
            score = score_of(batch, part, [j for j in range(n) if j != i])
            np.testing.assert_allclose(change[part][i], before - chances_of(score)[label], **TOLERANCE)
            if abs(np.diff(np.sort(np.append(score, 0.0 if len(score) == 1 else []))[-2:])[0]) > 1e-9:
                assert flips[part][i] == (label_of(score) != label)


@given(shapes, seeds)
def test_curves_are_running_the_model_again_after_each_removal(shape, order_seed):
    batch = random_batch(**shape)
    view = View(batch, order_seed % 2**31)
    order = view.random_order(0)

    found = batch.erase(order)

    for d, part in documents(batch):
        n, label, places = part.stop - part.start, batch.explained[d], order[part].tolist()
        without = [chances_of(score_of(batch, part, places[k:]))[label] for k in range(n + 1)]
        alone = [chances_of(score_of(batch, part, places[:k]))[label] for k in range(n + 1)]
        ks = [0 if q == 0 else max(1, math.ceil(q * n - 1e-9)) for q in SHARES]
        np.testing.assert_allclose(found.removed[d], [without[k] for k in ks], **TOLERANCE)
        np.testing.assert_allclose(found.kept[d], [alone[k] for k in ks], **TOLERANCE)
        flips = [k for k in range(1, n) if label_of(score_of(batch, part, places[k:])) != label]
        assert found.flip[d] == (flips[0] if flips else 0)
        if flips:
            mass = batch.weights[part][places[: flips[0]]].sum()
            np.testing.assert_allclose(found.mass[d], mass, **TOLERANCE)
        steps = np.diff(without[::-1])
        if np.abs(steps).min() > 1e-9:
            np.testing.assert_allclose(found.monotone[d], (steps > 0).mean(), **TOLERANCE)


@given(shapes)
def test_the_minimal_flip_set_is_the_smallest_of_all_subsets(shape):
    batch = random_batch(documents=1, longest=11, **shape)

    assert batch.fewest().tolist() == [fewest_by_trying(batch, d, part) for d, part in documents(batch)]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0, 400.0]))
def test_contributions_rank_as_the_optimum_does(seed, far):
    batch = random_batch(seed, documents=20, longest=40, far=far)

    np.testing.assert_array_equal(View(batch, 0).erasure("contribution").flip, batch.fewest())


@given(shapes)
def test_no_ranking_flips_sooner_than_the_optimum(shape):
    batch = random_batch(documents=10, longest=20, **shape)
    view = View(batch, 0, draws=3)

    for found in [*map(view.erasure, batch.rankings), *view.random_erasures]:
        assert (found.flip[found.flip > 0] >= batch.fewest()[found.flip > 0]).all()
        assert (batch.fewest()[found.flip > 0] > 0).all()


@given(seeds)
def test_permutation_moments_are_those_over_all_permutations(seed):
    batch = random_batch(seed, documents=2, longest=6)
    mean, variance = np.empty(len(batch)), np.empty(len(batch))

    kernels.permutation_moments(batch.weights, batch.margin, batch.starts, 0, len(batch), mean, variance)

    for d, part in documents(batch):
        leads = [np.dot(w, batch.margin[part]) for w in itertools.permutations(batch.weights[part])]
        np.testing.assert_allclose([mean[d], variance[d]], [np.mean(leads), np.var(leads)], **TOLERANCE)


def test_sampled_permutations_have_the_exact_moments():
    batch = random_batch(3, documents=1, longest=30, least=30)
    moved = np.empty((1, 20000))

    documents = np.array([0])
    kernels.permute(batch.weights, batch.said, batch.scores, batch.starts, documents, 0, batch.explained, 0, moved)

    generator = np.random.default_rng(0)
    label = batch.explained[0]
    expected = [
        abs(chances_of(generator.permutation(batch.weights) @ batch.said)[label] - batch.chances[0, label])
        for _ in range(20000)
    ]
    assert np.mean(moved) == pytest.approx(np.mean(expected), rel=0.03)


@given(
    st.fixed_dictionaries({"seed": seeds, "far": st.sampled_from([0.1, 1.0, 5.0])}), st.sampled_from([0.01, 0.05, 0.3])
)
def test_the_adversary_is_allowed_and_as_far_as_it_says(shape, eps):
    batch = random_batch(**shape)

    divergence, places, share = batch.adversary(eps)

    for d, part in documents(batch):
        other = np.zeros(part.stop - part.start)
        if places[d, 0] < 0:
            other = batch.weights[part]
        else:
            other[places[d, 0]] = share[d]
            if places[d, 1] >= 0:
                other[places[d, 1]] = 1 - share[d]
        moved = chances_of(other @ batch.said[part])[1] - batch.chances[d, 1]
        assert abs(moved) <= eps + 1e-10
        np.testing.assert_allclose(divergence[d], jsd(other, batch.weights[part]), **TOLERANCE)


@given(
    st.fixed_dictionaries({"seed": seeds, "far": st.sampled_from([0.1, 1.0, 5.0])}), st.sampled_from([0.01, 0.05, 0.3])
)
def test_no_allowed_attention_is_farther_than_the_adversary(shape, eps):
    batch = random_batch(documents=2, longest=5, **shape)
    generator = np.random.default_rng(shape["seed"])

    divergence, _, _ = batch.adversary(eps)

    for d, part in documents(batch):
        n, said = part.stop - part.start, batch.said[part]
        tried = [np.eye(n), generator.dirichlet(np.full(n, 0.2), 300), batch.weights[part][None]]
        for i, j in itertools.combinations(range(n), 2):
            line = np.zeros((401, n))
            line[:, i], line[:, j] = np.linspace(0, 1, 401), np.linspace(1, 0, 401)
            tried.append(line)
        # Anything that is too far may be brought back towards the model's own attention.
        own = batch.weights[part]
        others = np.concatenate([(1 - back) * np.concatenate(tried) + back * own for back in (0.0, 0.5)])
        moved = np.abs(1 / (1 + np.exp(-(others @ said)[:, 0])) - batch.chances[d, 1])
        assert (jsds(others[moved <= eps], own) <= divergence[d] + 1e-10).all()


@given(seeds, st.sampled_from([0.01, 0.05, 0.3]))
def test_passing_over_pairs_that_cannot_win_changes_nothing(seed, eps):
    batch = random_batch(seed, documents=1, longest=25, far=2.0)
    w, said, p = batch.weights, batch.said[:, 0], batch.chances[0, 1]
    bounds = [math.log(q / (1 - q)) for q in (p - eps, p + eps) if 0 < q < 1]
    low = math.log((p - eps) / (1 - p + eps)) if p > eps else -math.inf
    high = math.log((p + eps) / (1 - p - eps)) if p + eps < 1 else math.inf
    best = 0.0
    for i in range(len(w)):
        if low <= said[i] <= high:
            best = max(best, jsd(np.eye(len(w))[i], w))
        for j in range(len(w)):
            for bound in bounds:
                t = (bound - said[j]) / (said[i] - said[j]) if said[i] != said[j] else -1
                if 0 < t < 1:
                    best = max(best, jsd(t * np.eye(len(w))[i] + (1 - t) * np.eye(len(w))[j], w))

    np.testing.assert_allclose(batch.adversary(eps)[0][0], best, **TOLERANCE)


@given(seeds, st.sampled_from([0.01, 0.05, 0.3]))
def test_the_search_for_several_classes_stays_within_its_bound(seed, eps):
    batch = random_batch(seed, classes=3)

    divergence, places, share = batch.adversary(eps)

    for d, part in documents(batch):
        n = part.stop - part.start
        if places[d, 0] < 0:
            assert divergence[d] == 0
            continue
        one = np.eye(n)[places[d, 0]]
        rest = np.eye(n)[places[d, 1]] if places[d, 1] >= 0 else batch.weights[part]
        other = share[d] * one + (1 - share[d]) * rest
        moved = 0.5 * np.abs(chances_of(other @ batch.said[part]) - batch.chances[d]).sum()
        assert moved <= eps + 1e-9
        np.testing.assert_allclose(divergence[d], jsd(other, batch.weights[part]), **TOLERANCE)


@given(shapes, st.integers(1, 5))
def test_zeroing_a_single_weight_is_running_the_model_without_it(shape, draws):
    batch = random_batch(least=2, **shape)

    found = batch.single(draws, seed=1)

    for d, part in documents(batch):
        n, label = part.stop - part.start, batch.explained[d]
        top = int(np.argmax(batch.weights[part]))
        score = score_of(batch, part, [j for j in range(n) if j != top])
        np.testing.assert_allclose(found[d, 0], jsd(batch.chances[d], chances_of(score)), **TOLERANCE)
        assert found[d, 2] == (label_of(score) != label) or abs(np.ptp(score)) < 1e-9
        gaps = batch.weights[part][top] - np.delete(batch.weights[part], top)
        assert gaps.min() - 1e-12 <= found[d, 4] <= gaps.max() + 1e-12


@given(seeds)
def test_tau_is_scipys(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 30))
    one, two = generator.integers(0, 6, n).astype(float), generator.integers(0, 6, n).astype(float)
    out = np.empty(1)

    kernels.tau(one, two, np.array([0, n]), 0, 1, out)

    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert np.isnan(out[0])
    else:
        np.testing.assert_allclose(out[0], kendalltau(one, two).statistic, **TOLERANCE)


@given(seeds)
def test_infidelity_is_least_squares_over_the_same_sets(seed):
    batch = random_batch(seed, documents=1, least=3)
    importance = np.column_stack([batch.weights, batch.contribution])

    found = kernels.infidelity(
        batch.attention, batch.said, batch.bias, batch.scores[0], batch.explained[0], importance, 50, seed
    )
    twice = kernels.infidelity(
        batch.attention, batch.said, batch.bias, batch.scores[0], batch.explained[0], 7 * importance, 50, seed
    )

    assert (found >= 0).all()
    np.testing.assert_allclose(found, twice, rtol=1e-6, atol=1e-12)


@given(shapes, st.integers(1, 5))
def test_results_do_not_depend_on_how_documents_are_batched(shape, cut):
    batch = random_batch(documents=6, **shape)
    cut = min(cut, 5)
    at = int(batch.starts[cut])
    parts = [
        replace(batch, starts=batch.starts[: cut + 1], ids=batch.ids[:at], rows=batch.rows[:at]),
        replace(batch, first=cut, starts=batch.starts[cut:] - at, ids=batch.ids[at:], rows=batch.rows[at:]),
    ]

    whole = View(batch, 5).random_erasures[1].removed
    pieces = np.concatenate([View(part, 5).random_erasures[1].removed for part in parts])

    np.testing.assert_array_equal(whole, pieces)
