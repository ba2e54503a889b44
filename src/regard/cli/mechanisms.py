"""``regard mechanisms``: the catalogue."""

from __future__ import annotations

import json as json_
import re
from dataclasses import asdict
from typing import Annotated

import typer

from regard.errors import SettingError, nearest

PARTS = ("formula", "paper", "score", "weigh", "combine", "state", "deviations", "same_as")


def mechanisms(
    name: Annotated[str | None, typer.Argument(help="One mechanism, in full.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List every attention mechanism: its formula, its paper, its parts.

    Example: [bold]regard mechanisms luong_local_p[/bold]
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from regard.nn import CATALOGUE  # PyTorch takes seconds to import: not before it is asked for

    if name is not None and name not in CATALOGUE:
        raise SettingError(f"Unknown mechanism {name!r}.{nearest(name, CATALOGUE)} `regard mechanisms` lists all.")
    entries = list(CATALOGUE.values()) if name is None else [CATALOGUE[name]]
    if json:
        rows = [{part: asdict(entry)[part] for part in ("name", *PARTS)} for entry in entries]
        typer.echo(json_.dumps(rows if name is None else rows[0], ensure_ascii=False, indent=2))
        return
    console = Console()
    if name is not None:
        table = Table(title=name, show_header=False)
        for part in PARTS:
            if text := getattr(entries[0], part):
                table.add_row(part.replace("_", " "), Text(text))
    else:
        table = Table("name", "formula", "paper")
        for entry in entries:
            table.add_row(entry.name, Text(entry.formula), short(entry.paper))
    console.print(table)


def short(paper: str) -> str:
    """The authors and the year, as one cites a paper in a sentence.

    >>> short("Luong, Pham and Manning 2015, Effective Approaches")
    'Luong et al. 2015'
    """
    authors, _, rest = paper.partition(",")
    year = re.match(r"\D*(\d{4}),", rest)
    return f"{authors} et al. {year[1]}" if year and not re.search(r"\d", authors) else authors
