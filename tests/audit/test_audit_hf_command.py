"""`regard audit-hf` as people call it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from regard.cli.app import app  # noqa: E402 - it needs what was looked for
from tests.audit.transformers_cases import TEXTS, folder, table  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A model and data."""
    path = tmp_path_factory.mktemp("hf")
    folder(path / "bert")
    table(path / "data.jsonl")
    return path


def run(here, *arguments, model="bert", data="data.jsonl"):
    call = ["audit-hf", str(here / model), str(here / data), "--threads", "1", *map(str, arguments)]
    return CliRunner().invoke(app, call)


def test_the_command_prints_the_verdict_and_writes_json_and_a_page(here):
    result = run(here, "--scores", "rollout", "--json", here / "a.json", "--html", here / "a.html")

    form, page = json.loads((here / "a.json").read_text()), (here / "a.html").read_text()
    assert result.exit_code == 0, result.output
    assert "May attention rollout be shown as a reason?" in result.stdout
    assert "The model is right about 50.0% of them." in result.stdout
    assert form["texts"] == len(TEXTS)
    assert form["ranking"] == "attention rollout"
    assert form["source"]["architecture"] == "BertForSequenceClassification"
    assert form["verdict"]["text"] in page.replace("&#39;", "'")
    assert "<script" not in page
    for test in form["tests"]:
        assert test["title"] in result.stdout


def test_fewer_texts_are_drawn_by_the_seed_and_said(here):
    one, two = (run(here, "--texts", "2", "--scores", "last-cls", "--json", "-", "--seed", "3") for _ in range(2))
    shown = run(here, "--texts", "1", "--scores", "last-cls", "--removal", "mask")

    assert json.loads(one.stdout)["data"] == json.loads(two.stdout)["data"]
    assert json.loads(one.stdout)["texts"] == 2
    assert "on 1 text of 6" in shown.stdout
    assert "replaced by [MASK]" in shown.stdout


@pytest.mark.parametrize(("bound", "code"), [("0", 0), ("1.1", 1)])
def test_the_exit_code_is_that_of_the_gates(here, bound, code):
    gate = f"flips.fraction to flip: last-layer attention={bound}"

    result = run(here, "--texts", "1", "--scores", "last-cls", "--quiet", "--fail-under", gate)

    assert result.exit_code == code
    assert ("must be at least" in result.stderr) == (code == 1)


def test_labels_of_the_data_can_be_translated(here):
    table(here / "other.jsonl", ("bad", "good"))
    names = ["--label-name", "bad=negative", "--label-name", "good=positive"]

    refused = run(here, data="other.jsonl")
    result = run(here, "--texts", "1", "--scores", "last-cls", *names, data="other.jsonl")

    assert refused.exit_code == 1
    assert refused.stderr.startswith("regard: Labels must be the model's, negative, positive")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scores", "attention"], "Scores must be among"),
        (["--removal", "zero"], "'delete' or 'mask'"),
        (["--tests", "some"], "quick or full"),
        (["--label-name", "x"], "DATA=MODEL"),
    ],
)
def test_a_wrong_call_is_one_sentence(here, arguments, said):
    result = run(here, *arguments)

    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_that_is_not_there_is_one_sentence(here):
    result = run(here, model="not/here/at/all")

    assert result.exit_code == 1
    assert "there is no such folder" in result.stderr
    assert result.stderr.count("\n") == 1
