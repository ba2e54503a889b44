"""What systems attend to, as Altair charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import MissingExtraError
from regard.reproduce.charts import Drawing

try:
    import altair as alt
except ImportError as error:
    raise MissingExtraError("Drawing what systems attend to", "lab") from error

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#000000")
FAINTEST = 0.002  # fainter cells cannot be told from white, and make up most of a large picture
SHADES = ("#ffffff", "#6baed6", "#08306b")


@dataclass(frozen=True)
class Heat:
    """A matrix of attention, ready to draw and ready for JSON by ``vars``.

    Attributes
    ----------
    weights : rows of numbers between 0 and 1
    rows, columns : sequence of str
        What stands beside each; the same word may come several times.
    title : str
    """

    weights: Sequence[Sequence[float]]
    rows: Sequence[str]
    columns: Sequence[str]
    title: str = ""


def heat(
    one: Heat,
    row_title: str = "says",
    column_title: str = "attends to",
    cell: int = 22,
    size: int | None = None,
    legend: bool = True,
) -> Drawing:
    """Dark is much: rows are what attends, columns what is attended to, each with its label.

    Shades of one colour from white to dark, which everybody can tell apart, and which survive a grey printer.

    Parameters
    ----------
    one : Heat
    row_title, column_title : str
    cell : int
        Height and width of a cell.
    size : int, optional
        Height and width of the whole, instead.
    legend : bool
    """
    values = [
        {"row": i, "column": j, "weight": round(float(weight), 4)}
        for i, row in enumerate(one.weights)
        for j, weight in enumerate(row)
        if weight >= FAINTEST
    ]
    long = max((len(name) for name in one.columns), default=0) > 2

    def axis(names: Sequence[str], **more: Any) -> alt.Axis:
        # Positions are the scale, for a word may come twice; its label is looked up.
        labels = f"{json.dumps(list(names))}[datum.value]"
        return alt.Axis(labelExpr=labels, ticks=False, domain=False, labelOverlap=False, **more)

    def every(names: Sequence[str]) -> alt.Scale:
        return alt.Scale(domain=list(range(len(names))))

    across = axis(one.columns, orient="top", labelAngle=-60 if long else 0, labelLimit=200)
    shades = alt.Scale(domain=[0, 1], range=SHADES, interpolate="lab")
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            alt.X("column:O", title=column_title or None, axis=across, scale=every(one.columns)),
            alt.Y("row:O", title=row_title or None, axis=axis(one.rows, labelLimit=200), scale=every(one.rows)),
            alt.Color("weight:Q", title="weight", scale=shades, legend=alt.Legend() if legend else None),
        )
        .properties(
            width=size or max(cell * len(one.columns), 60),
            height=size or max(cell * len(one.rows), 60),
        )
    )
    return chart.properties(title=alt.TitleParams(one.title, anchor="start")) if one.title else chart


def heats(panels: Sequence[Heat], columns: int = 2, **options: Any) -> Drawing:
    """Several matrices, in one scale of shades."""
    return alt.concat(*(heat(panel, **options) for panel in panels), columns=columns)


def by_length(rows: Sequence[dict[str, Any]], x_title: str, y_title: str) -> Drawing:
    """A line for each ``name`` through points of ``length`` and ``value``."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    dashes = [[1, 0] if place % 2 == 0 else [6, 3] for place in range(len(names))]
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_line(strokeWidth=2.5, point=True)
        .encode(
            alt.X("length:Q", title=x_title),
            alt.Y("value:Q", title=y_title),
            alt.Color("name:N", sort=names, title=None, scale=alt.Scale(domain=names, range=COLOURS[: len(names)])),
            alt.StrokeDash("name:N", sort=names, title=None, scale=alt.Scale(domain=names, range=dashes)),
        )
        .properties(width=460, height=260)
    )
