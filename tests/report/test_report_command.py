"""`regard report`, and the page beside a trained model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.corpus import demo


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, [str(each) for each in arguments])

    return run


@pytest.fixture
def table(tmp_path):
    import polars as pl

    corpus = demo(400)
    frame = pl.DataFrame({"text": corpus.texts, "label": corpus.labels.tolist(), "split": corpus.split.tolist()})
    frame.write_csv(tmp_path / "reviews.csv")
    return tmp_path / "reviews.csv"


def test_training_writes_a_report_beside_the_model(run, table, tmp_path):
    result = run("train", table, "--threads", 1)

    assert result.exit_code == 0
    assert "reviews.html" in result.output
    page = (tmp_path / "reviews.html").read_text("utf-8")
    assert "80 test texts" in page
    assert 'id="documents"' in page


def test_training_without_a_report(run, table, tmp_path):
    assert run("train", table, "--no-report", "-q").exit_code == 0
    assert not (tmp_path / "reviews.html").exists()


def test_the_model_remembers_numbers_and_no_texts(run, table, tmp_path):
    run("train", table, "-q", "--no-report")
    result = run("report", "reviews.regard", "--json")
    form = json.loads(result.stdout)

    assert form["overview"]["assessments"][0]["confusion"]
    assert "documents" not in form
    about = (tmp_path / "reviews.regard").read_bytes()
    assert not any(text.encode() in about for text in demo(400).texts)


def test_a_report_with_data(run, table, tmp_path):
    run("train", table, "-q", "--no-report")
    result = run("report", "reviews.regard", "--data", table, "--documents", 10, "--out", "out.html")

    assert result.exit_code == 0
    assert "10 of 80 test texts" in (tmp_path / "out.html").read_text("utf-8")


def test_texts_of_one_class_will_do_to_test_on(run, table, tmp_path):
    (tmp_path / "one.csv").write_text("text,label\nwonderful,positive\n")

    assert run("train", table, "--test", "one.csv", "-q").exit_code == 0
    assert "on 1 test text<" in (tmp_path / "reviews.html").read_text("utf-8")
    result = run("report", "reviews.regard", "--data", "one.csv")
    assert "The report is about 1 text (given)." in result.output


def test_a_model_that_is_called_html_is_not_overwritten(run, table, tmp_path):
    assert run("train", table, "--out", "model.html", "-q").exit_code == 0
    assert (tmp_path / "model.report.html").exists()
    assert run("info", "model.html").exit_code == 0


def test_a_missing_model_is_one_sentence(run):
    result = run("report", "nothing.regard")

    assert result.exit_code == 1
    assert "There is no model at nothing.regard" in result.output
