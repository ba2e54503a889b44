"""Why exp, and the tour of similarity: what their pages claim."""

import numpy as np
import pytest
import sympy
from scipy.signal import correlate2d

from regard.reproduce import paper, why_exp
from regard.reproduce import similarity as tour
from regard.reproduce.request import Asked
from regard.similarity import FAMILIES, average, resolve, weights
from regard.similarity.families import exp

A, B, M = sympy.symbols("a b m", positive=True)
SYMBOLS = {
    "exp": sympy.exp,
    "power": lambda v: v**3,
    "sigmoid": lambda v: 1 / (1 + sympy.exp(-v)),
    "softplus": lambda v: sympy.log(1 + sympy.exp(v)),
    "linear": lambda v: v,
    "quadratic": lambda v: v**2,
}
OTHERS = [name for name in FAMILIES if name not in ("exp", "rank")]


def sensitivity(F):
    """dw/dm of the first of two objects with dot products a + m and b + m."""
    return sympy.simplify(sympy.diff(F(A + M) / (F(A + M) + F(B + M)), M))


@pytest.fixture
def scores():
    X, _ = why_exp.load("wine")
    return resolve("scaled_dot").compare(X, X)


# -- why exp -------------------------------------------------------------------------------------------------------


def test_the_formulas_are_those_of_the_families():
    v = np.linspace(0.1, 4, 9)
    for name, F in SYMBOLS.items():
        np.testing.assert_allclose(FAMILIES[name](v), sympy.lambdify(A, F(A))(v), rtol=1e-12)


def test_weights_of_exp_do_not_depend_on_a_common_shift():
    assert sensitivity(SYMBOLS["exp"]) == 0


@pytest.mark.parametrize("name", OTHERS)
def test_weights_of_every_other_family_do(name):
    slope = sensitivity(SYMBOLS[name])

    assert slope != 0
    assert abs(float(slope.subs({A: 1, B: 2, M: sympy.Rational(1, 2)}))) > 1e-3


@pytest.mark.parametrize("m", [0.01, 1.0, 30.0])
def test_on_data_exp_keeps_its_weights_and_every_other_family_moves_them(scores, m):
    np.testing.assert_allclose(weights(scores + m), weights(scores), atol=1e-12)
    assert why_exp.shifted(scores, exp, m) < 1e-12
    for name in OTHERS:
        assert why_exp.shifted(scores, FAMILIES[name], m) > 1e-4, name


def test_averages_of_exp_do_not_see_a_common_shift_either(scores):
    def raised(query, key):
        return resolve("scaled_dot").compare(query, key) + 7.0

    X, _ = why_exp.load("wine")
    np.testing.assert_allclose(average(X, similarity=raised), average(X, similarity="scaled_dot"), atol=1e-12)


def test_with_the_bias_of_each_key_dot_products_weigh_as_distances_do():
    X, _ = why_exp.load("wine")
    found = why_exp.constant_squares(X)
    unit = why_exp.constant_squares(X / np.linalg.norm(X, axis=1, keepdims=True))

    assert found["bias"] < 1e-10
    assert found["dot"] > 0.1
    assert unit["spread"] < 1e-12
    assert unit["dot"] < 1e-10


def test_a_common_component_is_the_same_for_all():
    X = np.zeros((200, 5))
    noise = why_exp.noisy(X, 1.0, 10.0, 0)

    assert np.abs(noise.mean(axis=0)).max() > 3
    np.testing.assert_allclose(noise.std(axis=0), 1, atol=0.2)


def test_averaging_measures_every_family_on_every_fold():
    found = why_exp.averaging({"data": "wine", "size": 0.5, "common": 1.0, "folds": 3, "seed": 0})

    for by in found.values():
        assert {key.split(" ")[0] for key in by} == {"no", *why_exp.SETTINGS}
        assert all(len(one["test"]) == 3 and len(one["chosen by"]) == 2 for one in by.values())
        assert np.mean(by["exp 1"]["test"]) > 0.85
        assert why_exp.chosen(by, by, "exp") in [by[f"exp {value:g}"]["test"] for value in why_exp.SETTINGS["exp"]]


# -- the tour ------------------------------------------------------------------------------------------------------


def test_a_and_b_recommend_to_each_other():
    (table,) = tour.persons().shown

    assert [row[-1] for row in table.rows] == ["basketball shoes", "bicycle lamp, keyboard", "nothing"]


def test_a_convolution_is_a_dense_layer_with_nine_weights():
    rng = np.random.default_rng(0)
    kernel, image = rng.normal(size=(3, 3)), rng.normal(size=(28, 28))

    dense = tour.dense_of(kernel, 28, 28)

    assert dense.size == 614_656
    assert len(np.unique(dense[dense != 0])) == 9
    expected = correlate2d(image, kernel, mode="same").ravel()
    np.testing.assert_allclose(dense @ image.ravel(), expected, rtol=0, atol=1e-12)


def test_the_sigmoid_is_a_distance_from_the_line():
    text = tour.sigmoid_distance().text

    off = float(text.split("at most ")[1].split(". ")[0])
    assert off < 1e-12


def test_who_is_similar_beats_who_is_popular():
    rows = {row[0]: row for row in tour.recommendation().shown[0].rows}
    nearest = rows["similar persons (cosine, the 50 nearest)"]

    assert float(nearest[1][:-1]) > float(rows["popularity"][1][:-1]) > float(rows["by chance"][1][:-1])


def test_the_transformer_and_the_convolution_have_about_as_many_weights():
    torch = pytest.importorskip("torch")
    from regard.systems.vision import Convolutional, VisionTransformer

    sizes = [sum(p.numel() for p in make().parameters()) for make in (Convolutional, VisionTransformer)]
    assert 0.8 < sizes[0] / sizes[1] < 1.25
    for make in (Convolutional, VisionTransformer):
        assert make()(torch.zeros(3, 64)).shape == (3, 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["why-exp", "similarity"])
def test_the_pages_are_made(name, tmp_path):
    found = paper(name).reproduce(Asked("page", quick=True, out=tmp_path))

    assert found.read_text().startswith("# ")
    assert len(list((tmp_path / found.stem).glob("*.svg"))) >= 6
