"""Reports as data, and the page as text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.explain import leaders, reading
from regard.models import AttentionClassifier, HardmaxClassifier, load_model
from regard.models.vectors import Vectors
from regard.report import Assessment, Epoch, assess, report
from regard.report.alphabet import alphabet
from regard.report.page import SECTIONS
from regard.tokens import rule, tokenize
from tests.strategies import any_text


@pytest.fixture(scope="module")
def fitted():
    corpus = demo()
    train, test = corpus.part("train"), corpus.part("test")
    return AttentionClassifier(random_state=0).fit(train.texts, train.labels), test


@pytest.fixture(scope="module")
def made(fitted):
    clf, test = fitted
    return report(clf, test.texts, test.labels, name="demo")


# -- data ----------------------------------------------------------------------------------------------------------


def test_the_overview_says_what_the_classifier_says(fitted, made):
    clf, test = fitted
    found = made.overview.assessments[0]

    assert found.accuracy == clf.score(test.texts, test.labels)
    assert np.array_equal(found.confusion, confusion_matrix(test.labels, clf.predict(test.texts)))
    assert found.texts == sum(each.texts for each in found.calibration) == len(test)


def test_a_model_alone_shows_what_it_knows_and_no_more(fitted):
    form = report(fitted[0]).to_dict()

    assert set(form) == {"overview", "map", "words", "reading", "exact"}
    assert form["overview"]["mistakes"] == ()


def test_texts_without_labels_are_shown_without_a_verdict(fitted):
    form = report(fitted[0], ["a good film", "a bad film"]).to_dict()

    assert [item["correct"] for item in form["documents"]["items"]] == [None, None]
    assert form["overview"]["mistakes"] == ()


def test_the_most_confident_mistakes_come_first(made):
    wrong = [item.probability for item in made.documents.items if item.correct is False]

    assert wrong == sorted(wrong, reverse=True)
    assert len(wrong) == made.documents.wrong
    assert [mistake.probability for mistake in made.overview.mistakes] == wrong[:8]
    for mistake in made.overview.mistakes:
        assert made.documents.items[mistake.document].row == mistake.row


def test_a_mistake_that_is_too_long_to_be_browsed_is_listed_all_the_same(fitted):
    found = report(fitted[0], ["awful " * 10_000, "good"], ["positive", "positive"])

    assert [(m.row, m.document) for m in found.overview.mistakes] == [(0, None)]
    assert [item.row for item in found.documents.items] == [1]


def test_the_page_may_be_kept_free_of_texts(fitted):
    clf, test = fitted
    empty = report(clf, test.texts, test.labels, documents=0)

    assert empty.documents is None
    assert empty.overview.mistakes == ()
    assert empty.overview.assessments[0].confusion is not None


def test_the_map_has_every_word_where_the_table_has_it(fitted, made):
    model = fitted[0].model_

    assert made.map.word == model.vocabulary.names()
    assert np.array_equal(made.map.attention, model.attention)
    assert np.array_equal(np.array(made.map.kinds)[made.map.kind], model.kinds())


def test_a_phrase_that_turns_its_word_takes_the_other_side(made):
    turns = {turn.phrase.text: turn for turn in made.words.turns}

    assert any(name.startswith("not ") for name in turns)
    for turn in turns.values():
        assert turn.phrase.text.endswith(f" {turn.word.text}")
        assert turn.phrase.polarity * turn.word.polarity < 0


def test_the_json_form_is_json_and_holds_the_same(made):
    form = json.loads(made.to_json())

    assert form["overview"]["assessments"][0]["accuracy"] == made.overview.assessments[0].accuracy
    assert len(form["documents"]["items"]) == len(made.documents.items)
    assert form["map"]["word"] == made.map.word


def test_the_report_says_whether_scores_can_be_read_as_data_and_on_the_page(fitted, made):
    assert list(made.reading) == reading(fitted[0])
    assert made.to_dict()["reading"][0]["verdict"] == "ok"
    page = made.to_html()
    for finding in made.reading:
        assert finding.meaning in page
        assert finding.change not in page  # nothing needs to change


def test_a_model_whose_scores_cannot_be_read_is_told_what_to_change(fitted):
    size = len(fitted[0].model_)
    leaning = Vectors(np.zeros((size, 100)), np.ones(100), np.ones((100, 1)), 10_000.0)
    made = report(replace(fitted[0].model_, space=leaning))
    scale, lean, _ = made.reading

    assert (scale.verdict, lean.verdict) == ("no", "no")
    page = made.to_html()
    for finding in (scale, lean):
        assert finding.meaning.replace("'", "&#39;") in page
        assert finding.change in page
    assert json.loads(made.to_json())["reading"][0]["change"] == scale.change


def test_the_course_of_the_training_is_shown_where_it_was_kept(fitted):
    about = {"validation": {"course": [0.5, 0.3, 0.4]}, "epochs": 2}
    page = report(replace(fitted[0].model_, about=about)).to_html()

    assert "epoch 1: 0.5000, epoch 2: 0.3000, epoch 3: 0.4000" in page
    assert "accuracy by epoch" not in page


def test_what_a_network_saw_at_every_epoch_is_shown(fitted):
    course = [{"loss": 0.9, "log_loss": 0.7, "accuracy": 0.6}, {"loss": 0.5, "log_loss": 0.6, "accuracy": 0.75}]
    made = report(replace(fitted[0].model_, about={"course": course, "epochs": 1}))

    assert made.overview.course == (Epoch(0.9, 0.7, 0.6), Epoch(0.5, 0.6, 0.75))
    page = made.to_html()
    assert "on held-out texts: epoch 1: 0.7000, epoch 2: 0.6000; on training texts: epoch 1: 0.9000" in page
    assert "epoch 1: 60.0%, epoch 2: 75.0%" in page
    assert ">kept<" in page


def test_a_section_is_one_entry_with_a_field_and_a_template(made):
    names = [section.name for section in SECTIONS]

    assert len(set(names)) == len(names)
    for section in SECTIONS:
        assert hasattr(made, section.data)
        assert (f'<section id="{section.name}"' in made.to_html()) == bool(getattr(made, section.data))
    # What the JSON form has is on the page.
    assert set(made.to_dict()) == {section.data for section in SECTIONS if getattr(made, section.data)}


def test_an_assessment_survives_the_model_file(fitted, tmp_path):
    clf, test = fitted
    found = assess(clf.model_.scores(test.texts), test.labels, clf.classes_)
    replace(clf.model_, about={"assessment": found.to_dict()}).save(tmp_path / "demo.regard")

    alone = report(load_model(tmp_path / "demo.regard"))

    assert alone.overview.assessments == (found,)


def test_a_label_that_the_model_does_not_know_is_an_error_of_the_prediction():
    scores = np.array([[2.0], [2.0], [-2.0]])
    found = assess(scores, np.array(["b", "c", "a"]), np.array(["a", "b"]))

    assert found.unknown == 1
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.confusion == ((1, 0), (0, 1))


@given(st.lists(st.tuples(st.floats(-8, 8), st.booleans()), min_size=1, max_size=50))
def test_calibration_counts_every_text_once_and_its_intervals_hold_the_share(pairs):
    scores = np.array([[score] for score, _ in pairs])
    labels = np.array([int(label) for _, label in pairs])
    found = assess(scores, labels, np.array([0, 1]))

    assert sum(each.texts for each in found.calibration) == len(pairs)
    for each in found.calibration:
        assert each.low <= each.mean <= each.high
        assert each.lower - 1e-12 <= each.share <= each.upper + 1e-12
    assert Assessment.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_what_cannot_be_reported_is_said_in_a_sentence(fitted):
    with pytest.raises(DataError, match="without texts"):
        report(fitted[0], labels=["positive"])
    with pytest.raises(DataError, match="model's kind"):
        report(fitted[0], ["good"], [1])
    with pytest.raises(SettingError, match="documents"):
        report(fitted[0], documents=-1)


def test_a_class_may_be_called_like_a_kind():
    texts = ["fine thing", "poor thing", "grey thing"] * 10
    model = AttentionClassifier(validation_fraction=0).fit(texts, ["neutral", "none", "grey"] * 10).model_

    assert model.kind_codes()[model.vocabulary.row("fine")] == 2 + 1


# -- models that read words in their surroundings ------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'regard[torch]'")
    from regard.models import NeuralAttentionClassifier

    corpus = demo(300)
    mixed = [" but " in text.lower() for text in corpus.texts]
    labels = ["mixed" if both else label for both, label in zip(mixed, corpus.labels.tolist(), strict=True)]
    settings = {"encoder": "conv", "dim": 8, "epochs": 5, "validation_fraction": 0.2, "random_state": 0}
    return NeuralAttentionClassifier(**settings).fit(corpus.texts, labels), corpus.texts, labels


def test_documents_of_an_encoder_are_shown_as_the_model_said_them(reader):
    clf, texts, labels = reader
    made = report(clf, texts, labels, documents=20)

    assert not made.exact
    assert len({item.prediction for item in made.documents.items}) > 1
    for item in made.documents.items:
        said = clf.model_.attend(item.text)
        assert [(p.row, p.first, p.last) for p in item.parts] == [(p.row, p.first, p.last) for p in said.places]
        assert [p.weight for p in item.parts] == pytest.approx(said.weights, abs=1e-6)
        side = said.scores.argmax()
        assert clf.classes_[side] == item.prediction
        total = clf.model_.bias[side] + sum(p.weight * p.polarity for p in item.parts)
        assert total == pytest.approx(said.scores[side], abs=1e-5)


def test_a_model_that_the_page_cannot_be_is_not_said_to_be_in_it(reader):
    clf, texts, labels = reader
    page = report(clf, texts, labels, documents=20).to_html()

    assert "it is the model" not in page
    assert 'id="try"' not in page
    assert 'href="#try"' not in page


# -- the page ------------------------------------------------------------------------------------------------------


def test_the_page_is_closed_and_its_policy_names_what_it_holds(made):
    page = made.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")

    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"https?://|\ssrc=|@import|url\(", page)
    assert " style=" not in page


def test_sections_without_data_are_absent(fitted):
    page = report(replace(fitted[0].model_, about={})).to_html()

    for absent in ('id="documents"', 'href="#documents"', "mistakes", "confusion-title", "course-name", "figures"):
        assert absent not in re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)


def test_hostile_names_are_escaped():
    evil = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>"]
    texts = ["one </title><b>", "two \u2028 \u202e"] * 5
    model = AttentionClassifier(min_count=1, validation_fraction=0).fit(texts, evil * 5)
    page = report(model, [*texts, "\ud800 one two"], [*(evil * 5), evil[0]], name=evil[0]).to_html()

    assert page.count("<script") == 2
    assert "<img" not in page
    assert "<b>" not in page


def test_the_page_unpacks_to_the_very_numbers(made):
    text = re.search(r'id="packed">([^<]*)<', made.to_html())[1]
    content = zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS)
    size = int.from_bytes(content[:4], "little")
    head, at = json.loads(content[4 : 4 + size]), 4 + size
    arrays = {}
    for name, (kind, length) in head["arrays"].items():
        width = np.dtype(kind).itemsize
        planes = np.frombuffer(content[at : at + width * length], np.uint8).reshape(width, length)
        arrays[name] = np.ascontiguousarray(planes.T).view(f"<{kind}").reshape(-1)
        at += width * length

    assert at == len(content)
    codes, alone = arrays["records"].astype(int), arrays["records"].max() + np.cumsum(arrays["records"] == 0) - 1
    line = np.where(codes > 0, codes - 1, alone)
    assert np.array_equal(arrays["attention"][line], made.model.attention)
    assert np.array_equal(arrays["polarity"][line], made.model.polarity[:, 0])
    assert np.array_equal(arrays["counts"].reshape(2, -1).T[line], made.model.counts)
    assert np.array_equal(arrays["kinds"][line], made.model.kind_codes())


def test_a_notebook_shows_the_page_or_its_first_lines(made, monkeypatch):
    assert made._repr_html_().startswith("<iframe srcdoc=")

    monkeypatch.setattr("regard.report.page._IN_A_CELL", 10)
    assert "too large for a notebook" in made._repr_html_()


def test_saving_replaces_the_page_in_one_step(made, tmp_path):
    made.save(tmp_path / "a.html")

    assert (tmp_path / "a.html").read_text("utf-8") == made.to_html()
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


# -- the rule for another engine -----------------------------------------------------------------------------------


def spelled_out():
    """The rule with its classes spelled out, as the page builds it."""
    known = alphabet()

    def spell(match):
        out, at = "[", 0
        runs = known["classes"][match[1]]
        for gap, length in zip(runs[::2], runs[1::2], strict=True):
            at += gap
            out += f"\\U{at:08x}-\\U{at + length - 1:08x}"
            at += length
        return out + "]"

    return regex.compile(regex.sub(r"«(\w+)»", spell, known["rule"]))


_SPELLED_OUT = spelled_out()


@given(any_text)
def test_the_rule_with_its_classes_spelled_out_is_the_rule(text):
    found = [(m.start(), m.end()) for m in _SPELLED_OUT.finditer(text) if m[1] is not None]

    assert found == [(token.start, token.end) for token in tokenize(text)]


def test_the_replacements_are_those_of_the_normal_form():
    assert dict(alphabet()["same"]) == {chr(a): b or "" for a, b in rule._SAME.items()}


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_leaders_are_shown_of_a_hardmax_model_and_of_no_other(dim, made):
    corpus = demo()
    texts, labels = corpus.texts[:400], corpus.labels[:400]
    model = HardmaxClassifier(dim=dim, alpha=1.0, epochs=1).fit(texts, labels)
    found = report(model, texts[:80], labels[:80])

    assert made.leaders is None
    assert 'id="leaders"' not in made.to_html()
    assert found.leaders.texts == 80
    assert 'id="leaders"' in found.to_html()
    assert found.leaders.plane == (dim == 2)
    for journey in found.leaders.items:
        told = leaders(model, journey.text)
        assert [word.text for word in journey.words] == [point.text for point in told.points]
        assert [word.leader for word in journey.words] == [point.leader for point in told.points]
        assert all(len(word.path) == 9 for word in journey.words)
        if dim == 2:
            np.testing.assert_allclose([word.path[8] for word in journey.words], told.path[8], atol=1e-4)
    assert json.loads(found.to_json())["leaders"]["texts"] == 80
