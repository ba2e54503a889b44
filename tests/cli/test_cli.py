"""The program as a user meets it: results on standard output, one sentence for every mistake, exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from regard.corpus import demo
from regard.models import load_model


def regard(*arguments, cwd, **kwargs):
    """Run the installed program."""
    return subprocess.run(
        [sys.executable, "-m", "regard", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"},
        **kwargs,
    )


@pytest.fixture(scope="session")
def reviews(tmp_path_factory):
    """A table, a model trained on it by the program, and what the program printed."""
    folder = tmp_path_factory.mktemp("reviews")
    corpus = demo()
    frame = pl.DataFrame({"id": range(len(corpus)), "review": corpus.texts, "verdict": corpus.labels.tolist()})
    frame[:2000].write_csv(folder / "reviews.csv")
    frame[2000:].write_csv(folder / "new.csv")
    run = regard("train", "reviews.csv", "--test", "new.csv", cwd=folder)
    assert run.returncode == 0, run.stderr
    return folder, run


def test_training_says_what_it_read_and_how_good_it_is(reviews):
    folder, run = reviews

    assert "Read 2,000 rows of CSV" in run.stdout
    assert "column 'review'" in run.stdout
    assert "column 'verdict'" in run.stdout
    assert "validation: accuracy" in run.stdout
    assert "test: accuracy" in run.stdout
    assert "macro-F1" in run.stdout
    assert "reviews.regard" in run.stdout
    assert len(load_model(folder / "reviews.regard")) > 100


def test_training_gives_json_for_programs(reviews):
    folder, _ = reviews
    run = regard("train", "reviews.csv", "--out", "again.regard", "--json", cwd=folder)
    result = json.loads(run.stdout)

    assert result["model"] == "again.regard"
    assert 0.8 < result["validation"]["accuracy"] <= 1
    assert not run.stderr


def test_a_hardmax_model_is_trained_explained_and_used(reviews, tmp_path):
    folder, _ = reviews
    train = regard(
        "train", folder / "reviews.csv", "--model", "hardmax", "--alpha", 1, "--out", "h.regard", cwd=tmp_path
    )
    assert train.returncode == 0, train.stderr
    assert "report is in h.html" in train.stdout
    assert load_model(tmp_path / "h.regard").kind == "HardmaxClassifier"

    told = regard("explain", "h.regard", "a wonderful thing with an awful end", cwd=tmp_path)
    assert "Leaders, and who gathers around them" in told.stdout
    assert " leads " in told.stdout
    numbers = json.loads(regard("explain", "h.regard", "wonderful", "--json", cwd=tmp_path).stdout)[0]
    points = numbers["leaders"]["points"]
    assert numbers["score"] == pytest.approx(numbers["bias"] + sum(point["contribution"] for point in points))

    assert "weight that goes through leaders" in regard("info", "h.regard", cwd=tmp_path).stdout
    predicted = regard("predict", "h.regard", folder / "new.csv", cwd=tmp_path)
    assert len(predicted.stdout.splitlines()) == 1 + len(pl.read_csv(folder / "new.csv"))

    wrong = regard("train", folder / "reviews.csv", "--model", "hardmx", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "Did you mean 'hardmax'?" in wrong.stderr


def test_a_hierarchical_model_is_trained_explained_and_reported(reviews, tmp_path):
    pytest.importorskip("torch")
    folder, _ = reviews
    pl.read_csv(folder / "reviews.csv").head(120).write_csv(tmp_path / "few.csv")
    options = ("--model", "han", "--width", 8, "--epochs", 1, "--out", "han.regard")
    train = regard("train", "few.csv", *options, cwd=tmp_path)
    assert train.returncode == 0, train.stderr
    assert "report is in han.html" in train.stdout
    assert load_model(tmp_path / "han.regard").kind == "HierarchicalAttentionClassifier"

    text = "The staff was kind. The soup was awful!"
    assert "Sentences, their weight and contribution" in regard("explain", "han.regard", text, cwd=tmp_path).stdout
    told = json.loads(regard("explain", "han.regard", text, "--json", cwd=tmp_path).stdout)[0]
    assert [part["text"] for part in told["sentences"]] == ["The staff was kind.", "The soup was awful!"]
    assert told["score"] == pytest.approx(told["bias"] + sum(part["contribution"] for part in told["sentences"]))

    wrong = regard("train", "few.csv", "--model", "han", "--ngrams", 2, cwd=tmp_path)
    assert wrong.returncode == 1
    assert "`--ngrams` is no setting of hierarchical attention" in wrong.stderr


def test_training_learns_vectors_where_a_width_is_given(reviews):
    folder, _ = reviews
    run = regard("train", "reviews.csv", "--width", "8", "--out", "wide.regard", "--no-report", cwd=folder)

    assert run.returncode == 0, run.stderr
    assert load_model(folder / "wide.regard").vectors.embedding.shape[1] == 8
    assert "width 8" in regard("info", "wide.regard", cwd=folder).stdout
    assert "width" in regard("train", "reviews.csv", "--width", "1", cwd=folder).stderr


def test_training_learns_a_network_where_an_encoder_is_given(reviews):
    folder, _ = reviews
    network = ("--encoder", "lstm", "--width", "8", "--epochs", "2", "--out", "net.regard", "--checkpoint", "point")
    run = regard("train", "reviews.csv", *network, cwd=folder)

    assert run.returncode == 0, run.stderr
    assert "words, " in run.stdout
    assert "validation: accuracy" in run.stdout
    assert load_model(folder / "net.regard").network.shape.encoder == "lstm"
    assert (folder / "point").exists()
    assert "encoder lstm" in regard("info", "net.regard", cwd=folder).stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--encoder", "lstn"), "Did you mean 'lstm'?"),
        (("--encoder", "none", "--ngrams", "2"), "A network reads single words"),
        (("--score", "additive"), "`--score` is a setting of networks: name an `--encoder` too"),
        (("--vectors", "v.txt"), "`--vectors` is a setting of networks"),
    ],
)
def test_settings_that_do_not_fit_the_kind_of_model_are_named(reviews, options, said):
    folder, _ = reviews
    run = regard("train", "reviews.csv", *options, cwd=folder)

    assert run.returncode == 1
    assert said in " ".join(run.stderr.split())


def test_the_same_seed_gives_the_same_file_for_any_number_of_threads(reviews):
    folder, _ = reviews
    for threads in (1, 3):
        run = regard(
            "train",
            "reviews.csv",
            "--test",
            "new.csv",
            "--threads",
            threads,
            "--out",
            f"t{threads}.regard",
            cwd=folder,
        )
        assert run.returncode == 0

    assert (folder / "t1.regard").read_bytes() == (folder / "t3.regard").read_bytes()
    assert (folder / "t1.regard").read_bytes() == (folder / "reviews.regard").read_bytes()


def test_prediction_keeps_the_columns_of_the_input(reviews):
    folder, _ = reviews
    run = regard("predict", "reviews.regard", "new.csv", "--out", "out.csv", "--all", cwd=folder)
    before, after = pl.read_csv(folder / "new.csv"), pl.read_csv(folder / "out.csv")

    assert run.returncode == 0
    assert after.columns == [
        *before.columns,
        "prediction",
        "probability",
        "probability negative",
        "probability positive",
    ]
    assert after.select(before.columns).equals(before)
    assert (after["prediction"] == after["verdict"]).mean() > 0.8


def test_prediction_reads_standard_input_and_writes_standard_output(reviews):
    folder, _ = reviews
    table = "text\nnot good at all\nwonderful staff\n"
    run = regard("predict", "reviews.regard", "-", "--quiet", cwd=folder, input=table)
    frame = pl.read_csv(io.StringIO(run.stdout))

    assert frame["text"].to_list() == ["not good at all", "wonderful staff"]
    assert frame["prediction"].to_list() == ["negative", "positive"]
    assert not run.stderr


def test_prediction_refuses_to_hide_a_column(reviews):
    folder, _ = reviews
    run = regard("predict", "reviews.regard", "-", cwd=folder, input="text,prediction\na b c,1\nd e f,2\n")
    named = regard(
        "predict",
        "reviews.regard",
        "-",
        "--prefix",
        "new_",
        cwd=folder,
        input="text,prediction\na b c,1\nd e f,2\n",
    )

    assert run.returncode == 1
    assert "--prefix" in run.stderr
    assert named.stdout.startswith("text,prediction,new_prediction,new_probability")


def test_explaining_adds_up(reviews):
    folder, _ = reviews
    run = regard("explain", "reviews.regard", "The food was not good.", "--json", cwd=folder)
    (explanation,) = json.loads(run.stdout)

    total = explanation["bias"] + sum(part["contribution"] for part in explanation["parts"])
    assert total == pytest.approx(explanation["score"], abs=1e-9)
    assert abs(explanation["residual"]) < 1e-9
    assert explanation["prediction"] == "negative"


def test_explaining_writes_a_page(reviews):
    folder, _ = reviews
    run = regard("explain", "reviews.regard", "not <b>good", "--html", "why.html", cwd=folder)

    assert run.returncode == 0
    assert "&lt;b&gt;" in (folder / "why.html").read_text()


def test_words_show_the_loudest_of_each_side(reviews):
    folder, _ = reviews
    shown = regard("words", "reviews.regard", "--top", 5, cwd=folder)
    sides = json.loads(regard("words", "reviews.regard", "--top", 5, "--json", cwd=folder).stdout)

    assert set(sides) == {"negative", "positive"}
    assert all(word["polarity"] < 0 for word in sides["negative"])
    assert all(word["polarity"] > 0 for word in sides["positive"])
    for word in sides["positive"]:
        assert word["word"] in shown.stdout


def test_exported_words_are_safe_in_spreadsheets(tmp_path):
    texts = ["=cmd good", "bad @x"] * 10
    from regard import AttentionClassifier

    AttentionClassifier().fit(texts, ["+plus", "=1+1"] * 10).save(tmp_path / "m.regard")
    run = regard("words", "m.regard", "--csv", "w.csv", cwd=tmp_path)
    cells = [cell for row in pl.read_csv(tmp_path / "w.csv", has_header=False).rows() for cell in row]

    assert run.returncode == 0
    texts = [c for c in cells if isinstance(c, str) and not c.lstrip("-").replace(".", "").replace("e-", "").isdigit()]
    assert not [c for c in texts if c[0] in "=+-@"]


def test_info_says_how_the_model_was_made(reviews):
    folder, _ = reviews
    about = json.loads(regard("info", "reviews.regard", "--json", cwd=folder).stdout)
    shown = regard("info", "reviews.regard", cwd=folder).stdout

    assert about["classes"] == ["negative", "positive"]
    assert about["parameters"]["ngrams"] == 2
    assert about["test"]["texts"] == 400
    assert "negative, positive" in shown


def test_the_demonstration_walks_the_whole_line(tmp_path):
    run = regard("demo", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert "accuracy" in run.stdout
    assert "residual" in run.stdout
    assert (tmp_path / "demo.regard").exists()


@pytest.mark.parametrize(
    "command", ["", "demo", "train", "predict", "explain", "words", "report", "export", "serve", "info", "mechanisms"]
)
def test_help_has_an_example(command, tmp_path):
    run = regard(*filter(None, [command]), "--help", cwd=tmp_path)

    assert run.returncode == 0
    assert not command or f"Example: regard {command}" in run.stdout


# -- mistakes ----------------------------------------------------------------------------------------------------

ONE_CLASS = "text,label\n" + "a good film,1\n" * 10
GOOD = "text,label\n" + "a good film,1\na bad film,0\n" * 10


def expect_sentence(run, *words, code=1):
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    for word in words:
        assert word in run.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["empty"]),
        ("text,label\n", ["row"]),
        (ONE_CLASS, ["two classes"]),
        (GOOD.replace(",1", ",").replace(",0", ","), ["label"]),
        (GOOD.replace("label", "x").replace("text", "y"), []),
        ('text,label\n"never closed,1\n' + "b,0\n" * 20, ["quote", "2"]),
    ],
    ids=["empty", "header only", "one class", "no labels", "odd names", "open quote"],
)
def test_bad_tables_get_one_sentence(content, words, tmp_path):
    (tmp_path / "data.csv").write_text(content)
    run = regard("train", "data.csv", cwd=tmp_path)

    if words:
        expect_sentence(run, *words)
        assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]
    else:
        assert run.returncode == 0


def test_bytes_that_are_not_utf8_name_the_row(tmp_path):
    (tmp_path / "data.csv").write_bytes(GOOD.encode() + "café,1\n".encode("latin-1"))

    expect_sentence(regard("train", "data.csv", cwd=tmp_path), "22", "--encoding")
    assert regard("train", "data.csv", "--encoding", "latin-1", cwd=tmp_path).returncode == 0


def test_a_column_that_is_not_there_is_named(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)

    expect_sentence(regard("train", "data.csv", "--text", "txt", cwd=tmp_path), "'txt'", "'text'")


def test_missing_files_are_named(tmp_path):
    expect_sentence(regard("train", "nothing.csv", cwd=tmp_path), "nothing.csv")
    expect_sentence(regard("explain", "nothing.regard", "x", cwd=tmp_path), "nothing.regard")
    expect_sentence(regard("train", "nothing.csv", "--out", "no/where.regard", cwd=tmp_path), "no")


def test_a_file_that_is_no_model_is_refused(reviews):
    folder, _ = reviews

    for command in (
        ["explain", "reviews.csv", "x"],
        ["words", "reviews.csv"],
        ["predict", "reviews.csv", "new.csv"],
    ):
        expect_sentence(regard(*command, cwd=folder), "not a regard model")


def test_a_failed_prediction_leaves_no_file(reviews):
    folder, _ = reviews
    (folder / "broken.csv").write_bytes(b"text\n" + b"a fine text\n" * 400_000 + b"caf\xe9\n")
    run = regard("predict", "reviews.regard", "broken.csv", "--out", "broken_out.csv", "--quiet", cwd=folder)

    expect_sentence(run, "--encoding")
    assert not [p for p in folder.iterdir() if "broken_out" in p.name]


def test_a_wrong_call_exits_with_two(tmp_path):
    assert regard("train", cwd=tmp_path).returncode == 2
    assert regard("trian", cwd=tmp_path).returncode == 2
    assert regard("train", "x.csv", "--ngrams", "0", cwd=tmp_path).returncode == 2


def test_interrupting_training_leaves_no_file(tmp_path):
    row = "the quick brown fox jumps over the lazy dog number {} again and again,{}\n"
    (tmp_path / "big.csv").write_text("text,label\n" + "".join(row.format(i, i % 2) for i in range(300_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "train", "big.csv", "--epochs", "1000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if "labels" in line:
            break
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)

    assert process.returncode == 1, error
    assert "Stopped" in error
    assert "Traceback" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["big.csv"]


def test_a_closed_pipe_is_no_error(reviews):
    folder, _ = reviews
    run = subprocess.run(
        f"{sys.executable} -m regard predict reviews.regard new.csv -q | head -n 1",
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout.startswith("id,review")
    assert "Error" not in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "data.csv", "--out", "data.csv"],
        ["train", "data.csv", "--test", "m.regard", "--out", "m.regard"],
        ["predict", "m.regard", "data.csv", "--out", "./data.csv"],
        ["words", "m.regard", "--csv", "m.regard"],
        ["explain", "m.regard", "x", "--html", "m.regard"],
        ["report", "m.regard", "--out", "m.regard"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_read_is_never_overwritten(reviews, tmp_path, arguments):
    folder, _ = reviews
    (tmp_path / "data.csv").write_text(GOOD)
    (tmp_path / "m.regard").write_bytes((folder / "reviews.regard").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    expect_sentence(regard(*arguments, cwd=tmp_path), "must not overwrite what is read")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_labels_and_names_with_brackets_are_no_markup(tmp_path):
    (tmp_path / "[red]x.csv").write_text("text,label\n" + "a good film,[/red]\na bad film,[bold]\n" * 10)
    trained = regard("train", "[red]x.csv", cwd=tmp_path)
    words = regard("words", "[red]x.regard", cwd=tmp_path)
    info = regard("info", "[red]x.regard", cwd=tmp_path)

    assert "The model is in [red]x.regard" in trained.stdout
    assert "[/red]" in words.stdout
    assert "[bold]" in words.stdout
    assert info.stdout.startswith("[red]x.regard")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,1,test\nb,0,test\n", ["rows for training", "only test"]),
        ("a,1,train\nb,0,train\nc,z,validation\n", ["Validation needs labels", "z"]),
        ("a,1,train\nb,1,train\nc,0,test\n", ["two classes"]),
    ],
)
def test_a_split_that_cannot_be_trained_on_is_refused(tmp_path, rows, words):
    (tmp_path / "data.csv").write_text(f"text,label,split\n{rows}")

    expect_sentence(regard("train", "data.csv", cwd=tmp_path), *words)
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_validation_texts_with_labels_of_their_own_are_left_out_with_a_note(tmp_path):
    rows = "good,p,train\nbad,n,train\n" * 5 + "odd,z,valid\ngood,p,valid\n"
    (tmp_path / "data.csv").write_text(f"text,label,split\n{rows}")
    run = regard("train", "data.csv", "--no-report", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert "Left out: 1 validation text with labels that no training text has (z)" in run.stdout
    assert "on 1 text" in run.stdout


def test_a_second_table_with_labels_of_another_kind_is_refused_before_training(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    (tmp_path / "test.csv").write_text(GOOD.replace(",1", ",yes").replace(",0", ",no"))

    expect_sentence(regard("train", "data.csv", "--test", "test.csv", cwd=tmp_path), "of the model's kind")


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("--min-count", "²", 1),
        ("--epochs", "-1", 1),
        ("--validation", "1.5", 1),
        ("--scale", "nan", 1),
        ("--seed", "-1", 2),
    ],
)
def test_impossible_options_are_named(tmp_path, option, value, code):
    (tmp_path / "data.csv").write_text(GOOD)
    run = regard("train", "data.csv", option, value, cwd=tmp_path)

    assert run.returncode == code
    assert option.lstrip("-") in run.stderr
    assert "Traceback" not in run.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("column", "out", "words"),
    [
        ([["a"], ["b"]], "out.csv", ["one value", "List", "JSON Lines"]),
        ([b"a", b"b"], "out.jsonl", ["Binary", "take it out"]),
        ([[b"a"], [b"b"]], "out.jsonl", ["Binary", "take it out"]),
    ],
)
def test_columns_that_cannot_be_written_are_named(reviews, tmp_path, column, out, words):
    folder, _ = reviews
    pl.DataFrame({"text": ["good", "bad"], "odd": column}).write_parquet(tmp_path / "a.parquet")
    run = regard("predict", folder / "reviews.regard", "a.parquet", "--out", out, "--quiet", cwd=tmp_path)

    expect_sentence(run, "'odd'", *words)
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full is Linux's")  # noqa: PTH110
@pytest.mark.parametrize(
    "arguments", [["info"], ["info", "--json"], ["words"], ["predict", "new.csv", "--quiet"]], ids=" ".join
)
def test_a_full_disk_behind_standard_output_is_said(reviews, arguments):
    folder, _ = reviews
    command, *others = arguments
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        run = subprocess.run(
            [sys.executable, "-m", "regard", command, "reviews.regard", *others],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    expect_sentence(run, "No space left")


def test_an_interrupt_while_starting_is_no_traceback(tmp_path):
    program = """
import sys

class Interrupt:
    def find_spec(self, name, *rest):
        if name == "regard.cli.train":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from regard.cli import main
main()
"""
    run = subprocess.run([sys.executable, "-c", program, "--help"], cwd=tmp_path, capture_output=True, text=True)

    expect_sentence(run, "Stopped")


def test_an_interrupt_before_the_command_is_answered_like_any_other(tmp_path):
    program = """
import sys
import regard.cli.app as program

def demo():
    raise KeyboardInterrupt

program.app.registered_commands[0].callback = demo
sys.argv = ["regard", "demo"]
program.main()
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)

    expect_sentence(run, "Stopped")


def test_explaining_reads_lines_of_standard_input_in_their_encoding(reviews):
    folder, _ = reviews
    command = [sys.executable, "-m", "regard", "explain", "reviews.regard", "-", "--json"]
    content = "a good café\r\n\na bad one".encode("latin-1")

    wrong = subprocess.run(command, input=content, cwd=folder, capture_output=True)
    right = subprocess.run([*command, "--encoding", "latin-1"], input=content, cwd=folder, capture_output=True)

    assert wrong.returncode == 1
    assert b"Traceback" not in wrong.stderr
    assert b"standard input must be UTF-8, but line 1 holds the byte 0xe9" in wrong.stderr
    assert [found["text"] for found in json.loads(right.stdout)] == ["a good café", "", "a bad one"]


def test_prediction_reads_the_column_that_training_read(reviews, tmp_path):
    folder, _ = reviews
    (tmp_path / "new.csv").write_text("text,review\nnothing to see here,a superb film\n")
    run = regard("predict", folder / "reviews.regard", "new.csv", cwd=tmp_path)

    assert "column 'review' (as in training)" in run.stderr
    assert ",positive," in run.stdout
    assert len(run.stderr.splitlines()) == 2  # and no blank line where a bar would have been


def test_both_tables_are_told(reviews):
    _, run = reviews

    assert "To test on:\nRead 400 rows of CSV from new.csv.\n  texts: column 'review' (as in training)" in run.stdout


def test_next_steps_can_be_copied_where_the_program_is_not_on_the_path(monkeypatch, tmp_path):
    from regard.cli.output import called

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "regard")])
    monkeypatch.setenv("PATH", "")
    assert called() == os.path.join(".venv", "bin", "regard")  # noqa: PTH118
    monkeypatch.setattr(sys, "argv", ["/elsewhere/bin/regard"])
    assert called() == "/elsewhere/bin/regard"
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert called() == "regard"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_what_is_no_file_is_never_replaced(reviews, tmp_path):
    folder, _ = reviews
    os.mkfifo(tmp_path / "pipe.csv")
    for command in (["predict", "new.csv", "--out"], ["words", "--csv"]):
        name, *rest = command
        run = regard(name, "reviews.regard", *rest, tmp_path / "pipe.csv", cwd=folder)
        expect_sentence(run, "a device or a pipe")
    assert (tmp_path / "pipe.csv").is_fifo()


def test_where_the_report_cannot_be_written_the_model_is_kept_and_said_to_be(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from regard.cli.app import app
    from regard.errors import DataError

    def full(*_, **__):
        raise DataError("data.html could not be written (No space left on device).")

    (tmp_path / "data.csv").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.cli.report.write_beside", full)
    run = CliRunner().invoke(app, ["train", "data.csv"])

    assert run.exit_code == 1
    assert "The model is whole in data.regard, but its report is missing: data.html could not" in run.output
    assert len(load_model(tmp_path / "data.regard"))


def test_info_says_whether_the_scores_can_be_read(reviews):
    folder, _ = reviews
    told = regard("info", "reviews.regard", cwd=folder).stdout
    form = json.loads(regard("info", "reviews.regard", "--json", cwd=folder).stdout)

    assert "can the scores be read?" in told
    assert [found["verdict"] for found in form["reading"]] == ["ok", "ok", "ok"]
    for found in form["reading"]:
        assert set(found) == {"name", "value", "verdict", "meaning", "change"}
        assert f"{found['name']} {found['value']:.4g}. {found['meaning']}" in told


def test_training_warns_of_scores_that_cannot_be_read_and_says_nothing_otherwise(reviews, monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from regard.cli.app import app
    from regard.explain.findings import Finding

    folder, run = reviews
    assert "with caution" not in run.stdout
    trained = json.loads(regard("train", "reviews.csv", "--out", tmp_path / "a.regard", "--json", cwd=folder).stdout)
    assert trained["reading"][0]["verdict"] == "ok"

    doubt = [Finding("scale λ", 1e4, "no", "It is too large.", "Make it smaller.")]
    monkeypatch.setattr("regard.explain.findings.reading", lambda model: doubt)
    told = CliRunner().invoke(
        app, ["train", str(folder / "reviews.csv"), "--out", str(tmp_path / "b.regard"), "--no-report"]
    )
    assert told.exit_code == 0
    assert "with caution (scale λ)" in told.output.replace("\n", " ")


def test_explaining_starts_without_polars_scikit_learn_or_numba(reviews):
    folder, _ = reviews
    code = (
        "import sys; from regard.cli import main; sys.argv = ['regard', 'explain', 'reviews.regard', 'a good film']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('polars', 'sklearn', 'numba') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)

    assert run.stdout.splitlines()[-1] == "[]"
