"""What people marked, by ERASER's measures: golden numbers worked out by hand, and areas beside scikit-learn's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve
from typer.testing import CliRunner

from regard import AttentionClassifier
from regard.audit import FileSource, audit, read_evidence
from regard.audit.rationales import curve, to_words
from regard.audit.source import Span
from regard.cli.app import app
from regard.errors import DataError

TEXTS = ["a b c d e f g h i j", "good good bad bad", "one two three four five"]
MARKED = [[(2, 5), (7, 8)], [(0, 4)], [(1, 2)]]
CHOSEN = [[(2, 4), (6, 9)], [(0, 2)], []]
SOFT = [[0.1, 0.2, 0.9, 0.8, 0.3, 0.1, 0.7, 0.6, 0.5, 0.1], [0.4, 0.3, 0.2, 0.1], [0.9, 0.8, 0.1, 0.1, 0.1]]


def spans(pairs, **more):
    return [{"start_token": start, "end_token": end, **more} for start, end in pairs]


@pytest.fixture(scope="module")
def model():
    texts = ["good film", "bad film", "a b c", "one two"] * 4
    return AttentionClassifier(n_threads=1, validation_fraction=0).fit(texts, ["+", "-", "+", "-"] * 4).model_


@pytest.fixture
def folder(tmp_path):
    """A benchmark of three documents, as ERASER lays it out, and a model's predictions."""
    (tmp_path / "docs").mkdir()
    for i, text in enumerate(TEXTS):
        (tmp_path / "docs" / f"doc{i}").write_text(text.replace(" d ", "\nd  "))
    lines = [
        {"annotation_id": f"q{i}", "evidences": [spans(pairs, docid=f"doc{i}"), spans(pairs[:1], docid=f"doc{i}")]}
        for i, pairs in enumerate(MARKED)
    ]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, reversed(lines))))
    predicted = [
        {
            "annotation_id": f"q{i}",
            "rationales": [
                {
                    "docid": f"doc{i}",
                    "hard_rationale_predictions": spans(pairs),
                    "soft_rationale_predictions": soft,
                }
            ],
        }
        for i, (pairs, soft) in enumerate(zip(CHOSEN, SOFT, strict=True))
    ]
    (tmp_path / "predicted.jsonl").write_text("\n".join(map(json.dumps, predicted)))
    return tmp_path


def test_lines_find_their_texts_by_the_documents_beside_them(folder):
    assert read_evidence(folder / "test.jsonl", TEXTS) == [tuple(map(tuple, each)) for each in MARKED]


def test_documents_may_be_one_file(folder):
    texts = [{"docid": f"doc{i}", "document": text.replace(" c", "\nc")} for i, text in enumerate(TEXTS)]
    for file in (folder / "docs").iterdir():
        file.unlink()
    (folder / "docs").rmdir()
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, texts)))

    assert read_evidence(folder / "test.jsonl", TEXTS) == [tuple(map(tuple, each)) for each in MARKED]


def test_a_text_that_nobody_looked_at_has_no_evidence(folder):
    assert read_evidence(folder / "test.jsonl", [TEXTS[1], "another text"]) == [((0, 4),), None]


def test_hard_predictions_have_erasers_scores(model, folder):
    """Token F1 2/3, 2/3, 0; runs: one of two, one of one and none of none are right, of two, one and one."""
    source = FileSource.read(folder / "predicted.jsonl", model, TEXTS)
    evidence = read_evidence(folder / "test.jsonl", TEXTS)

    found = audit(source, TEXTS, evidence=evidence, n_threads=1)["rationales"]

    assert found["token F1: hard"].value == pytest.approx(4 / 9)
    assert found["token F1, micro: hard"].value == pytest.approx(2 * 5 / (7 + 9))
    assert found["IOU F1: hard"].value == pytest.approx(2 * 0.75 * 0.5 / (0.75 + 0.5))
    assert found["IOU F1, micro: hard"].value == pytest.approx(2 * 2 / (3 + 4))


def test_soft_predictions_have_erasers_areas_beside_random_ones(model, folder):
    source = FileSource.read(folder / "predicted.jsonl", model, TEXTS)
    evidence = read_evidence(folder / "test.jsonl", TEXTS)

    found = audit(source, TEXTS, evidence=evidence, n_threads=1)["rationales"]

    areas, averages = [], []
    for soft, pairs in [(SOFT[0], MARKED[0]), (SOFT[2], MARKED[2])]:  # all of the second text is marked
        truth = [any(start <= i < end for start, end in pairs) for i in range(len(soft))]
        precision, recall, _ = precision_recall_curve(truth, soft)
        areas.append(auc(recall, precision))
        averages.append(average_precision_score(truth, soft))
    assert found["AUPRC: scores"].value == pytest.approx(np.mean(areas))
    assert found["average precision: scores"].value == pytest.approx(np.mean(averages))
    assert found["AUPRC: scores"].undefined == 1
    assert found["AUPRC: scores"].random is not None
    assert "faithfulness" in found.direction


def test_a_curve_by_hand():
    """Points (0, 1), (1/2, 1), (1/2, 1/2), (1, 2/3): 1/2 + (1/2 + 2/3) / 4."""
    area, average = curve(np.array([0.9, 0.1, 0.8, 0.4]), np.array([True, False, False, True]))

    assert area == pytest.approx(0.5 + 7 / 24)
    assert average == pytest.approx(0.5 + 1 / 3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 8))
def test_areas_are_scikit_learns(seed, n, levels):
    generator = np.random.default_rng(seed)
    scores, marked = generator.integers(0, levels, n).astype(float), generator.random(n) < 0.4
    marked[0] = True
    precision, recall, _ = precision_recall_curve(marked, scores)

    area, average = curve(scores, marked)

    assert area == pytest.approx(auc(recall, precision))
    assert average == pytest.approx(average_precision_score(marked, scores))


def test_units_share_their_scores_among_the_words_they_touch():
    #        not   good  at     all
    places = [(0, 3), (4, 8), (9, 11), (12, 15)]
    units = [Span(0, 3), Span(0, 8), Span(6, 10), Span(13, 14)]

    found = to_words(np.array([1.0, 2.0, 4.0, 8.0]), units, places)

    assert found.tolist() == [1 + 1, 1 + 2, 2, 8]


def test_hard_predictions_alone_rank_what_they_hold_first(model, tmp_path):
    path = tmp_path / "hard.jsonl"
    path.write_text(json.dumps({"rationales": [{"hard_rationale_predictions": spans([(1, 3)])}]}))

    source = FileSource.read(path, model, TEXTS[1:2])

    assert next(iter(source.batches(TEXTS[1:2]))).rankings["scores"].tolist() == [0, 1, 1, 0]


def test_attention_of_a_model_is_held_against_the_evidence(model, folder):
    found = audit(model, TEXTS, evidence=read_evidence(folder / "test.jsonl", TEXTS), n_threads=1)["rationales"]

    assert {"token F1: attention", "token F1: contribution", "IOU F1: leave one out"} <= {
        m.name for m in found.measures
    }
    assert (
        found["token F1: attention"].lower <= found["token F1: attention"].value <= found["token F1: attention"].upper
    )


def test_the_command_takes_evidence(model, folder):
    model.save(folder / "m.regard")
    (folder / "new.csv").write_text("text,label\n" + "\n".join(f"{text},+" for text in TEXTS))
    arguments = ["audit", folder / "m.regard", folder / "new.csv", "--evidence", folder / "test.jsonl"]

    result = CliRunner().invoke(app, [*map(str, arguments), "--scores", str(folder / "predicted.jsonl"), "--json", "-"])

    assert result.exit_code == 0
    tests = {test["name"]: test for test in json.loads(result.stdout)["tests"]}
    assert {m["name"]: m["value"] for m in tests["rationales"]["measures"]}["token F1: hard"] == pytest.approx(4 / 9)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"evidences": []}', "a line for each of the 3 texts"),
        ('{"text": "one two three four five", "other": 1}', "must have `evidences`"),
        ('{"text": "one two three four five", "evidences": [[{"start_token": 3, "end_token": 9}]]}', "has 5 words"),
        ('{"text": "one two three four five", "evidences": [[{"start_token": 3}]]}', "start_token, end_token"),
        ('{"text": "x", "evidences": []}', "no line for any"),
        ('{"text": "x", "evidences": []}\n{"text": "x ", "evidences": []}', "one line for each text"),
    ],
)
def test_evidence_that_cannot_be_used_says_why(tmp_path, content, said):
    (tmp_path / "test.jsonl").write_text(content)

    with pytest.raises(DataError, match=said):
        read_evidence(tmp_path / "test.jsonl", TEXTS)
