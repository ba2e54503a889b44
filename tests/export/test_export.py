"""A database says what Python says: on reviews, on hostile strings, and on every character that engines read apart."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unicodedata

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.export import DIALECTS, export, query
from regard.export.rule import pattern
from regard.export.tables import characters, columns, words
from regard.models.table import TableModel, probabilities
from regard.report.alphabet import alphabet
from regard.tokens import Vocabulary
from regard.tokens.rule import normalise
from tests.strategies import TRICKY, any_text

duckdb = pytest.importorskip("duckdb", reason="DuckDB comes with the extra `dev`")

NAMES = {"words": "m_words", "characters": "m_characters"}


def model_of(texts, ngrams=2, classes=("no", "yes"), seed=0, loudest=3.0):
    """A table in which every word and phrase of some texts has numbers of its own."""
    vocabulary, _ = Vocabulary.learn(texts, ngrams=ngrams, min_count=1, n_threads=1)
    rng, rows, sides = np.random.default_rng(seed), len(vocabulary), 1 if len(classes) == 2 else len(classes)
    return TableModel(
        vocabulary,
        rng.normal(0, loudest, rows).astype(np.float32),
        rng.normal(0, 2, (rows, sides)).astype(np.float32),
        rng.normal(0, 1, sides),
        np.array(classes),
        np.ones((rows, len(classes)), np.int64),
    )


def in_duckdb(model, texts):
    """What the query says of texts: predictions and (texts, classes)."""
    con = duckdb.connect()
    con.execute("SET threads = 1")
    tables = {"m_words": words(model), "m_characters": characters(), "given": numbered(texts)}
    for name, frame in tables.items():
        con.register(f"frame_{name}", frame.to_arrow())
        con.execute(f"CREATE TABLE {name} AS FROM frame_{name}")
    sql = query(model, DIALECTS["duckdb"], table="given", text="what is said", **NAMES)
    return answers(pl.from_arrow(con.sql(sql).to_arrow_table()), model, len(texts))


def numbered(texts):
    return pl.DataFrame({"id": range(len(texts)), "what is said": pl.Series(texts, dtype=pl.String)})


def answers(frame, model, n):
    frame = frame.sort("id")
    assert frame["id"].to_list() == list(range(n))
    return frame["prediction"].to_list(), frame.select(columns("probability", model.classes)).to_numpy()


def expect_the_same(model, texts, said):
    predictions, chances = said
    scores = model.scores(texts, 1)
    np.testing.assert_allclose(chances, probabilities(scores), rtol=0, atol=1e-9)
    assert predictions == model.predictions(scores).tolist()


def utf8(text):
    """Databases hold UTF-8, which has no lone surrogates."""
    return text.encode("utf-8", "ignore").decode()


def around(letter):
    """A character within a word, a number, alone, and after a letter that it may melt into."""
    return f"a{letter}b 1{letter}2 {letter} e\u0323{letter}\u0301 {letter}{letter} \u1100{letter} x.{letter} '{letter}'"


def delicate():
    """Characters that change under normalising, and those where a class begins or ends."""
    known = alphabet()
    codes = {code for code, _ in known["lower"]} | {ord(c) for c, _ in known["same"]}
    codes |= {ord(letter) for letter in characters()["letter"].unique() if not "가" < letter < "힣"}
    for runs in known["classes"].values():
        ends = np.cumsum(runs)
        codes |= {int(end) + step for end in ends for step in (-1, 0)}
    return [chr(c) for c in sorted(codes) if 0 <= c < 0x110000 and not 0xD800 <= c < 0xE000]


HOSTILE = [
    *map(utf8, TRICKY),
    "",
    " ",
    "\0",
    "no\0pe",
    "nothing-known-here",
    "İstanbul I ı i ISTANBUL",
    "ΟΔΟΣ οδός ΣΣ Σ. ΑΣΑ",
    "ẞ ß SS ŉ ǰ ﬁ K Å Ω",
    "e\ufe0f\u0301 é e\u0301 e\u0301\u0323 e\u0323\u0301 1\ufe0f\u20e3",
    "\u1112\u1161\u11ab 한 \u1112\u1161 \u11ab",
    "<br /><br/>good<b>film</b> a < b <a<b>c <a " + "x" * 500,
    "<a" * 300,
    "a'" * 3000 + "a",
    "1." * 3000 + "1",
    "👍🏽" + "\u200d👍🏽" * 500,
    "good good good Good GOOD bad",
    "'; DROP TABLE given; --",
    "a\r\nb\rc\nd\te",
    "ดีมาก 很好看的电影 すごいカメラ अच्छी फिल्म می‌خواهم",
    "\u0301\u0301 \u200d\u200d ' ’ ’’ a’’b a’b a'b",
]


# -- DuckDB --------------------------------------------------------------------------------------------------------


def test_hostile_strings_are_read_alike():
    texts = HOSTILE + [" ".join(pair) for pair in zip(HOSTILE[:-1], HOSTILE[1:], strict=True)]
    for ngrams in (1, 2, 4):
        model = model_of(texts[::2], ngrams)
        expect_the_same(model, texts, in_duckdb(model, texts))


def test_every_delicate_character_is_read_alike():
    texts = [around(letter) for letter in delicate()]
    assert len(texts) > 4000
    model = model_of(texts, ngrams=1)

    expect_the_same(model, texts, in_duckdb(model, texts))


@settings(max_examples=12)
@given(st.lists(any_text.map(utf8), min_size=1, max_size=40), st.integers(1, 3), st.data())
def test_random_texts_are_read_alike(texts, ngrams, data):
    model = model_of([data.draw(st.sampled_from(texts)), *texts[1:]], ngrams)
    expect_the_same(model, texts, in_duckdb(model, texts))


@pytest.mark.parametrize(
    "classes",
    [("b'a\\d", 'g"o`od\n\0x'), (3, 7), (False, True), (0.5, 1.5), ("sci.med", "sci-med", "Ж", "😀"), tuple(range(20))],
    ids=str,
)
def test_labels_of_every_kind_come_back_as_they_are(classes):
    texts = ["good film", "bad film", "a b c d e f", "", "unknown"]
    model = model_of(texts[:3], classes=classes)
    predictions, chances = in_duckdb(model, texts)

    expect_the_same(model, texts, (predictions, chances))
    assert all(type(one) is type(model.classes.tolist()[0]) for one in predictions)


def test_a_tie_goes_to_the_first_class():
    model = model_of(["a"], ngrams=1)
    model = TableModel(**{**vars_of(model), "polarity": 0 * model.polarity, "bias": 0 * model.bias})

    assert in_duckdb(model, ["a", "b"])[0] == ["no", "no"]


def vars_of(model):
    names = ("vocabulary", "attention", "polarity", "bias", "classes", "counts")
    return {name: getattr(model, name) for name in names}


def test_rows_a_thousand_times_louder_do_not_silence_the_rest():
    texts = ["a b", "c d", "e"]
    model = model_of(texts, loudest=2000.0)

    expect_the_same(model, texts, in_duckdb(model, texts))


def test_rows_are_kept_with_their_order_and_no_text_has_no_prediction():
    model = model_of(["good film"])
    predictions, chances = in_duckdb(model, ["good film", None, "good film", ""])

    assert predictions[1] is None
    assert np.isnan(chances[1]).all()
    np.testing.assert_array_equal(chances[0], chances[2])


def test_reviews_have_the_probabilities_that_python_gives_them():
    corpus = demo()
    model = model_of(corpus.texts[:1500])

    expect_the_same(model, corpus.texts, in_duckdb(model, corpus.texts))


@pytest.mark.slow
def test_every_character_there_is_is_read_alike():
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(letters), 100_000):
        texts = [f"a{letter}b 1{letter}2 {letter}" for letter in letters[start : start + 100_000]]
        model = model_of(texts, ngrams=1)
        expect_the_same(model, texts, in_duckdb(model, texts))


# -- Spark ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    """A Spark of one process, which listens on this machine alone."""
    pyspark = pytest.importorskip("pyspark.sql", reason="Spark comes with the extra `dev`")
    if not shutil.which("java"):
        pytest.skip("Spark needs a Java")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.ansi.enabled": "true",
    }
    builder = pyspark.SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def in_spark(session, folder, model, texts):
    for name, frame in {"m_words": words(model), "m_characters": characters(), "given": numbered(texts)}.items():
        frame.write_parquet(folder / f"{name}.parquet")
        session.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    sql = query(model, DIALECTS["spark"], table="given", text="what is said", **NAMES)
    session.sql(sql).write.mode("overwrite").parquet(str(folder / "out.parquet"))
    return answers(pl.read_parquet(folder / "out.parquet" / "*.parquet"), model, len(texts))


@pytest.mark.slow
def test_spark_reads_hostile_strings_and_delicate_characters_alike(spark, tmp_path):
    texts = [*HOSTILE, *(around(letter) for letter in delicate())]
    model = model_of(texts, classes=("b'a\\d", 'g"o`od\n\0x', "Ж"))

    expect_the_same(model, texts, in_spark(spark, tmp_path, model, texts))


@pytest.mark.slow
def test_spark_keeps_rows_without_a_text(spark, tmp_path):
    model = model_of(["good film"], ngrams=3)
    predictions, _ = in_spark(spark, tmp_path, model, ["good film", None, "good film", ""])

    assert predictions[1] is None
    assert predictions[0] == predictions[2]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_25000_reviews_have_the_probabilities_that_python_gives_them(engine, data, tmp_path, request):
    from regard import AttentionClassifier

    frame = pl.read_parquet(data / "imdb.parquet")
    train, test = (frame.filter(pl.col("split") == part) for part in ("train", "test"))
    model = AttentionClassifier(epochs=1, validation_fraction=0).fit(train["text"], train["label"]).model_
    texts = test["text"].to_list()
    assert len(texts) == 25_000

    if engine == "duckdb":
        expect_the_same(model, texts, in_duckdb(model, texts))
    else:
        expect_the_same(model, texts, in_spark(request.getfixturevalue("spark"), tmp_path, model, texts))


# -- BigQuery, and what all share ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("classes", [("b'a\\d", 'g"o`od\n'), ("x", "y", "z")], ids=len)
def test_the_text_of_every_dialect_can_be_parsed(name, classes):
    sqlglot = pytest.importorskip("sqlglot", reason="sqlglot comes with the extra `dev`")
    sql = query(model_of(["a b c"], 3, classes), DIALECTS[name], table="x.y", text="it's", **NAMES)
    tree = sqlglot.parse_one(sql, read=name)

    steps = [step.alias for step in tree.find_all(sqlglot.exp.CTE)]
    assert all(step.startswith("regard_") for step in steps)
    tables = {table.name for table in tree.find_all(sqlglot.exp.Table)} - set(steps)
    assert tables - {"tokens", "phrases", "letters"} == {"y", "m_words", "m_characters"}
    assert sql.isascii() or name == "duckdb"


@pytest.mark.parametrize("backtracks", [False, True])
def test_the_pattern_asks_no_engine_about_any_character(backtracks):
    written = pattern(backtracks)

    assert written.isascii()
    assert "\\p" not in written.lower()
    assert "«" not in written


def test_what_becomes_of_a_character_is_what_the_rule_says():
    table = characters()
    forms = table.group_by("letter").agg(pl.col("form").sort_by("part").str.join()).rows()

    assert all(form == unicodedata.normalize("NFD", normalise(letter)) for letter, form in forms)
    listed = {letter for letter, _ in forms}
    for code in range(0, 0x110000, 7):
        letter = chr(code)
        if letter not in listed and not 0xD800 <= code < 0xE000:
            assert unicodedata.normalize("NFD", normalise(letter)) == letter
            assert not unicodedata.combining(letter)


def test_names_cannot_break_out_of_their_quotes():
    con = duckdb.connect()
    con.execute('CREATE TABLE "a""b" AS SELECT \'good\' AS "x"" y"')
    model = model_of(["good"], 1)
    con.register("m_words", words(model).to_arrow())
    con.register("m_characters", characters().to_arrow())

    assert len(con.sql(query(model, DIALECTS["duckdb"], table='a"b', text='x" y', **NAMES)).fetchall()) == 1
    assert DIALECTS["bigquery"].table("p.d.t`x") == "`p`.`d`.`t\\`x`"
    assert DIALECTS["spark"].table("t`x") == "`t``x`"


def test_models_that_are_no_tables_are_refused_in_a_sentence(tmp_path):
    class Listening:
        kind = "NeuralAttentionClassifier"
        exact = False

    with pytest.raises(SettingError, match=r"words speak the same in every text.*regard serve"):
        export(Listening(), "duckdb", tmp_path)
    model = model_of(["a"])
    with pytest.raises(SettingError, match="Did you mean 'duckdb'"):
        export(model, "duckdv", tmp_path)
    with pytest.raises(DataError, match="folder that exists"):
        export(model, "csv", tmp_path / "nowhere")
    with pytest.raises(SettingError, match="can be printed"):
        export(model, "duckdb", tmp_path, table="a\nb")
    assert not list(tmp_path.iterdir())


def test_the_command_writes_what_duckdb_runs_as_its_first_lines_say(tmp_path):
    corpus = demo()
    from regard import AttentionClassifier

    clf = AttentionClassifier(epochs=1).fit(corpus.texts[:300], corpus.labels[:300])
    clf.save(tmp_path / "my model.regard")
    pl.DataFrame({"review": corpus.texts[300:320]}).write_parquet(tmp_path / "new.parquet")
    call = ["export", "my model.regard", "--to", "duckdb", "--table", "new.parquet", "--text", "review"]
    run = subprocess.run(
        [sys.executable, "-m", "regard", *call], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "my_model.duckdb.sql" in run.stdout

    sql = (tmp_path / "my_model.duckdb.sql").read_text()
    loads = "".join(line.removeprefix("--") for line in sql.splitlines() if "CREATE TABLE" in line)
    script = f"import duckdb, json\nduckdb.sql({loads!r})\nprint(json.dumps(duckdb.sql({sql!r}).fetchall()))"
    rows = json.loads(
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    )
    found = {row[0]: row[3:] for row in rows}
    wanted = clf.predict_proba(corpus.texts[300:320])
    for text, chances in zip(corpus.texts[300:320], wanted, strict=True):
        np.testing.assert_allclose(found[text], chances, atol=1e-9)


def test_csv_holds_every_number_to_the_last_bit(tmp_path):
    model = model_of(["a b", "c"], classes=("x", "y", "z"))
    written = export(model, "csv", tmp_path, name="m")
    frame = pl.read_csv(written.words)

    assert written.query is None
    assert frame.columns == ["phrase", "length", "attention", "polarity_x", "polarity_y", "polarity_z"]
    assert frame["phrase"].to_list() == model.vocabulary.names()
    np.testing.assert_array_equal(frame["attention"].to_numpy().astype(np.float32), model.attention)
    assert frame["length"].to_list() == [name.count(" ") + 1 for name in model.vocabulary.names()]
