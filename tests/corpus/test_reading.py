"""What `read` makes of good tables."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from regard.corpus import read, stream
from regard.errors import DataError

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[3] / "shared" / "data"))


def given(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def on_standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


SIMPLE = "text,label\nfine film,pos\npoor film,neg\n"


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("a.csv", SIMPLE, "CSV"),
        ("a.tsv", SIMPLE.replace(",", "\t"), "TSV"),
        ("a.csv", SIMPLE.replace(",", ";"), "CSV"),
        ("a.csv", SIMPLE.replace("\n", "\r\n"), "CSV"),
        ("a.csv", "\ufeff" + SIMPLE, "CSV"),
        ("a.csv", "\n\n" + SIMPLE.removesuffix("\n"), "CSV"),
        ("a.data", SIMPLE.replace(",", "\t"), "TSV"),
        ("a", SIMPLE, "CSV"),
        ("a.csv.gz", gzip.compress(SIMPLE.encode(), mtime=0), "CSV"),
        ("a.csv", gzip.compress(SIMPLE.encode(), mtime=0), "CSV"),
        ("a.jsonl", '{"text":"fine film","label":"pos"}\n\n{"text":"poor film","label":"neg"}', "JSON Lines"),
        ("a.txt", '{"text":"fine film","label":"pos"}\r\n{"text":"poor film","label":"neg"}', "JSON Lines"),
    ],
)
def test_the_same_table_in_any_format_gives_the_same_corpus(tmp_path, name, content, format_):
    corpus = read(given(tmp_path, content, name))

    assert corpus.texts == ["fine film", "poor film"]
    assert corpus.labels.tolist() == ["pos", "neg"]
    assert corpus.source.format == format_
    assert corpus.source.notes == ()


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the zstd program is not installed")
def test_zstd_is_read(tmp_path):
    path = given(tmp_path, SIMPLE)
    subprocess.run(["zstd", "-q", str(path)], check=True)

    assert read(f"{path}.zst").texts == ["fine film", "poor film"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_standard_input_is_looked_at(monkeypatch, separator, compress, mark):
    on_standard_input(monkeypatch, compress((mark + SIMPLE.replace(",", separator)).encode()))

    corpus = read("-")

    assert corpus.texts == ["fine film", "poor film"]
    assert corpus.source.path == "-"


def test_json_lines_come_by_standard_input(monkeypatch):
    on_standard_input(monkeypatch, b'{"text":"a b","label":1}\n{"text":"c","label":0}\n')

    assert read("-").labels.tolist() == [1, 0]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
def test_other_encodings_are_decoded(tmp_path, encoding):
    path = given(tmp_path, "text,label\ncafé,à\nnaïve,ô\n".encode(encoding))

    corpus = read(path, encoding=encoding)

    assert corpus.texts == ["café", "naïve"]
    assert corpus.labels.tolist() == ["à", "ô"]


# --- columns


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("id,Review,stars,Sentiment", "Review", "Sentiment"),
        ("label,raw_text,id,other", "raw_text", "label"),
        ("commentBody,x,y,z", "commentBody", "y"),
        ("label_text,text,label5,n", "text", "label5"),
    ],
)
def test_columns_are_found_by_name(tmp_path, header, text, label):
    rows = "".join(f"a{i},b{i},{i % 2},{i % 2}\n" for i in range(6))

    source = read(given(tmp_path, f"{header}\n{rows}")).source

    assert (source.text_column, source.label_column) == (text, label)
    assert (source.text_reason, source.label_reason) == ("its name", "its name")


def test_columns_are_found_by_content(tmp_path):
    rows = "".join(f"{i},some long words number {i},{'ab'[i % 2]},x\n" for i in range(8))

    source = read(given(tmp_path, f"k,l,m,n\n{rows}")).source

    assert (source.text_column, source.text_reason) == ("l", "the longest strings of 4 columns")
    assert (source.label_column, source.label_reason) == ("m", "the fewest distinct values (2) of 4 columns")


def test_a_file_sorted_by_label_still_shows_its_label_column(tmp_path):
    rows = "".join(f"some long words number {i},{i // 2000}\n" for i in range(4000))

    assert read(given(tmp_path, f"a,b\n{rows}")).source.label_column == "b"


def test_numbers_are_no_texts_whatever_their_column_is_called(tmp_path):
    (tmp_path / "a.csv").write_text("text,review,label\n1,a fine one,1\n-2.5,a poor one,0\n")
    (tmp_path / "b.csv").write_text("text,label\n1,1\n2,0\n")

    assert read(tmp_path / "a.csv").source.text_column == "review"
    assert stream(tmp_path / "a.csv").text_column == "review"
    assert read(tmp_path / "b.csv").source.text_column == "text"


def test_emoji_are_texts(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n😀,1\n😡,0\n", encoding="utf-8")

    assert read(tmp_path / "a.csv").texts == ["😀", "😡"]


def test_bars_separate_fields(tmp_path):
    (tmp_path / "a.csv").write_text('text|label\na, b; c|1\n"d|e"|0\n')

    assert read(tmp_path / "a.csv").texts == ["a, b; c", "d|e"]


def test_columns_of_the_same_name_are_told_apart_with_a_note(tmp_path):
    (tmp_path / "a.csv").write_text("text,text,label\na,b,1\nc,d,0\n")
    corpus = read(tmp_path / "a.csv")

    assert corpus.texts == ["a", "c"]
    assert corpus.source.notes == ("Columns of the same name were told apart: 'text_duplicated_0'.",)


def test_a_named_label_column_may_have_many_classes(tmp_path):
    rows = "".join(f"words {i},c{i % 300}\n" for i in range(400))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")

    assert len(read(tmp_path / "a.csv", label="label").classes) == 300


def test_enormous_whole_numbers_are_names(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": 99999999999999999999}\n{"text": "b", "label": 0}\n')

    assert read(tmp_path / "a.jsonl").classes.tolist() == ["0", "99999999999999999999"]


def test_named_columns_win(tmp_path):
    path = given(tmp_path, "text,label,a,b\nx,1,long one,u\ny,0,long two,v\n")

    corpus = read(path, text="a", label="b")

    assert corpus.texts == ["long one", "long two"]
    assert corpus.source.text_reason == corpus.source.label_reason == "named by you"


# --- labels


@pytest.mark.parametrize(
    ("written", "kind", "values"),
    [
        (["0", "1"], "i", [0, 1]),
        (["-1", "1.0"], "i", [-1, 1]),
        (["True", "false"], "b", [True, False]),
        (["01", "02"], "U", ["01", "02"]),
        (["0.5", "1.5"], "U", ["0.5", "1.5"]),
        ([" pos ", "neg"], "U", ["pos", "neg"]),
    ],
)
def test_labels_in_csv_keep_their_kind(tmp_path, written, kind, values):
    corpus = read(given(tmp_path, f"text,label\nx,{written[0]}\ny,{written[1]}\n"))

    assert corpus.labels.dtype.kind == kind
    assert corpus.labels.tolist() == values


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1.0, 2.0], "i"), ([True, False], "b"), (["1", "2"], "U"), ([3, 4], "i"), ([0.5, 1.0], "U")],
)
def test_labels_in_parquet_keep_their_kind(tmp_path, values, kind):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["x", "y"], "label": values}).write_parquet(path)

    labels = read(path).labels

    assert labels.dtype.kind == kind
    assert labels.tolist() == (values if kind != "U" else [str(v) for v in values])


def test_dozens_of_classes_are_fine_in_a_small_table(tmp_path):
    rows = "".join(f"text {i},c{i % 37}\n" for i in range(40))

    assert len(read(given(tmp_path, f"text,label\n{rows}")).classes) == 37


# --- splits


@pytest.mark.parametrize(
    "names", [("train", "dev", "test"), ("Training", "VAL", "test "), ("train", "validation", "test")]
)
def test_a_split_column_is_used_under_the_usual_names(tmp_path, names):
    rows = "".join(f"text {i},{i % 2},{names[i % 3]}\n" for i in range(6))

    corpus = read(given(tmp_path, f"text,label,split\n{rows}"))

    assert corpus.parts == ("train", "validation", "test")
    assert corpus.part("dev").texts == ["text 1", "text 4"]
    assert corpus.source.split_column == "split"


def test_a_split_column_is_known_by_its_values(tmp_path):
    rows = "".join(f"text {i},{i % 2},{'train' if i else 'test'}\n" for i in range(6))

    assert read(given(tmp_path, f"text,label,part of\n{rows}")).parts == ("train", "test")


def test_a_fold_with_numbers_is_no_split_and_a_note_says_so(tmp_path):
    corpus = read(given(tmp_path, "text,label,fold\nx,1,0\ny,0,1\n"))

    assert corpus.split is None
    assert corpus.source.notes == (
        "The column 'fold' is not used as a split: it has '0', not only train, validation and test.",
    )


# --- what is left out


GAPS = 'text,label\none,pos\n,pos\n"",neg\n  ,neg\nfive,\nsix,neg\nseven,   \n'


def test_training_leaves_out_rows_without_label_or_text_with_a_note(tmp_path):
    corpus = read(given(tmp_path, GAPS))

    assert corpus.texts == ["one", "six"]
    assert corpus.source.rows == 7
    assert corpus.source.notes == (
        "2 rows without a label were left out.",
        "3 rows without a text were left out.",
    )


def test_prediction_keeps_every_row_in_order(tmp_path):
    corpus = read(given(tmp_path, GAPS), need_labels=False)

    assert corpus.texts == ["one", "", "", "  ", "five", "six", "seven"]
    assert corpus.labels is None
    assert corpus.source.notes == ("The labels are not used: 2 rows have no value in column 'label'.",)


def test_prediction_takes_labels_along_where_they_are_complete(tmp_path):
    assert read(given(tmp_path, SIMPLE), need_labels=False).labels.tolist() == ["pos", "neg"]
    assert read(given(tmp_path, "text\na b\n"), need_labels=False).labels is None


def test_a_missing_json_field_is_a_missing_text(tmp_path):
    path = given(tmp_path, '{"text":"a","label":1}\n{"label":0}\n{"text":null,"label":0}\n', "a.jsonl")

    assert read(path, need_labels=False).texts == ["a", "", ""]


# --- hard texts


def test_quotes_inside_unquoted_fields_are_read_as_spreadsheets_do(tmp_path):
    path = given(tmp_path, 'text,label\na 5" disk,1\nhe said "hi" there,0\n"x" y,1\n"a\nb",0\n7" too,0\n')

    assert read(path).texts == ['a 5" disk', 'he said "hi" there', "x y", "a\nb", '7" too']


def test_tsv_without_quoting_is_recognised(tmp_path):
    corpus = read(given(tmp_path, 'text\tlabel\n"Best" film\t1\n"never closed\t0\n', "a.tsv"))

    assert corpus.texts == ['"Best" film', '"never closed']
    assert corpus.source.notes == ("Quotes are ordinary characters in this file.",)


@pytest.mark.parametrize("quoted", [True, False])
def test_a_text_of_five_million_characters_is_read(tmp_path, quoted):
    long = "word " * 1_000_000
    field = f'"{long},"' if quoted else long

    corpus = read(given(tmp_path, f"text,label\n{field},1\nshort,0\n"))

    assert [len(t) for t in corpus.texts] == [5_000_000 + quoted, 5]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_nul_characters_survive(tmp_path, name):
    csv = "text,label\na\0b,1\nc,0\n"
    json = '{"text":"a\\u0000b","label":1}\n{"text":"c","label":0}\n'

    assert read(given(tmp_path, csv if name == "a.csv" else json, name)).texts == ["a\0b", "c"]


# --- folders


def folder(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_folder_with_one_subfolder_per_label_is_read(tmp_path):
    corpus = read(folder(tmp_path, {"pos/b.txt": "good", "pos/a.txt": "fine", "neg/a.txt": "poor", "README": "x"}))

    assert corpus.texts == ["poor", "fine", "good"]
    assert corpus.labels.tolist() == ["neg", "pos", "pos"]
    assert corpus.source.format == "folder"
    assert corpus.split is None


def test_train_and_test_above_the_labels_are_the_split_and_unsup_is_left_out(tmp_path):
    files = {
        f"{part}/{label}/{i}.txt": f"{part} {label} {i}" for part in ("train", "test") for label in "ab" for i in "12"
    }
    corpus = read(folder(tmp_path, files | {"train/unsup/0.txt": "who knows", "train/urls.txt": "no text"}))

    assert len(corpus) == 8
    assert corpus.part("train").texts == ["train a 1", "train a 2", "train b 1", "train b 2"]
    assert corpus.source.notes == ("Left out: 1 file without a label, in folders called unsup.",)


# --- public data


@pytest.mark.skipif(not (DATA / "imdb.parquet").exists(), reason=f"no public data in {DATA}: set REGARD_DATA")
def test_imdb_is_understood_without_being_told():
    corpus = read(DATA / "imdb.parquet")

    assert len(corpus.part("train")) == len(corpus.part("test")) == 25_000
    assert corpus.classes.tolist() == [0, 1]


@pytest.mark.skipif(not (DATA / "newsgroups_raw.parquet").exists(), reason=f"no public data in {DATA}: set REGARD_DATA")
def test_blank_posts_are_left_out_of_newsgroups():
    corpus = read(DATA / "newsgroups_raw.parquet")

    assert corpus.source.rows == 4889
    assert corpus.source.notes == ("141 rows without a text were left out.",)
    assert len(corpus) == 4889 - 141


@pytest.mark.skipif(not (DATA / "sst.parquet").exists(), reason=f"no public data in {DATA}: set REGARD_DATA")
def test_dev_of_the_sentiment_treebank_is_called_validation():
    assert np.count_nonzero(read(DATA / "sst.parquet").split == "validation") == 872


def test_the_corpus_is_imported_lazily():
    code = "import sys, regard.corpus; sys.exit('polars' in sys.modules or 'numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_text_and_the_label_are_two_columns(tmp_path):
    with pytest.raises(DataError, match="two columns"):
        read(given(tmp_path, SIMPLE), text="text", label="text")


def test_the_split_says_why_it_was_taken(tmp_path):
    named = given(tmp_path, "text,label,fold\na,1,train\nb,0,train\nc,1,test\n")
    assert (read(named).source.split_column, read(named).source.split_reason) == ("fold", "its name")

    seen = given(tmp_path, "text,label,x\na,1,train\nb,0,train\nc,1,test\n")
    assert (read(seen).source.split_column, read(seen).source.split_reason) == ("x", "its values")


def test_a_table_that_belongs_to_another_has_its_columns(tmp_path):
    first = read(given(tmp_path, "words here,side\na good one,1\na bad one,0\na fine one,1\n"))
    other = given(tmp_path, "words here,side,longer words\ngood,1,what else there was\nbad,0,what else there is\n")

    assert read(other, label="side").texts[0] == "what else there was"
    assert read(other, like=first.source).texts == ["good", "bad"]
    assert read(other, like=first.source).source.text_reason == "as in training"
    assert stream(other, usual="words here").text_column == "words here"
    assert stream(other, usual="gone").text_column == "longer words"
