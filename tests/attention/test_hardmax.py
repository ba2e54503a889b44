"""The hardmax dynamics against a plain triple loop, and what the theory promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention.hardmax import chosen, run, running, step
from regard.errors import DataError, SettingError

TOLERANCE = 1e-12


def triple_loop(x, layers, alpha, A=None):
    """Positions, and the layer in which each point was first chosen by its equals alone; no merging, no pruning."""
    x = [list(map(float, row)) for row in x]
    n, d = len(x), len(x[0])
    became = [-1] * n
    for layer in range(layers):
        top = max(abs(number) for row in x for number in row)
        new = []
        for i in range(n):
            u = x[i] if A is None else [sum(float(A[k][m]) * x[i][m] for m in range(d)) for k in range(d)]
            products = [sum(u[k] * x[j][k] for k in range(d)) for j in range(n)]
            big = max(map(abs, u))
            zero = big <= TOLERANCE * top * (1.0 if A is None else np.abs(A).max())
            least = -np.inf if zero else max(products) - TOLERANCE * big * top
            C = [j for j in range(n) if products[j] >= least]
            if became[i] < 0 and all(x[j] == x[i] for j in C):
                became[i] = layer
            mean = [sum(x[j][k] for j in C) / len(C) for k in range(d)]
            new.append([(x[i][k] + alpha * mean[k]) / (1 + alpha) for k in range(d)])
        x = new
    return np.array(x), np.array(became)


@st.composite
def clouds(draw):
    """Random, tied and degenerate points: on a grid, on a line, repeated, far from the origin, all equal."""
    n, d = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["random", "grid", "line", "repeated", "far", "equal"]))
    if kind == "grid":
        return rng.integers(-2, 3, size=(n, d)).astype(float)
    if kind == "line":
        return np.outer(rng.integers(-3, 4, size=n), rng.normal(size=d))
    x = rng.normal(size=(n, d))
    if kind == "repeated":
        return x[rng.integers(0, n, size=n)]
    if kind == "equal":
        return np.repeat(x[:1], n, axis=0)
    return x + 5 if kind == "far" else x


def positive_definite(d, seed):
    B = np.random.default_rng(seed).normal(size=(d, d))
    return B @ B.T + 0.2 * np.eye(d)


@pytest.mark.parametrize("many", [400, 0], ids=["by norm", "on the border"])
@settings(max_examples=120)
@given(clouds(), st.integers(0, 8), st.floats(0.1, 3.0), st.booleans())
def test_it_agrees_with_a_plain_triple_loop(many, x, layers, alpha, general):
    A = positive_definite(x.shape[1], len(x)) if general else None
    expected, became = triple_loop(x, layers, alpha, A)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_MANY", many)
        found = run(x, layers, alpha, A=A, path=True)

    scale = max(1.0, np.abs(x).max())
    np.testing.assert_allclose(found.points, expected, rtol=0, atol=1e-12 * scale)
    np.testing.assert_array_equal(found.became, became)
    np.testing.assert_allclose(found.path[-1], found.points, rtol=0, atol=1e-12 * scale)
    np.testing.assert_array_equal(found.path[0], x)


@given(clouds(), st.floats(0.1, 3.0))
def test_one_layer_is_the_formula(x, alpha):
    np.testing.assert_allclose(run(x, 1, alpha).points, step(x, chosen(x), alpha), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_many_points_of_the_plane_agree_with_the_search_by_norm(shift, monkeypatch):
    rng = np.random.default_rng(1)
    round_off = np.linspace(0, 2 * np.pi, 900, endpoint=False)
    for x in (
        rng.normal(size=(1200, 2)) + shift,
        rng.uniform(-1, 1, size=(1200, 2)) + shift,
        rng.integers(-9, 10, size=(1200, 2)) + shift,
        np.stack([np.cos(round_off), np.sin(round_off)], axis=1) * [1.0, 2.0] + shift,
    ):
        fast = run(x, 6, 0.7)
        monkeypatch.setattr(running, "_MANY", 10**9)
        slow = run(x, 6, 0.7)
        monkeypatch.undo()
        np.testing.assert_allclose(fast.points, slow.points, atol=1e-12 * np.abs(x).max())
        np.testing.assert_array_equal(fast.became, slow.became)
        np.testing.assert_array_equal(fast.cluster, slow.cluster)


@given(clouds(), st.floats(0.1, 3.0))
def test_what_has_settled_stays_as_it_is(x, alpha):
    found = run(x, 30, alpha)
    longer = run(x, 60, alpha)

    settled = found.cluster >= 0
    np.testing.assert_array_equal(longer.cluster[settled], found.cluster[settled])
    np.testing.assert_array_equal(longer.became[found.became >= 0], found.became[found.became >= 0])
    np.testing.assert_array_equal(longer.points[found.became >= 0], x[found.became >= 0])
    if found.settled[0] >= 0:
        assert longer.settled[0] == found.settled[0]
        free = found.cluster >= 0
        gap = np.abs(longer.points - x[found.cluster])[free]
        assert (gap <= 2 * np.abs(x).max() * (1 + alpha) ** -(60.0 - found.settled[0]) + 1e-12).all()


@given(clouds(), clouds(), st.floats(0.1, 3.0))
def test_texts_of_a_batch_do_not_see_each_other(one, two, alpha):
    two = two[:, :1].repeat(one.shape[1], axis=1)
    together = run(np.concatenate([one, two]), 4, alpha, starts=[0, len(one), len(one) + len(two)], n_threads=2)
    apart = run(one, 4, alpha), run(two, 4, alpha)

    np.testing.assert_allclose(together.points, np.concatenate([each.points for each in apart]), atol=1e-13)
    np.testing.assert_array_equal(together.became, np.concatenate([each.became for each in apart]))
    clusters = np.where(apart[1].cluster >= 0, apart[1].cluster + len(one), -1)
    np.testing.assert_array_equal(together.cluster, np.concatenate([apart[0].cluster, clusters]))


@given(clouds(), st.floats(0.1, 3.0), st.integers(0, 10))
def test_a_multiplicity_is_so_many_equal_points(x, alpha, seed):
    x = np.unique(x, axis=0)
    times = np.random.default_rng(seed).integers(1, 5, size=len(x))
    merged = run(x, 5, alpha, multiplicity=times)
    repeated = run(np.repeat(x, times, axis=0), 5, alpha)

    np.testing.assert_allclose(repeated.points, np.repeat(merged.points, times, axis=0), atol=1e-11)
    np.testing.assert_array_equal(repeated.became, np.repeat(merged.became, times))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_sizes_do_not_matter(size):
    x = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(run(x * size, 5, 1.0).points / size, run(x, 5, 1.0).points, rtol=1e-9, atol=1e-12)


def test_no_points_and_no_layers_are_fine():
    assert run(np.empty((0, 2)), 3, 1.0).points.shape == (0, 2)
    assert run(np.empty((0, 2)), 3, 1.0, starts=[0, 0, 0]).settled.tolist() == [0, 0]
    assert run([[1.0], [2.0]], 0, 1.0).points.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("points", "more", "error"),
    [
        ([[np.nan, 0.0]], {}, DataError),
        ([[np.inf, 0.0]], {}, DataError),
        ([1.0, 2.0], {}, DataError),
        ([["a"]], {}, DataError),
        ([[1.0]], {"alpha": 0.0}, SettingError),
        ([[1.0]], {"alpha": np.nan}, SettingError),
        ([[1.0]], {"layers": -1}, SettingError),
        ([[1.0]], {"layers": True}, SettingError),
        ([[1.0]], {"tolerance": -1.0}, SettingError),
        ([[1.0]], {"A": [[-1.0]]}, SettingError),
        ([[1.0, 0.0]], {"A": [[1.0, 2.0], [0.0, 1.0]]}, SettingError),
        ([[1.0]], {"starts": [0, 2]}, DataError),
        ([[1.0]], {"multiplicity": [0.0]}, DataError),
    ],
)
def test_what_cannot_be_is_refused(points, more, error):
    with pytest.raises(error):
        run(points, **{"layers": 2, "alpha": 1.0, **more})
