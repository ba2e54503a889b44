"""Points of the plane and the rings through them, and bars and lines of attention, as Altair charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from regard.reproduce.charts import Drawing
from regard.reproduce.systems.charts import COLOURS


@dataclass(frozen=True)
class Ring:
    """Points and a closed way through some of them, ready for JSON by ``vars``.

    Attributes
    ----------
    points : rows of x and y
    order : sequence of int
        Positions of points.
    names : sequence of str
    title : str
    """

    points: Sequence[Sequence[float]]
    order: Sequence[int]
    names: Sequence[str]
    title: str = ""


def rings(panels: Sequence[Ring], size: int = 260) -> Drawing:
    """Every ring beside the others."""
    return alt.concat(*(_ring(panel, size) for panel in panels), columns=2)


def _ring(one: Ring, size: int) -> Drawing:
    dots = [{"x": x, "y": y, "name": name} for (x, y), name in zip(one.points, one.names, strict=True)]
    closed = [*one.order, *one.order[:1]]
    way = [{"x": one.points[j][0], "y": one.points[j][1], "step": t} for t, j in enumerate(closed)]
    x, y = (alt.X("x:Q", title=None, axis=None), alt.Y("y:Q", title=None, axis=None))
    line = alt.Chart(alt.Data(values=way)).mark_line(color=COLOURS[0], strokeWidth=2).encode(x, y, order="step:Q")
    base = alt.Chart(alt.Data(values=dots)).encode(x, y)
    circles = base.mark_circle(size=50, color="#333333", opacity=1)
    names = base.mark_text(dx=9, dy=-7, fontSize=12).encode(text="name:N")
    return alt.layer(line, circles, names).properties(width=size, height=size, title=one.title)


def bars(rows: Sequence[dict[str, Any]], x: str, y: str, colour: str, y_title: str) -> Drawing:
    """Stacked bars: for every ``x`` the parts ``y`` of a whole, by ``colour``, in their order."""
    names = list(dict.fromkeys(row[colour] for row in rows))
    values = [{**row, "place": names.index(row[colour])} for row in rows]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            alt.X(f"{x}:O", sort=list(dict.fromkeys(row[x] for row in rows)), axis=alt.Axis(labelAngle=0)),
            alt.Y(f"{y}:Q", title=y_title),
            alt.Color(
                f"{colour}:N", sort=names, title=None, scale=alt.Scale(domain=names, range=COLOURS[: len(names)])
            ),
            alt.Order("place:Q"),
        )
        .properties(width=420, height=260)
    )
