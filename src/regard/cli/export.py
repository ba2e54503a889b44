"""`regard export`: the model where the data already live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    to: Annotated[str, typer.Option(help="duckdb, spark or bigquery; csv writes the tables without a query.")],
    out: Annotated[Path, typer.Option(help="The folder to write into.")] = Path(),
    text: Annotated[str | None, typer.Option(help="The column of texts; that of the training data by default.")] = None,
    table: Annotated[str, typer.Option(help="The table that holds it.")] = "texts",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Write a model as tables and one query, which scores a column of texts inside a database.

    Example: [bold]regard export reviews.regard --to duckdb --table reviews --text review[/bold]
    """
    from regard.cli.output import console
    from regard.export import export as write
    from regard.models.model import load_model

    loaded = load_model(model)
    trained_on = loaded.about.get("data")
    usual = trained_on.get("text_column") if isinstance(trained_on, dict) else None
    column = text if text is not None else usual or "text"
    written = write(loaded, to, out, name=model.stem, table=table, text=column)
    say = console(quiet)
    say.print(f"The tables are in {written.words} and {written.characters}.", markup=False)
    if written.query is not None:
        say.print(
            f"The query is in {written.query}: it scores the column {column} of {table}. Its first lines say how to "
            "load the tables.",
            markup=False,
        )
