"""What is said about whether the scores of a model can be read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import AttentionClassifier
from regard.corpus import demo
from regard.explain import directions, reading
from regard.explain.findings import area_under_curve, cautions
from regard.models.vectors import Vectors
from tests.explain.fake import FakeModel


@pytest.fixture(scope="module")
def table():
    corpus = demo().part("train")
    return AttentionClassifier(random_state=0).fit(corpus.texts, corpus.labels).model_


def with_vectors(table, *, scale=10.0, cosine=0.0, width=100, attention=None):
    """The table as a model whose numbers were read off vectors."""
    v, w = np.zeros(width), np.zeros((width, 1))
    v[0] = 3.0
    w[:2, 0] = 2 * cosine, 2 * np.sqrt(1 - cosine**2)
    space = Vectors(np.zeros((len(table), width)), v, w, scale)
    return replace(table, space=space, attention=table.attention if attention is None else attention)


def finding(model, name):
    return next(found for found in reading(model) if found.name == name)


# -- scale ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "verdict"),
    [
        (0.001, "no"),
        (0.99, "no"),
        (1, "caution"),
        (9.9, "caution"),
        (10, "ok"),
        (20, "ok"),
        (50, "ok"),
        (100, "caution"),
        (10_000, "no"),
    ],
)
def test_a_scale_from_the_root_of_the_width_to_fifty_can_be_read(table, scale, verdict):
    found = finding(with_vectors(table, scale=scale), "scale λ")

    assert found.verdict == verdict
    assert found.value == scale
    assert "√d = 10 to 50" in found.meaning
    if verdict != "ok":
        assert ("at least 10" if scale < 10 else "at most 50") in found.change


@pytest.mark.parametrize("scale", [0.001, 10_000.0])
def test_every_scale_of_a_table_can_be_read(scale):
    corpus = demo().part("train")
    clf = AttentionClassifier(scale=scale, epochs=1).fit(corpus.texts, corpus.labels)
    found = finding(clf, "scale λ")

    assert found.verdict == "ok"
    assert "only the unit" in found.meaning


# -- directions ----------------------------------------------------------------------------------------------------


def test_directions_are_products_lengths_and_the_angle(table):
    found = directions(with_vectors(table, cosine=0.5))

    assert found.dot == pytest.approx([3.0])
    assert found.attention_norm == pytest.approx(3.0)
    assert found.output_norm == pytest.approx([2.0])
    assert found.angle == pytest.approx([60.0])


def test_directions_have_an_entry_for_each_of_more_classes():
    generator = np.random.default_rng(0)
    v, w = generator.normal(size=5), generator.normal(size=(5, 3))
    model = AttentionClassifier().fit(["a b", "c d", "e f"] * 5, ["x", "y", "z"] * 5).model_
    found = directions(replace(model, space=Vectors(np.zeros((len(model), 5)), v, w, 2.0)))

    np.testing.assert_allclose(found.dot, v @ w)
    np.testing.assert_allclose(found.output_norm, np.linalg.norm(w, axis=0))
    cosines = (v @ w) / (np.linalg.norm(v) * np.linalg.norm(w, axis=0))
    np.testing.assert_allclose(found.angle, np.degrees(np.arccos(cosines)))


def test_the_additive_score_is_read_through_its_matrix(table):
    matrix = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    space = Vectors(np.zeros((len(table), 2)), np.array([1.0, 0.0, 5.0]), np.eye(2)[:, 1:], 1.0, additive=matrix)
    found = directions(replace(table, space=space))

    assert (found.dot[0], found.attention_norm, found.angle[0]) == (2.0, 2.0, 0.0)


@pytest.mark.parametrize(
    ("cosine", "scale", "verdict"),
    [
        (0.0, 10, "ok"),
        (0.29, 10, "ok"),
        (-0.29, 10, "ok"),
        (0.31, 10, "caution"),
        (-0.79, 10, "caution"),
        (0.81, 10, "no"),
        # A large λ makes more of the same angle, in attention; a small one does, in polarity.
        (-0.12, 20, "ok"),
        (-0.14, 50, "caution"),
        (-0.15, 100, "no"),
        (0.02, 1, "ok"),
        (0.05, 1, "caution"),
        (-0.09, 1, "no"),
    ],
)
def test_the_lean_of_attention_towards_polarity_is_judged_with_the_scale(table, cosine, scale, verdict):
    found = finding(with_vectors(table, cosine=cosine, scale=scale), "cosine of V and W")

    assert found.verdict == verdict
    assert found.value == pytest.approx(cosine)
    if verdict != "ok":
        favoured = "positive" if cosine > 0 else "negative"
        where = f"words for {favoured!r} get attention" if scale >= 10 else f"are pushed towards {favoured!r}"
        assert where in found.meaning
        assert "balance of the classes" in found.meaning


def test_what_all_classes_share_is_no_lean():
    model = AttentionClassifier().fit(["a b", "c d", "e f"] * 5, ["x", "y", "z"] * 5).model_
    v = np.array([1.0, 0.0, 0.0])
    apart = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    shared = apart + 5 * v[:, None]
    found = finding(replace(model, space=Vectors(np.zeros((len(model), 3)), v, shared, 2.0)), "cosine of V and W")
    assert (found.verdict, found.value) == ("ok", pytest.approx(0, abs=1e-12))

    leaning = shared + np.array([[-2.0, 1.0, 1.0], [0, 0, 0], [0, 0, 0]])
    found = finding(replace(model, space=Vectors(np.zeros((len(model), 3)), v, leaning, 2.0)), "cosine of V and W")
    assert found.verdict == "no"
    assert "words for all but 'x'" in found.meaning


def test_directions_that_are_zero_have_no_angle(table):
    space = Vectors(np.zeros((len(table), 4)), np.zeros(4), np.ones((4, 1)), 2.0)
    model = replace(table, space=space)

    assert np.isnan(directions(model).angle).all()
    found = finding(model, "cosine of V and W")
    assert (found.verdict, found.value) == (None, None)
    assert "learned nothing yet" in found.meaning


# -- words ---------------------------------------------------------------------------------------------------------


def test_polar_words_that_are_louder_than_neutral_ones_can_be_read(table):
    found = finding(table, "polar words above neutral ones")
    codes = table.kind_codes()
    pairs = table.attention[codes >= 2][:, None] - table.attention[codes == 1][None, :]

    assert found.verdict == "ok"
    assert found.value == pytest.approx(((pairs > 0) + (pairs == 0) / 2).mean(), abs=1e-12)


def test_one_quiet_kind_is_enough_for_a_caution(table):
    codes = table.kind_codes()
    attention = table.attention.copy()
    attention[codes == 2] = attention[codes == 1].min() - 1  # negative words, as with a large λ and V·W above zero
    found = finding(with_vectors(table, attention=attention), "polar words above neutral ones")

    assert found.verdict == "no"
    assert found.value > 0.3
    assert "one of the kind 'negative' in 0.0%" in found.meaning


def test_few_words_of_a_kind_are_said_to_be_few():
    found = finding(FakeModel(["one two three"]), "polar words above neutral ones")

    assert (found.verdict, found.value) == (None, None)
    assert "0 negative, 0 positive, 3 neutral" in found.meaning


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
)
def test_a_tie_counts_half(above, below):
    slow = np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a in above for b in below])

    assert area_under_curve(np.array(above, float), np.array(below, float)) == pytest.approx(slow, abs=1e-12)


def test_cautions_are_the_findings_that_do_not_hold(table):
    doubtful = with_vectors(table, scale=100, cosine=0.9)

    assert cautions(reading(table)) == []
    assert [found.name for found in cautions(reading(doubtful))] == ["scale λ", "cosine of V and W"]
