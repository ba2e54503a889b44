import altair as alt
import polars as pl
import pytest

from regard.reproduce.page import Note, Page, Picture, Section, Table, beside, drawn


@pytest.fixture
def page():
    chart = alt.Chart(pl.DataFrame({"x": [1, 2], "y": [3, 4]})).mark_line().encode(x="x", y="y")
    table = Table(["model", "accuracy"], [["**DP**", "82.2"], ["<img src=x>|", "1 < 2"]])
    return Page(
        "paper",
        "A paper",
        "regard reproduce paper",
        ["All of `it`."],
        [Section("Table 2", "What came out.", [table, drawn("line", "A line.", chart), Note("So *far*.")])],
        "regard 0.",
    )


def test_the_page_and_its_pictures_are_written(page, tmp_path):
    path = page.write(tmp_path / "results")
    text = path.read_text()
    assert path.name == "paper.md"
    assert "| **DP** | 82.2 |" in text
    assert "](paper/line.svg)" in text
    assert "\nSo *far*.\n" in text
    assert (path.parent / "paper" / "line.svg").read_text().startswith("<svg")


def test_html_escapes_what_it_shows(page, tmp_path):
    html = page.write(tmp_path).with_suffix(".html").read_text()
    assert "<strong>DP</strong>" in html
    assert "<code>it</code>" in html
    assert "&lt;img src=x&gt;" in html
    assert "<img" not in html
    assert "<svg" in html
    assert "<p>So <em>far</em>.</p>" in html


def test_markdown_cells_cannot_end_their_column():
    assert Table(["a"], [["x|y"]]).markdown().splitlines()[-1] == "| x\\|y |"


def test_a_cell_puts_the_published_number_beside_ours():
    assert beside(82.2, [82.0, 83.0]) == "82.2 → **82.5** ± 0.5 (+0.3)"
    assert beside(None, [82.0]) == "82.0"
    assert beside(82.2, []) == "82.2 → not run"
    assert beside(None, []) == "not run"


def test_a_picture_belongs_to_its_page(page):
    (section,) = page.sections
    assert isinstance(section.shown[1], Picture)
    assert section.shown[1].caption == "A line."
