"""`stream` gives the whole table, whatever the chunks, and never holds it."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from regard.corpus import read, stream
from regard.errors import DataError, SettingError

# What makes tables hard: separators, quotes, line ends, marks, NUL, letters of every width.
hard = st.text(
    st.sampled_from("ab,;\t\"' \n\r\0\ufeff\\{}é€😀") | st.characters(exclude_categories=["Cs"]), max_size=12
)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[hard] * width), min_size=1, max_size=12).map(
        lambda rows: pl.DataFrame(rows, schema=dict.fromkeys(("text", "b", "c")[:width], pl.String), orient="row")
    )
)
quickly = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def whole(path, **options):
    return pl.concat(list(stream(path, **options)))


@quickly
@given(tables, st.integers(1, 60), st.sampled_from(["\n", "\r\n"]), st.sampled_from([",", "\t", ";"]))
def test_any_table_of_strings_comes_back_from_csv_whatever_the_chunks(tmp_path, table, size, line_end, separator):
    path = tmp_path / ("a.tsv" if separator == "\t" else "a.csv")
    table.write_csv(path, line_terminator=line_end, separator=separator, quote_style="always")

    assert_frame_equal(whole(path, chunk_bytes=size), table)
    assert read(path, text="text", need_labels=False).texts == table["text"].to_list()


@quickly
@given(tables, st.integers(1, 60))
def test_any_table_of_strings_comes_back_from_json_lines(tmp_path, table, size):
    path = tmp_path / "a.jsonl"
    table.write_ndjson(path)

    assert_frame_equal(whole(path, chunk_bytes=size), table)
    assert read(path, text="text", need_labels=False).texts == table["text"].to_list()


@quickly
@given(tables, st.integers(1, 400))
def test_any_table_of_strings_comes_back_from_parquet(tmp_path, table, size):
    path = tmp_path / "a.parquet"
    table.write_parquet(path, row_group_size=3)

    assert_frame_equal(whole(path, chunk_bytes=size), table)
    assert read(path, text="text", need_labels=False).texts == table["text"].to_list()


@quickly
@given(st.text(st.sampled_from('ab,"\n'), max_size=40), st.integers(1, 30))
def test_chunks_never_change_what_odd_quotes_mean(tmp_path, body, size):
    path = tmp_path / "a.csv"
    path.write_text(f"text,b\n{body}\n", encoding="utf-8", newline="")

    def outcome(chunk_bytes):
        try:
            return whole(path, chunk_bytes=chunk_bytes).rows()
        except DataError:
            return "refused"

    assert outcome(size) == outcome(10_000)


def test_written_back_a_table_equals_what_came(tmp_path):
    came = 'id,text,n\n007,"a, ""b""",1.10\n8,,\n9,"",1e3\n'
    path = tmp_path / "a.csv"
    path.write_text(came, encoding="utf-8")

    assert whole(path).write_csv() == came


def test_missing_texts_are_empty_and_every_row_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('text,n\na,1\n,2\n"",3\nshort\n', encoding="utf-8")

    rows = stream(path)

    assert [text for frame in rows for text in rows.texts(frame)] == ["a", "", "", "short"]


def test_the_text_column_is_known_before_the_first_frame(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("k,l\n1,some words\n", encoding="utf-8")

    rows = stream(path)

    assert (rows.format, rows.text_column, rows.text_reason) == (
        "CSV",
        "l",
        "the longest strings of 2 columns",
    )
    assert rows.columns == ("k", "l")
    assert stream(path, text="k").text_reason == "named by you"


def test_a_folder_is_read_file_by_file_with_or_without_labels(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(f"text of {name}", encoding="utf-8")

    rows = stream(tmp_path, chunk_bytes=1)

    assert [frame.rows() for frame in rows] == [[("a.txt", "text of a.txt")], [("b.txt", "text of b.txt")]]
    assert rows.text_column == "text"


def test_standard_input_is_read_in_pieces(monkeypatch):
    rows = "".join(f"{i},text {i}\n" for i in range(5000))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"id,text\n{rows}".encode())))

    frames = list(stream("-", chunk_bytes=2000))

    assert len(frames) > 10
    assert sum(frame.height for frame in frames) == 5000


def test_json_lines_keep_one_set_of_columns_and_say_what_was_left_out(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text":"a","n":1.5,"z":null}\n{"text":"b","n":2,"z":7}\n{"text":3,"new":1}\n', encoding="utf-8")

    rows = stream(path, chunk_bytes=1)
    frame = pl.concat(list(rows))

    assert frame.rows() == [("a", 1.5, None), ("b", 2.0, "7"), ("3", None, None)]
    assert rows.notes == ("Fields that only later rows have were left out: 'new'.",)


def test_a_json_field_that_changes_its_kind_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text":"a","n":1}\n{"text":"b","n":"x"}\n', encoding="utf-8")

    with pytest.raises(DataError, match=r"The field 'n' .* is Int64 in the first lines and String later"):
        list(stream(path, chunk_bytes=1))


def test_chunks_have_at_least_one_byte(tmp_path):
    with pytest.raises(SettingError, match="chunk_bytes must be at least 1; got 0"):
        stream(tmp_path, chunk_bytes=0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("filling", ["\\0", '"', "\\n", "a,b\\n"])
def test_a_small_gzip_that_inflates_enormously_does_not_fill_memory(tmp_path, filling):
    path = tmp_path / "bomb.csv.gz"
    size = 100_000_000
    block = filling.encode().decode("unicode_escape").encode()
    block *= 1_000_000 // len(block)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"text,label\n")
        for _ in range(size // len(block)):
            file.write(block)

    script = rf"""
        import re
        from pathlib import Path
        from regard.corpus import stream
        from regard.errors import DataError
        try:
            for frame in stream({str(path)!r}):
                pass
        except DataError as error:
            print(error)
        # Not getrusage: its peak is inherited from the process that started this one.
        print(re.search(r'VmHWM:\s+(\d+)', Path('/proc/self/status').read_text())[1])
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)

    assert int(out.stdout.split()[-1]) < 400_000, out.stdout
