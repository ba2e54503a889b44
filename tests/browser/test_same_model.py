"""The page is the model: it cuts and predicts as Python does."""

from __future__ import annotations

import json
import math
import random

import pytest

from regard.explain import explain
from regard.tokens import tokenize
from tests.browser.conftest import hostile_text

pytestmark = pytest.mark.xdist_group("browser")

# Texts travel as ASCII, so that lone surrogates arrive as they are.
ASK = "text => JSON.stringify(JSON.parse(text).map(t => window.regard.predict(t)))"
FIELDS = ["text", "start", "end", "attention", "weight", "polarity", "contribution"]


def ask(page, texts):
    answers = []
    for i in range(0, len(texts), 200):
        answers += json.loads(page.evaluate(ASK, json.dumps(texts[i : i + 200])))
    return answers


def hostile_texts(n, seed):
    draw = random.Random(seed)
    return [
        "",
        " ",
        "\x00",
        "\ud800",
        "a" * 100_000,
        "<a " * 33_000,
        "1,1." * 25_000,
        "👨‍👩‍👧 " * 14_000,
        "".join(chr(c) for c in range(0x20, 0x3000)),
        *(chr(c) * 2 + "x" for c in range(0x0300, 0x0370)),
        *(hostile_text(draw) for _ in range(n)),
    ]


def everything_in_pieces():
    """Every character once, some at a time."""
    codes = [c for c in range(0x20, 0x32400) if not 0xD800 <= c < 0xE000] + list(range(0xE0000, 0xE0200))
    return ["".join(map(chr, codes[i : i + 300])) for i in range(0, len(codes), 300)]


def assert_the_same(clf, page, texts):
    for text, there in zip(texts, ask(page, texts), strict=True):
        here = explain(clf, text)[0]

        assert [list(token) for token in there["tokens"]] == [FIELDS] * len(here.words)
        assert [(t["text"], t["start"], t["end"]) for t in there["tokens"]] == [
            (w.text, w.start, w.end) for w in here.words
        ], repr(text)[:300]
        assert there["probabilities"] == pytest.approx(here.to_dict()["probabilities"], abs=1e-6)
        assert list(there) == ["prediction", "probabilities", "tokens", "residual"]
        assert there["prediction"] == here.prediction
        assert abs(there["residual"]) < 1e-9
        for token, word in zip(there["tokens"], here.words, strict=True):
            assert (token["attention"] is None) == (word.attention is None)
            if word.attention is not None:
                assert token["attention"] == word.attention
                assert token["polarity"] == word.polarity
            assert token["weight"] == pytest.approx(word.weight, abs=1e-9)
            assert token["contribution"] == pytest.approx(word.contribution, abs=1e-7)


def test_the_page_predicts_as_python_does_on_real_and_hostile_texts(open_page, demo_report, real_texts):
    clf, path = demo_report
    texts = [*real_texts, *hostile_texts(1200, seed=0)]
    assert len(texts) >= 2000

    assert_the_same(clf, open_page(path).page, texts)


def test_the_page_knows_phrases_of_three_words_and_many_classes(open_page, hostile_report, real_texts):
    clf, path = hostile_report

    assert_the_same(clf, open_page(path).page, [*real_texts[:100], *hostile_texts(300, seed=1)])


def test_the_page_of_a_model_with_vectors_predicts_as_python_does(open_page, loud_report, real_texts):
    clf, path = loud_report
    assert abs(clf.model_.attention).max() > 800

    assert_the_same(clf, open_page(path).page, [*real_texts[:100], *hostile_texts(100, seed=2)])


def test_the_page_sees_every_character_as_python_does(open_page, demo_report):
    texts = everything_in_pieces()

    answers = ask(open_page(demo_report[1]).page, texts)

    for text, answer in zip(texts, answers, strict=True):
        assert [(t["text"], t["start"], t["end"]) for t in answer["tokens"]] == tokenize(text), hex(ord(text[0]))


def test_settings_move_the_weights_as_the_formula_says(open_page, demo_report):
    clf, path = demo_report
    page = open_page(path).page
    text = "the room was not good and all staff were wonderful"

    def weights(**settings):
        parts = page.evaluate("([t, s]) => window.regard.explain(t, s).parts", [text, settings])
        rows = {}
        for part in parts:
            rows[part["row"]] = rows.get(part["row"], 0.0) + part["weight"]
        return rows

    as_trained, slow, quick = weights(), weights(slower=1e6), weights(slower=0.01)
    some, hard = weights(sharpness=0.5), weights(sharpness=1)
    loudest = max(as_trained, key=lambda row: clf.model_.attention[row])

    assert list(slow.values()) == pytest.approx([1 / len(slow)] * len(slow), abs=1e-4)
    assert quick[loudest] > 0.99
    assert hard[loudest] == 1
    assert sum(some.values()) == pytest.approx(1)
    assert sum(w == 0 for w in some.values()) > 0
    # Sparsemax in closed form: max(0, score - threshold).
    scores = {row: float(clf.model_.attention[row]) for row in some}
    kept = [row for row in some if some[row] > 0]
    threshold = (sum(scores[row] for row in kept) - 1) / len(kept)
    for row in some:
        assert some[row] == pytest.approx(max(0.0, scores[row] - threshold), abs=1e-6)


@pytest.mark.parametrize("sharpness", [0.2, 0.35, 0.7, 0.9])
def test_between_softmax_and_hardmax_weights_are_those_of_entmax(open_page, demo_report, sharpness):
    """With p = t/(1 - t), (weightᵖ - 1)/p - score is the same for all that are heard, and no more for the silent."""
    page = open_page(demo_report[1]).page
    texts = ["the room was not good and all staff were wonderful", "good", "bad bad good and loud", "a the of and to"]
    power = sharpness / (1 - sharpness)
    silent = 0
    for text in texts:
        parts = page.evaluate("([t, s]) => regard.explain(t, { sharpness: s }).parts", [text, sharpness])
        assert sum(part["weight"] for part in parts) == pytest.approx(1)
        levels = [(part["weight"] ** power - 1) / power - part["attention"] for part in parts]
        heard = [level for level, part in zip(levels, parts, strict=True) if part["weight"] > 0]
        assert heard == pytest.approx([heard[0]] * len(heard), abs=1e-6)
        for level, part in zip(levels, parts, strict=True):
            if part["weight"] == 0:
                silent += 1
                assert level >= heard[0] - 1e-9
    assert silent > 0 or sharpness < 0.5


@pytest.mark.parametrize("slower", [0.3, 3.0])
def test_the_scale_divides_the_attention_scores(open_page, demo_report, slower):
    page = open_page(demo_report[1]).page
    parts = page.evaluate("s => regard.explain('not good but all wonderful', { slower: s }).parts", slower)
    raw = [math.exp(part["attention"] / slower) for part in parts]

    assert [part["weight"] for part in parts] == pytest.approx([each / sum(raw) for each in raw])
