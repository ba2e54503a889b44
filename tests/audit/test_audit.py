"""An audit from end to end: what it says of models whose truth is known, and that its parts fit together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from regard import AttentionClassifier
from regard.audit import FileSource, FunctionSource, audit
from regard.audit.gates import gates
from regard.audit.linear import ModelSource
from regard.audit.sampling import Sampling, holm
from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.models.table import probabilities
from regard.tokens import tokenize


@pytest.fixture(scope="module")
def corpus():
    return demo(seed=0)


@pytest.fixture(scope="module")
def model(corpus):
    train = corpus.part("train")
    return AttentionClassifier(n_threads=1).fit(train.texts, train.labels).model_


@pytest.fixture(scope="module")
def test_part(corpus):
    part = corpus.part("test")
    return list(part.texts[:120]), list(part.labels[:120])


@pytest.fixture(scope="module")
def found(model, test_part):
    return audit(model, *test_part, n_threads=1)


def test_contributions_need_no_more_than_the_fewest(found):
    assert found["flips"]["ratio to the optimum: contribution"].value == 1.0
    assert found["flips"]["fraction to flip: contribution"].value == found["flips"]["fraction to flip: optimum"].value


def test_every_ranking_measure_stands_beside_a_random_control(found):
    for name in ("flips", "comprehensiveness", "curves", "monotonicity"):
        for measure in found[name].measures:
            if ": random" not in measure.name and ": optimum" not in measure.name and "removed" not in measure.name:
                assert measure.random is not None
                assert measure.spread is not None


def test_every_result_says_formula_direction_removal_and_scale(found):
    for result in found.results:
        assert result.formula
        assert result.direction
        assert result.removal
        assert result.scale


def test_texts_that_never_flip_are_counted_not_dropped(found, test_part):
    never = found["flips"]["never flips: attention"]
    assert never.documents == len(test_part[0])
    assert found["flips"]["fraction to flip: attention"].documents == len(test_part[0])


def test_a_ranking_that_never_flips_counts_as_one(model, test_part):
    source = FunctionSource(
        lambda texts: np.tile([0.9, 0.1], (len(texts), 1)), lambda text: np.ones(len(tokenize(text))), [0, 1]
    )

    flips = audit(source, test_part[0][:5])["flips"]

    assert flips["fraction to flip: scores"].value == 1.0
    assert flips["never flips: scores"].value == 1.0


def test_equal_seeds_give_equal_audits_whatever_the_threads(model, test_part, found):
    again = audit(model, *test_part, n_threads=2)

    assert [result.measures for result in again.results] == [result.measures for result in found.results]
    assert [result.comparisons for result in again.results] == [result.comparisons for result in found.results]
    assert again.verdict == found.verdict


def test_the_json_form_has_schema_seed_hash_and_versions_and_no_nan(found):
    form = json.loads(found.to_json())

    assert form["schema"] == 1
    assert form["seed"] == 0
    assert len(form["data"]) == 64
    assert {"regard", "numpy", "numba", "python"} <= set(form["versions"])
    assert form["texts"] == 120
    assert form["evaluations"] == 120 + len(form["examples"])
    assert all({"seconds", "evaluations", "instead"} <= set(test) for test in form["tests"])


def test_the_verdict_gives_three_numbers_and_what_to_show_instead(found):
    assert len(found.verdict.numbers) == 3
    assert found.verdict.answer in ("no", "not shown")
    if found.verdict.answer == "no":
        assert found.verdict.text.startswith("No: attention may not be shown")
        assert found.verdict.failed


def test_a_quick_audit_never_says_yes(found):
    assert found.verdict.answer != "yes"


def test_a_full_audit_trains_other_models(model, corpus, test_part):
    train = corpus.part("train")

    full = audit(model, *test_part, tests="full", train=(train.texts, train.labels), seeds=2, n_threads=1)

    assert full["uniform attention"]["accuracy gap"].value is not None
    assert full["seeds"]["median JSD between seeds"].value >= 0
    assert abs(full["label randomisation"]["tau: contribution"].value) < 0.5


def test_other_training_texts_than_the_models_own_are_named(model, corpus, test_part):
    train = corpus.part("train")

    full = audit(model, *test_part, tests="full", train=(train.texts[:300], train.labels[:300]), seeds=2, n_threads=1)

    assert "stands in" in full["seeds"].notes[-1]
    assert full["seeds"]["median JSD between seeds"].value is not None


def test_without_training_texts_the_full_audit_says_what_it_left_out(model, test_part):
    full = audit(model, *test_part, tests="full", n_threads=1)

    assert "not given" in full["uniform attention"].skipped
    assert full.verdict.answer != "yes"


def test_a_model_without_knowledge_is_not_believed(corpus, test_part):
    train = corpus.part("train")
    shuffled = np.random.default_rng(0).permutation(np.asarray(train.labels))
    classifier = AttentionClassifier(n_threads=1).fit(train.texts, shuffled)

    full = audit(classifier, *test_part, tests="full", train=(train.texts, shuffled), seeds=2, n_threads=1)

    assert full.verdict.answer == "no"


def test_several_classes_are_audited_and_their_adversary_is_called_a_lower_bound():
    texts = [f"{word} {other} film" for word in ("good", "bad", "odd") for other in "abcdefgh" for _ in range(4)]
    labels = [word for word in ("good", "bad", "odd") for _ in range(32)]
    classifier = AttentionClassifier(n_threads=1, validation_fraction=0).fit(texts, labels)

    found = audit(classifier, texts, labels)

    assert "lower bound" in found["adversarial"].notes[0]
    assert not found["adversarial"].exact
    assert found["flips"]["ratio to the optimum: contribution"].value >= 1.0


def test_texts_without_known_words_are_undefined_not_an_error(model):
    found = audit(model, ["zzz qqq", "", "good"])

    assert found["flips"]["fraction to flip: attention"].undefined == 2
    assert json.loads(found.to_json())["verdict"]["text"]


def test_a_function_that_is_the_model_agrees_with_the_closed_form(model, test_part):
    """Words alone have no phrases, so cutting them out of the text is the same as zeroing their weight."""
    texts = test_part[0][:12]
    words = AttentionClassifier(n_threads=1, ngrams=1, min_count=1).fit(*test_part).model_
    attend = {text: words.attend(text) for text in texts}
    source = FunctionSource(
        lambda some: probabilities(words.scores(some)),
        lambda text: {"attention": attend[text].attention},
        words.classes,
        lambda text: [(place.start, place.end) for place in attend[text].places],
    )

    asked, exact = audit(source, texts), audit(words, texts)

    for test in ("comprehensiveness", "curves"):
        for name in (measure.name for measure in asked[test].measures if "attention" in measure.name):
            assert asked[test][name].value == pytest.approx(exact[test][name].value, abs=1e-10)
    assert asked["agreement"]["tau: attention, leave one out"].value == pytest.approx(
        exact["agreement"]["tau: attention, leave one out"].value, abs=1e-10
    )
    assert asked.about["evaluations"] > 100 * exact.about["evaluations"]


@pytest.mark.parametrize("named", [True, False])
def test_scores_from_a_file_are_audited_with_a_model_to_ask(model, test_part, tmp_path, named):
    texts = test_part[0][:4]
    path = tmp_path / "scores.jsonl"
    lines = [
        {"scores": [len(token.text) for token in tokenize(text)], **({"text": text} if named else {})} for text in texts
    ]
    path.write_text("\n".join(map(json.dumps, lines)))

    found = audit(FileSource.read(path, model, texts), texts)

    assert found["flips"]["fraction to flip: scores"].value is not None
    assert found.about["ranking"] == "scores"


def test_erasers_format_is_read_by_spaces(model, tmp_path):
    texts = ["not good at all", "very good film"]
    path = tmp_path / "eraser.jsonl"
    lines = [
        {
            "annotation_id": str(i),
            "rationales": [{"docid": str(i), "soft_rationale_predictions": [1.0] * len(text.split())}],
        }
        for i, text in enumerate(texts)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))

    source = FileSource.read(path, model, texts)

    assert [tuple(span) for span in source.spans(texts[0])] == [(0, 3), (4, 8), (9, 11), (12, 15)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1]", "an object on each line"),
        ("{", "JSON Lines"),
        ('{"text": "other", "scores": []}', "no scores for text 0"),
        ('{"text": "good film", "other": 1}', "`scores` or `rationales`"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(model, tmp_path, content, said):
    path = tmp_path / "bad.jsonl"
    path.write_text(content)

    with pytest.raises(DataError, match=said):
        FileSource.read(path, model, ["good film"])


@pytest.mark.parametrize(
    ("predict", "explain", "said"),
    [
        (lambda texts: np.ones((len(texts), 3)), lambda text: [1, 2], "rows? of 2 probabilities"),
        (lambda texts: np.ones((len(texts), 2)), lambda text: [1, 2], "sum to one"),
        (lambda texts: np.full((len(texts), 2), 0.5), lambda text: [1], "one finite number for each"),
        (lambda texts: np.full((len(texts), 2), 0.5), lambda text: [1, np.nan], "not finite"),
    ],
)
def test_a_function_that_answers_wrongly_is_told_so(predict, explain, said):
    with pytest.raises(DataError, match=said):
        audit(FunctionSource(predict, explain, ["-", "+"]), ["good film"])


def test_marks_of_people_are_met_best_by_themselves(model, test_part):
    texts = test_part[0][:10]
    source = ModelSource(model)
    marks = []
    for text in texts:
        batch = next(iter(source.batches([text])))
        best = int(np.argmax(batch.attention))
        marks.append([tuple(source.spans(text)[best])])

    found = audit(model, texts, marks=marks, n_threads=1)["plausibility"]

    for name in ("token F1", "IOU F1", "average precision"):
        assert found[f"{name}: attention"].random < found[f"{name}: attention"].value <= 1.0


def test_units_of_examples_lie_in_their_text(found):
    assert found.examples
    for example in found.examples:
        assert len(example.spans) == len(example.attention) == len(example.contribution)
        assert all(example.text[start:end].strip() for start, end in example.spans)


def test_spans_follow_the_order_of_the_units(model, test_part):
    source = ModelSource(model)
    text = test_part[0][0]
    batch = next(iter(source.batches([text])))
    names = model.vocabulary.names()

    spoken = [" ".join(token.text for token in tokenize(text[start:end])) for start, end in source.spans(text)]

    assert spoken == [names[row] for row in batch.rows.tolist()]


def test_gates_pass_and_fail(found):
    value = found.values()["flips.never flips: attention"]
    passing, failing = gates(
        [f"flips.never flips: attention={value}"], [f"flips.never flips: attention={value - 0.01}"]
    )

    assert passing.failure(found) is None
    assert "must be at most" in failing.failure(found)


@pytest.mark.parametrize("written", ["x", "flips=1", "flips.x=", "flips.x=nan"])
def test_a_gate_that_cannot_be_read_is_refused(written):
    with pytest.raises(SettingError, match=r"TEST\.MEASURE=VALUE"):
        gates([written], [])


def test_a_gate_on_an_unknown_measure_suggests_one(found):
    with pytest.raises(SettingError, match=r"Did you mean 'flips.never flips: attention'"):
        gates(["flips.never flip: attention=0"], [])[0].failure(found)


def test_the_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    generator = np.random.default_rng(0)
    inside = 0
    for i in range(200):
        low, high = Sampling(80, i).interval(generator.exponential(size=80))
        inside += low <= 1.0 <= high

    assert 0.88 <= inside / 200 <= 0.98


@pytest.mark.parametrize("documents", [60, 3000])
def test_the_sign_flip_test_is_uniform_where_nothing_differs(documents):
    generator = np.random.default_rng(1)
    p = [
        Sampling(documents, i).difference(generator.normal(size=documents), generator.normal(size=documents))
        for i in range(100)
    ]

    assert 0.35 <= np.mean(p) <= 0.65
    assert np.mean(np.array(p) < 0.1) <= 0.2


def test_holm_never_lowers_a_p_value_and_keeps_their_order():
    p = [0.001, 0.2, 0.04, 0.04]

    corrected = holm(p)

    assert all(after >= before for after, before in zip(corrected, p, strict=True))
    assert corrected == pytest.approx([0.004, 0.2, 0.12, 0.12])


@pytest.mark.parametrize("attention", ["frozen", "flat"])
def test_attention_can_be_held(corpus, attention):
    train = corpus.part("train")

    held = AttentionClassifier(attention=attention, n_threads=1).fit(train.texts, train.labels).model_

    assert (np.ptp(held.attention) == 0) == (attention == "flat")


@pytest.mark.parametrize("width", [2, 5])
def test_flat_attention_is_a_plain_average(corpus, width):
    train = corpus.part("train")
    texts, labels = train.texts[:200], train.labels[:200]

    held = AttentionClassifier(attention="flat", width=width, n_threads=1, epochs=2).fit(texts, labels).model_

    assert np.ptp(held.attention) == 0
    assert np.ptp(held.polarity) > 0
