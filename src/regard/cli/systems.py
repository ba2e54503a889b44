"""``regard systems``: the complete systems, and what attention buys each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def systems(context: typer.Context) -> None:
    """List the complete systems that attention was invented for, or run one and see what attention buys it.

    Example: [bold]regard systems[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from regard.cli.mechanisms import short
    from regard.reproduce.systems import SYSTEMS

    table = Table("name", "what", "formula", "paper")
    for entry in SYSTEMS.values():
        papers = "; ".join(short(one) for one in entry.paper.split("; "))
        table.add_row(entry.name, entry.title, Text(entry.formula), papers)
    Console().print(table)


def run(
    name: Annotated[str, typer.Argument(help="Which system; `regard systems` lists them.")],
    quick: Annotated[bool, typer.Option("--quick", help="Little data and few epochs: how it works.")] = False,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    seeds: Annotated[int | None, typer.Option(help="How many; three, and with --quick one.", min=1)] = None,
    out: Annotated[Path, typer.Option(help="The folder of the page, and of what is finished.")] = Path("reproduced"),
    processes: Annotated[int | None, typer.Option(help="Cells to work on at a time; all cores.", min=1)] = None,
    finished: Annotated[bool, typer.Option("--finished", help="Show what is finished; work out nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Train a system with and without attention, and write the page, the pictures, the numbers and the model.

    What was finished is kept in the output folder: stopped at any moment, the same command goes on where it was.

    Example: [bold]regard systems run encoder-decoder --quick[/bold]
    """
    from regard.cli.output import console
    from regard.models.progress import progress_bar
    from regard.reproduce.request import Asked
    from regard.reproduce.systems import system
    from regard.reproduce.systems.study import usual_seeds
    from regard.tokens.threads import thread_count

    entry = system(name)
    asked = Asked(
        name,
        seeds=seeds or usual_seeds(quick=quick),
        quick=quick,
        out=out,
        processes=processes or thread_count(None),
        finished=finished,
        seed=seed,
    )
    with progress_bar(not quiet) as report:
        page = entry.run(asked, report)
    say = console(quiet)
    say.print(f"The page is in {page}, and beside it as HTML; the models are in {page.with_suffix('')}.", markup=False)
