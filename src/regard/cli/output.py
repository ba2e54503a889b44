"""What all commands share: where results, notes and progress go."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from regard.explain.findings import Finding
    from regard.models.table import TableModel


def console(quiet: bool = False) -> Console:
    """Results, on standard output."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, quiet=quiet)


def notes(quiet: bool) -> Console:
    """Notes and progress, on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON document on standard output; numbers and labels of NumPy become plain ones."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=_plain)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def word_rows(model: TableModel, side: int, n: int, towards: int) -> list[int]:
    """The loudest polar rows that speak for a side (``towards`` = 1) or against it (-1), loudest first."""
    polarity = model.polarity[:, side]
    kinds = model.kinds()
    polar = (kinds != "neutral") & (kinds != "none") & (polarity * towards > 0)
    rows = np.flatnonzero(polar)
    order = np.lexsort((-np.abs(polarity[rows]), -model.attention[rows]))
    return [int(row) for row in rows[order][:n]]


def loudest_table(model: TableModel, n: int) -> Table:
    """The loudest words of each side, beside one another."""
    from rich.markup import escape
    from rich.table import Table

    names = model.vocabulary.names()
    if model.sides == 1:
        columns = [(str(model.classes[0]), 0, -1), (str(model.classes[1]), 0, 1)]
    else:
        columns = [(str(label), side, 1) for side, label in enumerate(model.classes)]
    table = Table(title="The loudest words of each side (attention score, polarity score)", title_justify="left")
    cells = []
    for label, side, towards in columns:
        table.add_column(escape(label))
        cells.append(
            [
                f"{escape(names[row])}  [dim]{model.attention[row]:+.2f} {model.polarity[row, side]:+.2f}[/dim]"
                for row in word_rows(model, side, n, towards)
            ]
        )
    for i in range(max(map(len, cells), default=0)):
        table.add_row(*(column[i] if i < len(column) else "" for column in cells))
    return table


def called() -> str:
    """How the user can call the program again: `make` installs it where the shell does not look by itself."""
    import os
    import shutil

    path = Path(sys.argv[0])
    if path.name != "regard" or shutil.which("regard"):
        return "regard"
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def check_out(out: Path, option: str, *inputs: object) -> None:
    """Before minutes of work, not after: where a file shall be written there is a folder, and none of its sources."""
    from regard.errors import DataError

    if not out.parent.is_dir():
        raise DataError(f"The folder of {option} must exist; {out.parent} does not: create it or name another.")
    if out.is_dir():
        raise DataError(f"{option} must name a file; {out} is a folder: name a file in it.")
    if out.exists() and not out.is_file():
        raise DataError(f"{option} must name a file; {out} is a device or a pipe: name another place.")
    for path in inputs:
        if path is not None and out.exists() and Path(str(path)).exists() and out.samefile(str(path)):
            raise DataError(f"{option} must not overwrite what is read; {out} is the input itself: name another file.")


def verdict_line(finding: Finding) -> str:
    """A condition for reading scores, whether it holds, and what to change if it does not."""
    value = "" if finding.value is None else f" {finding.value:.4g}"
    change = "" if finding.verdict == "ok" else f" {finding.change}"
    return f"{finding.verdict or 'cannot be said'}: {finding.name}{value}. {finding.meaning}{change}"


def percent(value: float) -> str:
    """A share as people read it."""
    return f"{100 * value:.1f}%"


def plural(n: int, thing: str, things: str | None = None) -> str:
    """A count with its noun."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def some(items: Sequence[Any], n: int = 6) -> str:
    """The first few of a list."""
    shown = ", ".join(map(str, items[:n]))
    return shown if len(items) <= n else f"{shown}, ... ({len(items)} in all)"
