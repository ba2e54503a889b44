"""Each thing that can be wrong is said in one sentence: what was expected, what came, what to do."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from regard.corpus import read, stream
from regard.errors import DataError, SettingError


def refused(tmp_path, content, name="table.csv", *, by=read, **options):
    """The message with which the input is refused, checked for being one sentence."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return message(by, path, **options).replace(str(path), name)


def message(by, path, **options):
    with pytest.raises(DataError) as caught:
        for _ in by(path, **options) if by is stream else [by(path, **options)]:
            pass
    text = str(caught.value)
    assert text.endswith((".", "?"))
    assert "\n" not in text
    assert caught.value.__cause__ is None
    return text


BOTH = pytest.mark.parametrize("by", [read, stream])


@BOTH
def test_a_missing_file_is_named_and_a_near_name_offered(tmp_path, by):
    (tmp_path / "reviews.csv").write_text("text,label\n")

    said = message(by, tmp_path / "review.csv")

    assert said == f"There is no file {tmp_path / 'review.csv'}: check the path. Did you mean 'reviews.csv'?"


@BOTH
def test_a_missing_folder_is_named(tmp_path, by):
    assert "There is no folder" in message(by, tmp_path / "no" / "a.csv")


def test_a_folder_without_label_folders_says_what_it_holds(tmp_path):
    (tmp_path / "a.csv").write_text("x")

    assert message(read, tmp_path) == (
        f"The folder {tmp_path} must hold one subfolder per label with text files in it (such as pos/ and neg/), but "
        "it holds 1 file and 0 subfolders: to read one table name its file, such as 'a.csv'."
    )


@BOTH
def test_an_empty_folder_is_refused(tmp_path, by):
    assert "holds 0 files and 0 subfolders" in message(by, tmp_path)


@BOTH
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a"])
def test_an_empty_file_is_refused(tmp_path, by, name):
    assert f"{name} is empty" in refused(tmp_path, b"", name, by=by)


@BOTH
@pytest.mark.parametrize("content", ["  \n\n", "\ufeff", "\ufeff\r\n"])
def test_a_blank_file_is_refused(tmp_path, by, content):
    assert "empty" in refused(tmp_path, content, by=by)


@BOTH
@pytest.mark.parametrize("content", ["text,label\n", "text,label", "text,label\r\n"])
def test_a_header_alone_is_refused(tmp_path, by, content):
    assert refused(tmp_path, content, by=by) == (
        "table.csv must have at least one row, but it has only a header or nothing: add rows."
    )


@BOTH
def test_parquet_without_rows_is_refused(tmp_path, by):
    pl.DataFrame({"text": [], "label": []}).write_parquet(tmp_path / "a.parquet")

    assert "at least one row" in message(by, tmp_path / "a.parquet")


TABLE = "review,label\nfine,1\npoor,0\n"


@BOTH
def test_an_unknown_column_is_refused_and_a_near_one_offered(tmp_path, by):
    assert refused(tmp_path, TABLE, by=by, text="reviews") == (
        "table.csv must have the text column 'reviews', but its columns are 'review', 'label': name one of them. Did "
        "you mean 'review'?"
    )


def test_an_unknown_label_or_split_column_is_refused(tmp_path):
    assert "label column 'lable'" in refused(tmp_path, TABLE, label="lable")
    assert "split column 'part'" in refused(tmp_path, TABLE, split="part")


def test_a_named_split_with_other_values_is_refused(tmp_path):
    assert "has '1'" in refused(tmp_path, TABLE, text="review", label="review", split="label")


def test_no_column_that_could_be_a_label_is_said(tmp_path):
    assert refused(tmp_path, "text\nfine\npoor\n") == (
        "table.csv must have a column of labels, but none of 'text' looks like one: name it with --label."
    )


def test_a_single_class_is_refused(tmp_path):
    assert refused(tmp_path, "text,label\nfine,pos\ngood,pos\n") == (
        "There must be at least two classes, but every label in column 'label' of table.csv is 'pos': add rows of "
        "another class or name another column with --label."
    )


def test_labels_missing_everywhere_are_refused(tmp_path):
    assert "is empty in all 2 rows" in refused(tmp_path, "text,label\nfine,\ngood,\n")


def test_texts_missing_everywhere_are_refused(tmp_path):
    assert "column 'text' of table.csv is empty in every row" in refused(tmp_path, "text,label\n,1\n,0\n")


def test_a_label_for_every_row_is_refused(tmp_path):
    rows = "".join(f"words {i},user{i}\n" for i in range(100_000))

    assert "100,000 different values in 100,000 rows" in refused(tmp_path, f"text,label\n{rows}")


@BOTH
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz"])
def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path, by, name):
    content = b'{"text":"x","label":1}\n{"text":"caf\xe9","label":0}\n'
    if "jsonl" not in name:
        content = b"text,label\ncaf\xe9,1\n".replace(b",", b"\t" if "tsv" in name else b",")
    if name.endswith("gz"):
        content = gzip.compress(content)

    assert refused(tmp_path, content, name, by=by) == (
        f"{name} must be UTF-8, but line 2 holds the byte 0xe9, which is not: name the right encoding, for instance "
        "--encoding latin-1 or --encoding cp1252."
    )


def test_bytes_that_are_not_utf8_in_a_folder_are_refused_with_their_file(tmp_path):
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos" / "1.txt").write_bytes(b"one\ncaf\xe9")

    assert f"{tmp_path / 'pos' / '1.txt'} must be UTF-8, but line 2" in message(read, tmp_path)


@BOTH
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_wide_byte_order_mark_names_the_encoding(tmp_path, by, encoding):
    said = refused(tmp_path, TABLE.encode(encoding), by=by)

    assert said.endswith(f"begins with the mark of {encoding.upper()}: say --encoding {encoding}.")


@BOTH
def test_utf16_without_its_mark_is_refused_with_a_sentence(tmp_path, by):
    said = refused(tmp_path, b"text,label\n" * 40, by=by, encoding="utf-16")

    assert "must be UTF-16, but is not" in said
    assert "--encoding utf-16-le" in said


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text(TABLE)

    with pytest.raises(SettingError, match="encoding must be one that Python knows"):
        read(path, encoding=encoding)


@BOTH
@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('1,"2\n3,4\n', 2),
        ('1,2\n"a\nb",c\n3,"4 ""x""\n5,6\n', 5),
        ('1,"2\n3,4\n5,"6"\n7,8\n', 2),
        ('1,5" disk\n"never closed,4\n', 3),
    ],
)
def test_a_quote_that_is_never_closed_is_refused_with_its_line(tmp_path, by, rows, line):
    said = refused(tmp_path, f"text,label\n{rows}", by=by)

    assert said.startswith("Every quote in table.csv must be closed")
    assert f"opens in line {line} " in said


@BOTH
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_too_many_fields_are_refused_with_their_line(tmp_path, by, end):
    content = 'text,label\n"a\nb",1\nc,0\nd, e,1\nf,0\n'.replace("\n", end)

    assert refused(tmp_path, content, by=by) == (
        "Every row of table.csv must have 2 fields, as its header has, but line 5 has 3: put quotes around a text "
        "that holds a comma."
    )


@BOTH
@pytest.mark.parametrize(
    ("line", "what"),
    [('{"text": tru}', "is not"), ("[1, 2]", "holds a list"), ('{"text":', "is not"), ('"x"', "holds a str")],
)
def test_a_broken_json_line_is_refused_with_its_number(tmp_path, by, line, what):
    said = refused(tmp_path, f'{{"text":"a","label":1}}\n\n{line}\n{{"text":"b","label":0}}\n', "a.jsonl", by=by)

    assert f"Every line of a.jsonl must be one JSON object, but line 3 {what}" in said


@BOTH
def test_a_json_list_is_refused(tmp_path, by):
    assert "begins with a list" in refused(tmp_path, '[{"text":"a"}]', "a.jsonl", by=by)


@BOTH
def test_cut_and_damaged_gzip_is_refused(tmp_path, by):
    whole = gzip.compress(b"text,label\n" + os.urandom(3000).hex().encode() + b",1\n")

    assert "cut short" in refused(tmp_path, whole[:-500], "a.csv.gz", by=by)
    assert "damaged gzip" in refused(tmp_path, whole[:50] + b"\0" * 50 + whole[100:], "b.csv.gz", by=by)
    assert "does not begin like gzip" in refused(tmp_path, b"nonsense", "c.csv.gz", by=by)


@BOTH
@pytest.mark.skipif(shutil.which("zstd") is None, reason="the zstd program is not installed")
def test_cut_zstd_is_refused(tmp_path, by):
    content = b"text,label\n" + os.urandom(3000).hex().encode() + b",1\n"
    whole = subprocess.run(["zstd", "-q", "-c"], input=content, capture_output=True, check=True).stdout

    assert "damaged or cut short" in refused(tmp_path, whole[:-500], "a.csv.zst", by=by)


def test_zstd_on_standard_input_says_how_to_decompress(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x28\xb5\x2f\xfd....")))

    assert "zstd -dc" in message(read, "-")


@BOTH
def test_cut_and_damaged_parquet_is_refused(tmp_path, by):
    pl.DataFrame({"text": [f"text {i * 7919}" for i in range(5000)], "label": [0, 1] * 2500}).write_parquet(
        tmp_path / "whole"
    )
    whole = (tmp_path / "whole").read_bytes()

    assert "must be a whole Parquet file" in refused(tmp_path, whole[:-100], "a.parquet", by=by)
    assert "must be a whole Parquet file" in refused(
        tmp_path, whole[:100] + b"\xff" * 2000 + whole[2100:], "b.parquet", by=by
    )
    assert "does not begin like one" in refused(tmp_path, b"text,label\na,1\n", "c.parquet", by=by)


@BOTH
@pytest.mark.parametrize(
    "start", [b"PK\x03\x04", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n\0\0", b"just some words\nin lines\n"]
)
def test_other_kinds_of_files_are_refused(tmp_path, by, start):
    said = refused(tmp_path, start, "a.thing", by=by)

    assert "not a table" in said or "must be UTF-8" in said


@BOTH
def test_bare_carriage_returns_are_refused(tmp_path, by):
    assert "bare carriage return" in refused(tmp_path, "text,label\ra,1\rb,0\r", by=by)


@BOTH
def test_a_folder_without_permission_is_refused(tmp_path, by, monkeypatch):
    (tmp_path / "pos").mkdir()

    def forbidden(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", forbidden)

    assert message(by, tmp_path) == (
        f"{tmp_path} must be readable, but permission was denied: change its permissions or copy it."
    )


@BOTH
@pytest.mark.skipif(os.name != "posix", reason="file permissions are POSIX's")
def test_a_file_without_permission_is_refused(by):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(TABLE)
        path.chmod(0)
        Path(folder).chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # the superuser may read everything, nobody may not
        try:
            said = message(by, path)
        finally:
            os.seteuid(user)

    assert "permission was denied" in said


def test_half_as_many_labels_as_rows_are_too_many_where_there_are_tens_of_thousands(tmp_path):
    rows = "".join(f"words {i},user{i // 2}\n" for i in range(200_000))

    assert "100,000 different values in 200,000 rows" in refused(tmp_path, f"text,label\n{rows}", label="label")


@pytest.mark.parametrize("content", ["a film,1\n", "a film,pos\n"])
def test_a_table_without_a_header_is_refused(tmp_path, content):
    said = refused(tmp_path, (content + "another film,x\n") * 3)

    assert said.startswith("The first line of table.csv must name its columns, but ")
    assert "is also a label" in said


@BOTH
def test_utf16_without_its_mark_is_named(tmp_path, by):
    assert "say --encoding utf-16-le" in refused(tmp_path, TABLE.encode("utf-16-le"), by=by)


@BOTH
def test_nan_in_json_is_refused_with_its_line(tmp_path, by):
    content = '{"text": "a", "label": 1}\n{"text": "b", "label": NaN}\n'

    assert "line 2 is not (JSON has no NaN, write null)" in refused(tmp_path, content, "a.jsonl", by=by)


def test_bytes_are_no_labels(tmp_path):
    pl.DataFrame({"text": ["a", "b"], "label": [b"x", b"\xff"]}).write_parquet(tmp_path / "a.parquet")

    assert "must hold one value a row, but holds Binary" in message(read, tmp_path / "a.parquet", label="label")


@BOTH
def test_nested_columns_are_no_texts(tmp_path, by):
    pl.DataFrame({"tokens": [["a"], ["b"]], "label": [1, 0]}).write_parquet(tmp_path / "a.parquet")

    assert "must hold strings, but holds List" in message(by, tmp_path / "a.parquet", text="tokens")
    assert "must have a column of texts" in message(by, tmp_path / "a.parquet")


@BOTH
@pytest.mark.parametrize("name", ["a.json", "a", "a.csv"])
@pytest.mark.parametrize("content", ['[{"text": "a", "label": 1}]', '[\n  {"text": "a", "label": 1}\n]'])
def test_a_json_list_is_known_by_any_name(tmp_path, by, name, content):
    assert "begins with a list: write it as JSON Lines" in refused(tmp_path, content, name, by=by)


@BOTH
def test_a_table_of_numbers_has_no_texts_unless_they_are_named(tmp_path, by):
    content = "a,b\n1,2\n3,4\n"

    assert refused(tmp_path, content, by=by) == (
        "table.csv must have a column of texts, but its columns ('a', 'b') hold nothing but numbers: name the one to "
        "use with --text."
    )
    assert stream(tmp_path / "table.csv", text="a").text_column == "a"


@BOTH
def test_lines_that_begin_like_compressed_data_are_refused_as_lines(tmp_path, by):
    said = refused(tmp_path, b"x\x01e\x00tt", "table.jsonl", by=by)

    assert "must be one JSON object, but line 1 is not" in said


@BOTH
def test_a_header_that_begins_like_compressed_data_is_refused_with_a_sentence(tmp_path, by):
    assert "table.csv" in refused(tmp_path, b"x\x01text,label\ngood,1\nbad,0\n", by=by)
