"""Removing words that take their phrases along, beside running the model again without them."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import AttentionClassifier
from regard.audit import audit
from regard.audit.linear import Covers, LinearBatch, ModelSource
from tests.audit.cases import chances_of, documents, label_of, score_of

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "classes": st.integers(2, 4),
        "longest": st.integers(1, 4),
        "far": st.sampled_from([0.1, 1.0, 5.0, 40.0]),
        "bias": st.sampled_from([0.0, 0.5]),
        "whole": st.booleans(),
    }
)


def phrased_batch(seed, classes=2, longest=2, far=1.0, bias=0.5, most=11, n=2, whole=False):
    """Random documents with phrases of up to ``longest`` words; ``whole`` numbers make ties."""
    generator = np.random.default_rng(seed)
    sides = 1 if classes == 2 else classes
    words, lengths, sizes, counts = [], [], [], []
    for _ in range(n):
        size = int(generator.integers(1, most + 1))
        units = [
            (i, length)
            for i in range(size)
            for length in range(1, min(longest, size - i) + 1)
            if length == 1 or generator.random() < 0.7
        ]
        words += [i for i, _ in units]
        lengths += [length for _, length in units]
        sizes.append(size)
        counts.append(len(units))
    total = len(words)
    said = generator.integers(-2, 3, (total, sides)) if whole else 2 * generator.normal(size=(total, sides))
    attention = np.zeros(total) if whole else far * generator.normal(size=total)
    covers = Covers(np.array(words, np.int32), np.array(lengths, np.int32), np.append(0, np.cumsum(sizes)))
    return LinearBatch(
        0,
        np.append(0, np.cumsum(counts)),
        np.arange(total),
        attention,
        said.astype(float),
        (0.0 if whole else bias) * generator.normal(size=sides),
        np.arange(total),
        covers,
    )


def without(batch, d, part, gone):
    """The units that stay when some words of a document go."""
    covers = batch.covers
    return [
        j - part.start
        for j in range(part.start, part.stop)
        if gone.isdisjoint(range(covers.words[j], covers.words[j] + covers.lengths[j]))
    ]


def label_without(batch, d, part, gone):
    """Softmax, up to what it divides by: whole numbers are then added up without rounding, so that ties are ties."""
    kept = part.start + np.array(without(batch, d, part, set(gone)))
    return label_of(np.exp(batch.attention[kept] - batch.attention[kept].max()) @ batch.said[kept])


@given(shapes)
def test_the_fewest_words_are_those_of_all_subsets(shape):
    batch = phrased_batch(**shape)
    sizes = np.diff(batch.covers.starts)

    found, explained = batch.fewest_words(), batch.explained

    for d, part in documents(batch):
        expected = 0
        for k in range(1, sizes[d]):
            sets = itertools.combinations(range(sizes[d]), k)
            if any(label_without(batch, d, part, gone) != explained[d] for gone in sets):
                expected = k
                break
        assert found[d] == expected


@given(shapes)
def test_erasing_words_is_running_the_model_again_after_each(shape):
    batch = phrased_batch(**shape)
    starts = batch.covers.starts
    generator = np.random.default_rng(shape["seed"])
    order = np.concatenate([generator.permutation(n) for n in np.diff(starts)]).astype(np.int32)

    found = batch.erase_words(order)

    for d, part in documents(batch):
        places = order[starts[d] : starts[d + 1]].tolist()
        flips = [k for k in range(1, len(places)) if label_without(batch, d, part, places[:k]) != batch.explained[d]]
        assert found[d] == (flips[0] if flips else 0)


@given(shapes)
def test_leaving_a_word_out_is_running_the_model_again_without_it(shape):
    batch = phrased_batch(**shape)
    starts = batch.covers.starts

    change = batch.word_rankings()["leave one out"]

    for d, part in documents(batch):
        label = batch.explained[d]
        for i in range(starts[d + 1] - starts[d]):
            score = score_of(batch, part, without(batch, d, part, {i}))
            expected = batch.chances[d, label] - chances_of(score)[label]
            np.testing.assert_allclose(change[starts[d] + i], expected, rtol=1e-9, atol=1e-10)


@given(shapes)
def test_what_words_are_given_is_what_their_units_have(shape):
    batch = phrased_batch(**shape)

    shared = batch.word_rankings()["attention"]

    np.testing.assert_allclose(np.add.reduceat(shared, batch.covers.starts[:-1]), 1.0)


@given(shapes)
def test_without_phrases_words_are_units(shape):
    batch = phrased_batch(**{**shape, "longest": 1, "whole": False})

    np.testing.assert_array_equal(batch.fewest_words(), batch.fewest())


def test_logits_too_far_apart_are_undefined_not_wrong():
    batch = phrased_batch(0, far=1000.0, n=5, most=8)

    assert set(batch.fewest_words()[np.diff(batch.covers.starts) > 2]) == {-1}


@pytest.fixture(scope="module")
def model():
    texts = ["not good at all", "good film", "not bad at all", "bad film", "very good", "very bad"] * 5
    return AttentionClassifier(n_threads=1, validation_fraction=0).fit(texts, ["-", "+", "+", "-", "+", "-"] * 5).model_


def test_masking_words_of_a_model_is_what_the_audit_removes(model):
    text = "not good at all zzz very good film"
    batch = next(iter(ModelSource(model).batches([text])))
    known = [i for i, word in enumerate(text.split()) if word != "zzz"]
    predicted = model.scores([text])[0, 0] > 0

    expected = 0
    for k in range(1, len(known)):
        sets = itertools.combinations(known, k)
        if any((model.attend(text, frozenset(gone)).scores[0] > 0) != predicted for gone in sets):
            expected = k
            break

    assert batch.fewest_words().tolist() == [expected]
    assert expected > 0


def test_an_audit_shows_words_beside_units(model):
    found = audit(model, ["not good at all", "very good film", "zzz", "bad"], n_threads=1)

    words, units = found["word flips"], found["flips"]
    assert "masked" in words.removal
    assert words["fraction to flip: optimum"].undefined == 1
    assert words["ratio to the optimum: attention"].optimum in (None, 1.0)
    assert words["fraction to flip: attention"].random is not None
    assert units.formula != words.formula


def test_a_model_of_words_alone_has_one_such_test():
    clf = AttentionClassifier(n_threads=1, ngrams=1, validation_fraction=0).fit(["good", "bad"] * 5, ["+", "-"] * 5)

    assert "word flips" not in [result.name for result in audit(clf, ["good bad"], n_threads=1).results]


def test_a_long_text_takes_milliseconds():
    batch = phrased_batch(1, most=5000, n=1)
    while np.diff(batch.covers.starts)[0] < 4000:
        batch = phrased_batch(int(batch.starts[-1]), most=5000, n=1)
    batch.fewest_words()

    began = time.perf_counter()
    found = batch.fewest_words()

    assert time.perf_counter() - began < 1.0
    assert found[0] != -1
