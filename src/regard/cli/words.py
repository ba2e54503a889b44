"""`regard words`: the table itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl


def words(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    top: Annotated[int, typer.Option(help="How many words of each side to show.", min=1)] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write the whole table as CSV.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the loudest words of each side as JSON.")] = False,
) -> None:
    """Show how loudly words speak and which side they take.

    Example: [bold]regard words reviews.regard --csv words.csv[/bold]
    """
    from regard.cli.output import check_out, console, loudest_table, print_json, word_rows
    from regard.models.model import load_model
    from regard.models.store import write_whole

    if csv is not None:
        check_out(csv, "--csv", model)
    table = load_model(model).word_table
    if csv is not None:
        import io

        buffer = io.BytesIO()
        safe_for_spreadsheets(table.table()).write_csv(buffer)
        write_whole(csv, buffer.getvalue())
    if json:
        names, kinds = table.vocabulary.names(), table.kinds()
        sides = [(0, -1, 0), (0, 1, 1)] if table.sides == 1 else [(k, 1, k) for k in range(table.sides)]
        print_json(
            {
                str(table.classes[k]): [
                    {
                        "word": names[row],
                        "attention": float(table.attention[row]),
                        "polarity": float(table.polarity[row, side]),
                        "counts": table.counts[row].tolist(),
                        "kind": str(kinds[row]),
                    }
                    for row in word_rows(table, side, top, towards)
                ]
                for side, towards, k in sides
            }
        )
    elif csv is None:
        console().print(loudest_table(table, top))


def safe_for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula: it begins with =, +, - or @."""
    import polars as pl

    formula = r"^[=+\-@\t\r]"
    columns = [
        pl.when(pl.col(name).str.contains(formula)).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name, kind in frame.schema.items()
        if kind == pl.String
    ]
    headers = {name: f"'{name}" for name in frame.columns if name[:1] in "=+-@\t\r"}
    return frame.with_columns(columns).rename(headers)
