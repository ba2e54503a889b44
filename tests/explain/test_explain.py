"""Explanations add up, exactly, and say where each part stands."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import AttentionClassifier
from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.explain import explain
from tests.strategies import any_text


@pytest.fixture(scope="module")
def two():
    corpus = demo().part("train")
    return AttentionClassifier(ngrams=3).fit(corpus.texts, corpus.labels)


@pytest.fixture(scope="module")
def three():
    texts = ["cats purr loudly", "dogs bark loudly", "fish swim quietly"] * 10
    return AttentionClassifier().fit(texts, ["cat", "dog", "fish"] * 10)


demo_words = st.lists(
    st.sampled_from(
        [
            "the",
            "a",
            "was",
            "not",
            "good",
            "bad",
            "great",
            "never",
            "boring",
            "awful",
            "film",
            "room",
            "staff",
            "very",
            "but",
            "and",
            "!",
            "?",
        ]
    ),
    max_size=40,
).map(" ".join)


@given(text=st.one_of(demo_words, any_text))
def test_contributions_add_up_to_the_score(two, text):
    explanation = explain(two, text)[0]

    total = explanation.bias + math.fsum(part.contribution for part in explanation.parts)
    assert explanation.score == pytest.approx(total, abs=1e-12)
    assert abs(explanation.residual) < 1e-12
    words = explanation.bias + math.fsum(word.contribution for word in explanation.words)
    assert explanation.score == pytest.approx(words, abs=1e-9)


@given(text=st.one_of(demo_words, any_text))
def test_the_explained_score_is_the_predicted_score(two, text):
    explanation = explain(two, text)[0]

    assert explanation.score == pytest.approx(two.decision_function([text])[0], abs=1e-9)
    assert explanation.prediction == two.predict([text])[0]
    assert explanation.probability == pytest.approx(two.predict_proba([text]).max(), abs=1e-12)


@given(text=demo_words)
def test_weights_are_shares_of_one(two, text):
    explanation = explain(two, text)[0]

    total = sum(part.weight for part in explanation.parts)
    assert total == pytest.approx(1.0 if explanation.parts else 0.0)
    assert sum(word.weight for word in explanation.words) == pytest.approx(total)


@given(text=any_text)
def test_spans_lead_back_to_the_text(two, text):
    from regard.tokens import tokenize

    for part in explain(two, text)[0].parts:
        assert " ".join(token.text for token in tokenize(text[part.start : part.end])) == part.text


@given(text=demo_words, data=st.data())
def test_masking_words_takes_their_rows_away(two, text, data):
    whole = explain(two, text)[0]
    masked = data.draw(st.sets(st.integers(0, max(0, len(whole.words) - 1)), max_size=len(whole.words)))

    rest = whole.without(masked)

    table = two.model_
    kept = [p.row for p in table.vocabulary.places(text) if masked.isdisjoint(range(p.first, p.last))]
    loud = np.exp(table.attention[kept].astype(float))
    expected = table.bias[0] + (loud @ table.polarity[kept, 0] / loud.sum() if kept else 0.0)
    assert rest.score == pytest.approx(expected, abs=1e-9)
    assert abs(rest.residual) < 1e-12


@pytest.mark.parametrize(("rate", "width"), [(1e6, 2), (1e12, 2), (1e300, 2), (1e12, 8), (1.0, 2)])
@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_contributions_add_up_at_wild_rates_and_scales_however_long_the_text(rate, width, scale):
    corpus = demo(400)
    model = AttentionClassifier(learning_rate=rate, width=width, scale=scale, epochs=2).fit(corpus.texts, corpus.labels)

    explanation = explain(model, " ".join(corpus.texts * 4))[0]

    assert len(explanation.words) > 30_000
    assert abs(explanation.residual) < 1e-9


def test_deleting_a_word_lets_its_neighbours_meet(two):
    text = "it was not very good"
    whole = explain(two, text)[0]
    very = [word.text for word in whole.words].index("very")

    deleted = whole.without([very], how="delete")
    masked = whole.without([very], how="mask")

    assert "not good" in {part.text for part in deleted.parts}
    assert "not good" not in {part.text for part in masked.parts}
    assert deleted.score == pytest.approx(two.decision_function(["it was not good"])[0])


def test_a_repeated_word_speaks_each_time(two):
    once, twice = explain(two, ["good table", "good table, good"])
    shares = [part.weight for part in twice.parts if part.text == "good"]

    assert len(shares) == 2
    assert shares[0] == shares[1]
    assert twice.score > once.score


def test_each_class_can_be_explained(three):
    for label in ["cat", "dog", "fish"]:
        explanation = explain(three, "cats bark", label=label)[0]
        assert explanation.label == label
        assert abs(explanation.residual) < 1e-12
    assert explain(three, "dogs bark")[0].label == "dog"


def test_wrong_requests_get_a_sentence(two, three):
    with pytest.raises(SettingError, match=r"Did you mean 'dog'"):
        explain(three, "x", label="dogg")
    with pytest.raises(SettingError, match="leave `label` out"):
        explain(two, "x", label="negative")
    with pytest.raises(DataError, match="got int at place 1"):
        explain(two, ["x", 3])
    with pytest.raises(SettingError, match="places from 0 to 0"):
        explain(two, "good")[0].without([5])


def test_pages_escape_hostile_texts(two):
    text = "<script>alert(1)</script> good \u202e <img src=x onerror=alert(1)>"
    page = explain(two, text)[0]._repr_html_()

    assert "<script" not in page
    assert "<img" not in page


def test_a_terminal_is_not_steered_by_a_text(two):
    shown = explain(two, "good \x1b[2J\x07 film \u202e")[0].to_rich().plain

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_json_form_holds_every_number(two):
    import json

    plain = json.loads(json.dumps(explain(two, "not good at all")[0].to_dict()))

    assert plain["prediction"] in {"positive", "negative"}
    assert {"text", "start", "end", "attention", "weight", "polarity", "contribution"} <= set(plain["words"][0])
