"""``regard reproduce``: the papers' tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.errors import SettingError


def reproduce(
    paper: Annotated[str | None, typer.Argument(help="Which paper; without it, what there is.")] = None,
    table: Annotated[str | None, typer.Option(help="Which of its tables.")] = None,
    figure: Annotated[str | None, typer.Option(help="Which of its figures.")] = None,
    data: Annotated[list[str] | None, typer.Option(help="Only this data set; may be repeated.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model of a table; may be repeated.")] = None,
    encoder: Annotated[list[str] | None, typer.Option(help="Only this encoder; may be repeated.")] = None,
    scale: Annotated[list[float] | None, typer.Option(help="Only this λ of a table; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(help="Seeds to take the mean of.", min=1)] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Few texts and epochs: a look at how it works.")] = False,
    out: Annotated[Path, typer.Option(help="The folder of the page, and of what is finished.")] = Path("reproduced"),
    processes: Annotated[int | None, typer.Option(help="Cells to work on at a time; all cores.", min=1)] = None,
    finished: Annotated[bool, typer.Option("--finished", help="Show what is finished; work out nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Reproduce a paper's table or figure on the real data, its numbers beside ours.

    Data sets are read from the folder that REGARD_DATA names. What was finished is kept in the output folder: stopped
    at any moment, the same command goes on where it was.

    Examples: [bold]regard reproduce understanding-attention --table 2 --data sst[/bold],
    [bold]regard reproduce why-exp[/bold]
    """
    from regard.cli.output import console
    from regard.models.progress import progress_bar
    from regard.reproduce import PAPERS, Asked
    from regard.reproduce import paper as find
    from regard.tokens.threads import thread_count

    say = console(quiet)
    if paper is None:
        for name in PAPERS:
            found = find(name)
            say.print(f"[bold]{name}[/bold]  {found.title}")
            if len(found.parts) > 1:
                say.print(f"    {', '.join('--' + part for part in found.parts)}", markup=False)
        return
    found = find(paper)
    asked = [f"table {table}"] * (table is not None) + [f"figure {figure}"] * (figure is not None)
    if not asked and len(found.parts) == 1:
        asked = list(found.parts)
    if len(asked) != 1:
        raise SettingError(
            f"Name one part of {paper}: {', '.join('--' + part for part in found.parts)}; got {len(asked)}."
        )
    chosen = tuple(data or ()), tuple(model or ()), tuple(scale or ())
    what = Asked(asked[0], *chosen, seeds, quick, out, processes or thread_count(None), finished, tuple(encoder or ()))
    with progress_bar(not quiet) as report:
        page = found.reproduce(what, report)
    say.print(f"The page is in {page}, and beside it as HTML.", markup=False)
