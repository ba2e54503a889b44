"""`regard audit` as people call it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from regard import AttentionClassifier
from regard.audit import audit
from regard.cli.app import app
from regard.corpus import demo
from regard.report import report


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and its data with their split."""
    folder = tmp_path_factory.mktemp("audit")
    corpus = demo(seed=0)
    train, test = corpus.part("train"), corpus.part("test")
    AttentionClassifier(n_threads=1).fit(train.texts, train.labels).save(folder / "m.regard")
    rows = [("train", *row) for row in zip(train.texts, train.labels, strict=True)]
    rows += [("test", *row) for row in zip(test.texts[:60], test.labels[:60], strict=True)]
    lines = [json.dumps({"text": text, "label": str(label), "split": split}) for split, text, label in rows]
    (folder / "data.jsonl").write_text("\n".join(lines))
    return folder


def run(folder, *arguments):
    return CliRunner().invoke(
        app, ["audit", str(folder / "m.regard"), str(folder / "data.jsonl"), "--threads", "1", *map(str, arguments)]
    )


def test_the_command_prints_a_verdict_and_every_test(folder):
    result = run(folder, "--quiet", "--json", folder / "audit.json")
    shown = run(folder)

    assert result.exit_code == 0
    assert result.stdout == ""
    form = json.loads((folder / "audit.json").read_text())
    assert form["texts"] == 60
    assert form["verdict"]["answer"] in ("no", "not shown")
    assert "May attention be shown as a reason?" in shown.stdout
    for test in form["tests"]:
        assert test["title"] in shown.stdout
        for measure in test["measures"]:
            assert measure["name"] in shown.stdout
            assert measure["value"] is None or f"{measure['value']:.4f}" in shown.stdout


def test_json_on_standard_output_is_json_alone(folder):
    assert json.loads(run(folder, "--json", "-").stdout)["schema"] == 1


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (["--fail-over", "flips.ratio to the optimum: contribution=1.0"], 0),
        (["--fail-under", "flips.ratio to the optimum: contribution=1.5"], 1),
        (["--fail-under", "nonsense"], 1),
        (["--fail-over", "flips.nothing=1"], 1),
    ],
)
def test_the_exit_code_is_that_of_the_gates(folder, gate, code):
    result = run(folder, "--quiet", *gate)

    assert result.exit_code == code
    assert ("regard: " in result.stderr) == (code == 1)


def test_a_full_audit_finds_its_training_texts_in_the_split(folder):
    result = run(folder, "--tests", "full", "--seeds", "2", "--json", "-")

    tests = {test["name"]: test for test in json.loads(result.stdout)["tests"]}
    assert tests["seeds"]["skipped"] is None


def test_a_full_audit_without_training_texts_is_refused(folder):
    lines = [line for line in (folder / "data.jsonl").read_text().splitlines() if '"test"' in line]
    (folder / "test.jsonl").write_text("\n".join(lines))

    result = CliRunner().invoke(app, ["audit", str(folder / "m.regard"), str(folder / "test.jsonl"), "--tests", "full"])

    assert result.exit_code == 1
    assert "--train" in result.stderr


def test_the_page_shows_the_audit(folder):
    result = run(folder, "--quiet", "--html", folder / "page.html")

    page = (folder / "page.html").read_text()
    assert result.exit_code == 0
    assert "May attention be shown as a reason?" in page
    assert "ratio to the optimum: attention" in page


def test_a_report_without_an_audit_has_no_such_section(folder):
    from regard.models.model import load_model

    made = report(load_model(folder / "m.regard"))

    assert made.audit is None
    assert "audit" not in made.to_dict()


def test_a_report_with_an_audit_shows_the_same_numbers_as_json(folder):
    from regard.models.model import load_model

    model = load_model(folder / "m.regard")
    found = audit(model, ["good film", "not good at all", "bad"], n_threads=1)

    made = report(model, audit=found)

    form = json.loads(made.to_json())["audit"]
    assert form["verdict"]["text"] == found.verdict.text
    assert [test["name"] for test in form["results"]] == [result.name for result in found.results]


def test_scores_of_a_file_are_audited(folder):
    from regard.tokens import tokenize

    texts = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]
    texts = [line["text"] for line in texts if line["split"] == "test"]
    lines = [
        json.dumps({"text": text, "scores": [1.0 / (1 + i) for i in range(len(tokenize(text)))]}) for text in texts
    ]
    (folder / "scores.jsonl").write_text("\n".join(lines))

    result = run(folder, "--scores", folder / "scores.jsonl", "--json", "-")

    assert result.exit_code == 0
    form = json.loads(result.stdout)
    assert form["ranking"] == "scores"
    assert form["evaluations"] > 1000
