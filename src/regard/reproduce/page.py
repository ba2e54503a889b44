"""What a reproduction shows: the published numbers beside ours, as one page in Markdown and in HTML."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import MissingExtraError
from regard.reproduce.data import DataSet

if TYPE_CHECKING:
    from jinja2 import Environment

    from regard.reproduce.charts import Drawing


@dataclass(frozen=True)
class Table:
    """Rows of cells, ready to read; a cell may hold Markdown's emphasis.

    Attributes
    ----------
    head : sequence of str
    rows : sequence of sequences of str
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """As Markdown writes tables."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    name : str
        Of its file.
    caption : str
        What is to be seen.
    svg : str
    """

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Note:
    """Words between tables and pictures."""

    text: str


@dataclass(frozen=True)
class Section:
    """A part of a page: a title, some words, and tables, pictures and notes in their order."""

    title: str
    text: str
    shown: Sequence[Table | Picture | Note] = ()


@dataclass(frozen=True)
class Page:
    """A reproduction.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
    command : str
        What makes it again.
    about : sequence of str
        What a reader needs to know of the protocol, a sentence or more each.
    sections : sequence of Section
    made_with : str
        Versions, data hashes and machine: see ``made_with``.
    """

    name: str
    title: str
    command: str
    about: Sequence[str]
    sections: Sequence[Section]
    made_with: str

    def markdown(self) -> str:
        """The page, with its pictures as files in the folder ``NAME``."""
        lines = [f"# {self.title}", f"Made by `{self.command}`.", *self.about]
        for section in self.sections:
            lines += [f"## {section.title}", section.text] if section.text else [f"## {section.title}"]
            for item in section.shown:
                if isinstance(item, Table):
                    lines.append(item.markdown())
                elif isinstance(item, Note):
                    lines.append(item.text)
                else:
                    lines += [f"![{item.caption}]({self.name}/{item.name}.svg)", f"*{item.caption}*"]
        return "\n\n".join([*lines, "---", self.made_with]) + "\n"

    def html(self) -> str:
        """The page as one file."""
        return _environment().get_template("page.html").render(page=self)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``NAME.md``, ``NAME.html`` and the pictures into a folder; the path of the first."""
        folder = Path(folder)
        pictures = [item for section in self.sections for item in section.shown if isinstance(item, Picture)]
        (folder / self.name if pictures else folder).mkdir(parents=True, exist_ok=True)
        for picture in pictures:
            (folder / self.name / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
        (folder / f"{self.name}.html").write_text(self.html(), encoding="utf-8")
        path = folder / f"{self.name}.md"
        path.write_text(self.markdown(), encoding="utf-8")
        return path


def drawn(name: str, caption: str, chart: Drawing) -> Picture:
    """An Altair chart as a picture."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("Drawing the papers' figures", "lab") from error
    # Room for readers whose letters are wider than those the picture was measured with.
    room = {"padding": {"left": 5, "top": 5, "right": 30, "bottom": 5}, "config": {"axis": {"titlePadding": 14}}}
    svg: str = vl_convert.vegalite_to_svg({**chart.to_dict(), **room})
    return Picture(name, caption, svg)


def beside(published: float | None, ours: Sequence[float], digits: int = 1) -> str:
    """A cell: the published number, our mean and spread over the seeds, and the difference."""
    if not len(ours):
        return "not run" if published is None else f"{published:.{digits}f} → not run"
    mean = float(np.mean(ours))
    spread = f" ± {np.std(ours):.{digits}f}" if len(ours) > 1 else ""
    if published is None:
        return f"{mean:.{digits}f}{spread}"
    return f"{published:.{digits}f} → **{mean:.{digits}f}**{spread} ({mean - published:+.{digits}f})"


def made_with(data: Sequence[DataSet], *packages: str) -> str:
    """The versions, the data and the machine that a page was made with, in a sentence each."""
    named = ", ".join(f"{name} {version(name)}" for name in ("regard", "numpy", *packages))
    files: dict[str, Any] = {file: digest for one in data for file, digest in one.files.items()}
    hashes = ", ".join(f"{file} `{digest[:12]}`" for file, digest in files.items())
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{named}; {machine}." + (f" Data (SHA-256): {hashes}." if hashes else "")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def inline(text: str) -> Markup:
        """Markdown's `code`, **strong** and *emphasis*, in escaped text."""
        marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
        marked = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
        return Markup(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", marked))  # noqa: S704 - escaped first

    environment = Environment(loader=PackageLoader("regard.reproduce"), autoescape=True, undefined=StrictUndefined)
    environment.filters["inline"] = inline
    return environment
