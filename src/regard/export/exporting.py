"""A model becomes files: its tables, and the query that reads them."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError, SettingError, nearest
from regard.export.dialects import DIALECTS, Dialect
from regard.export.query import query
from regard.export.tables import characters, words
from regard.models.model import Model
from regard.models.store import write_whole
from regard.models.table import TableModel

FORMS = (*DIALECTS, "csv")


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    words, characters : Path
        The two tables: what ``regard.export.tables`` makes, as Parquet or CSV.
    query : Path or None
        The query, where it is for an engine.
    """

    words: Path
    characters: Path
    query: Path | None


def export(
    model: Any,
    to: str,
    out: str | os.PathLike[str] = ".",
    *,
    name: str = "regard",
    table: str = "texts",
    text: str = "text",
) -> Exported:
    """Write a model as two tables and one query.

    Parameters
    ----------
    model
        A fitted classifier of texts whose words speak the same in every text, or the ``Model`` inside it.
    to
        "duckdb", "spark" or "bigquery"; "csv" writes the tables alone.
    out
        A folder.
    name
        What the files, and the tables made from them, are called: NAME_words, NAME_characters, NAME.duckdb.sql.
    table, text
        The table and the column that the query reads.

    Examples
    --------
    >>> export(clf, "duckdb", table="reviews", text="review")  # doctest: +SKIP
    """
    if to not in FORMS:
        raise SettingError(f"`to` must be one of {', '.join(FORMS)}; got {to!r}.{nearest(to, FORMS)}")
    inner = as_table(getattr(model, "model_", model))
    folder = Path(out)
    if not folder.is_dir():
        raise DataError(f"The model is exported into a folder that exists; {folder} is none: create it.")
    for what, value in (("table", table), ("column of texts", text)):
        if not value or not value.isprintable():
            raise SettingError(f"The name of the {what} must have letters that can be printed; got {value!r}.")
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    files = {part: folder / f"{name}_{part}.{'csv' if to == 'csv' else 'parquet'}" for part in ("words", "characters")}
    for part, frame in (("words", words(inner)), ("characters", characters())):
        buffer = io.BytesIO()
        if to == "csv":
            frame.write_csv(buffer)
        else:
            frame.write_parquet(buffer)
        write_whole(files[part], buffer.getvalue())
    if to == "csv":
        return Exported(files["words"], files["characters"], None)
    dialect = DIALECTS[to]
    names = {part: f"{name}_{part}" for part in files}
    sql = query(inner, dialect, table=table, text=text, **names)
    path = folder / f"{name}.{to}.sql"
    write_whole(path, (_head(dialect, table, text, names, files) + sql).encode())
    return Exported(files["words"], files["characters"], path)


def as_table(model: Model) -> TableModel:
    """The table that a model is, if it is one."""
    if not model.exact:
        raise SettingError(
            f"Only a model whose words speak the same in every text can be exported; this is a {model.kind} whose "
            "words listen to each other: serve it with `regard serve`, or train a table with `regard train`."
        )
    return model.word_table


def _head(dialect: Dialect, table: str, text: str, names: dict[str, str], files: dict[str, Path]) -> str:
    loads = [
        "--   " + dialect.load.format(table=dialect.table(names[part]), file=files[part].name) for part in sorted(files)
    ]
    return "\n".join(
        [
            f"-- Scores the column {text} of the table {table}: every row with prediction and probabilities.",
            "-- Made by `regard export`. First load its two tables, from the folder where they are:",
            *loads,
            "",
        ]
    )
