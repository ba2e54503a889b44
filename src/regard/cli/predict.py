"""`regard predict`: labels for a whole file, in constant memory."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from regard.errors import DataError, SettingError

if TYPE_CHECKING:
    import polars as pl

    from regard.models.model import Model
    from regard.models.store import Whole

_WRITERS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV, JSON Lines, Parquet, a folder; - is standard input.")],
    out: Annotated[Path | None, typer.Option(help="Where to write (.csv, .tsv, .jsonl); else standard output.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts, if it is not found by itself.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Add the probability of every class.")] = False,
    prefix: Annotated[str, typer.Option(help="Begin the names of the new columns with this.")] = "",
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON Lines to standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")] = False,
) -> None:
    """Predict a label for every row; the input's columns are kept.

    Example: [bold]regard predict reviews.regard new.csv --out predicted.csv[/bold]
    """
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from regard.cli.output import check_out, notes, plural
    from regard.corpus import stream
    from regard.models.model import load_model
    from regard.models.store import Whole
    from regard.tokens.ready import say_if_compiling

    form = _form(out, json)
    if out is not None:
        check_out(out, "--out", model, data)
    loaded = load_model(model)
    say = notes(quiet)
    say_if_compiling(not quiet)
    rows = 0
    with nullcontext(sys.stdout.buffer) if out is None else Whole(out) as target:
        trained_on = loaded.about.get("data")
        usual = trained_on.get("text_column") if isinstance(trained_on, dict) else None
        source = stream(data, text=text, usual=usual, encoding=encoding)
        say.print(f"Texts are in column '{source.text_column}' ({source.text_reason}).", markup=False)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=say,
            transient=True,
            disable=not say.is_terminal,
        ) as progress:
            task = progress.add_task("Predicting")
            for frame in source:
                predicted = _with_predictions(frame, source.texts(frame), loaded, every, prefix, threads)
                _write(predicted, target, form, header=rows == 0)
                rows += len(predicted)
                progress.update(task, description=f"Predicting: {rows:,} rows")
    for note in source.notes:
        say.print(note, markup=False)
    say.print(f"{plural(rows, 'row')} predicted" + (f"; written to {out}." if out else "."), markup=False)


def _form(out: Path | None, json: bool) -> str:
    if out is None:
        return "jsonl" if json else "csv"
    form = _WRITERS.get(out.suffix.lower())
    if form is None:
        raise SettingError(f"`--out` must end in {', '.join(_WRITERS)}; got {out.name!r}.")
    return form


def _with_predictions(
    frame: pl.DataFrame, texts: list[str], model: Model, every: bool, prefix: str, threads: int | None
) -> pl.DataFrame:
    import polars as pl

    from regard.models.table import probabilities

    scores = model.scores(texts, threads)
    chances = probabilities(scores)
    new = [
        pl.Series(f"{prefix}prediction", model.predictions(scores)),
        pl.Series(f"{prefix}probability", chances.max(axis=1)),
    ]
    if every:
        new += [pl.Series(f"{prefix}probability {c}", chances[:, k]) for k, c in enumerate(model.classes)]
    for series in new:
        if series.name in frame.columns:
            raise DataError(
                f"The input already has a column {series.name!r}; give the new columns other names, such as with "
                "--prefix new_."
            )
    return frame.with_columns(new)


def _write(frame: pl.DataFrame, target: BinaryIO | Whole, form: str, header: bool) -> None:
    for column, kind in frame.schema.items():
        if "Binary" in str(kind):
            raise DataError(f"Columns must hold what can be written as text, but {column!r} holds {kind}: take it out.")
        if kind.is_nested() and form != "jsonl":
            raise DataError(
                f"A cell of {form.upper()} must hold one value, but the input's column {column!r} holds {kind}: take "
                "it out, or write JSON Lines with --json or --out NAME.jsonl."
            )
    buffer = BytesIO()  # Polars reports a closed pipe as an error of its own; Python's write says what it is
    if form == "jsonl":
        frame.write_ndjson(buffer)
    else:
        frame.write_csv(buffer, include_header=header, separator="\t" if form == "tsv" else ",")
    target.write(buffer.getbuffer())
