"""The figures about similarity as Altair charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.errors import MissingExtraError
from regard.reproduce.charts import Drawing

try:
    import altair as alt
except ImportError as error:
    raise MissingExtraError("Drawing the papers' figures", "lab") from error

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#000000")


def curves(rows: Sequence[dict[str, Any]], x: str, y: str, name: str, x_title: str, y_title: str) -> Drawing:
    """A line for each name."""
    names = list(dict.fromkeys(row[name] for row in rows))
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X(f"{x}:Q", title=x_title),
            alt.Y(f"{y}:Q", title=y_title),
            alt.Color(f"{name}:N", scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), title=None),
            alt.StrokeDash(f"{name}:N", title=None, scale=_dashes(names)),
        )
        .properties(width=460, height=280)
    )


def noise(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Drawing:
    """Accuracy by the size of the noise: local noise on the left, with a common component on the right."""

    def panel(kind: str, title: str) -> Drawing:
        data = alt.Data(values=[row for row in rows if row["noise"] == kind])
        return (
            alt.Chart(data, title=title)
            .mark_line(strokeWidth=2)
            .encode(
                alt.X("size:Q", title="size of the noise"),
                alt.Y("accuracy:Q", title="accuracy, %", scale=alt.Scale(zero=False)),
                alt.Color("family:N", scale=_colours(names), sort=list(names), title=None),
                alt.StrokeDash("family:N", title=None, sort=list(names), scale=_dashes(names)),
            )
            .properties(width=300, height=260)
        )

    return alt.hconcat(panel("local", "local noise"), panel("common", "noise with a common component"))


def _colours(names: Sequence[str]) -> alt.Scale:
    order = ("#000000", *COLOURS[:7])
    return alt.Scale(domain=list(names), range=list(order[: len(names)]))


def _dashes(names: Sequence[str]) -> alt.Scale:
    solid = ("exp", "no smoothing")
    return alt.Scale(domain=list(names), range=[[1, 0] if name in solid else [5, 3] for name in names])


def fits(x: Any, y: Any, centre: Any, slopes: dict[str, float]) -> Drawing:
    """Points, lines, and from each point the way to the line: along y on the left, across on the right."""
    ends = [float(min(x)) - 0.3, float(max(x)) + 0.3]

    def panel(name: str, colour: str) -> Drawing:
        slope = slopes[name]
        ways = []
        for a, b in zip(x, y, strict=True):
            step = b - centre[1] - slope * (a - centre[0])
            foot = a if name == "vertical" else a + slope * step / (1 + slope**2)
            ways.append({"x": float(a), "y": float(b), "x2": foot, "y2": float(centre[1] + slope * (foot - centre[0]))})
        line = [{"x": end, "y": float(centre[1] + slope * (end - centre[0]))} for end in ends]
        scale = alt.Scale(domain=[-3, 3], clamp=True)
        at = (alt.X("x:Q", title="x", scale=scale), alt.Y("y:Q", title="y", scale=scale))
        data = alt.Data(values=ways)
        rules = (
            alt.Chart(data)
            .mark_rule(color="#777777")
            .encode(*at, alt.X2("x2:Q", title=None), alt.Y2("y2:Q", title=None))
        )
        dots = alt.Chart(data).mark_circle(size=28, color="#000000", opacity=0.8).encode(*at)
        fit = alt.Chart(alt.Data(values=line)).mark_line(color=colour, strokeWidth=2.5).encode(*at)
        return alt.layer(rules, fit, dots).properties(width=280, height=280, title=f"{name} distances")

    return alt.hconcat(panel("vertical", COLOURS[0]), panel("orthogonal", COLOURS[1]))


def sigmoid(X: Any, y: Any, p: Any, distance: Any, steep: float, w: Any, b: float) -> Drawing:
    """The animals with the line between them, and P(dog) by the distance from it."""
    rows = [
        {"nose": float(a), "ear": float(c), "animal": ("cat", "dog")[k], "p": float(q), "distance": float(d)}
        for (a, c), k, q, d in zip(X, y, p, distance, strict=True)
    ]
    data = alt.Data(values=rows)
    colour = alt.Color("p:Q", scale=alt.Scale(scheme="blueorange", domain=[0, 1], reverse=True), title="P(dog)")
    shape = alt.Shape("animal:N", scale=alt.Scale(domain=["cat", "dog"], range=["circle", "triangle-up"]), title=None)
    at = (alt.X("nose:Q", title="nose size"), alt.Y("ear:Q", title="ear shape"))
    animals = alt.Chart(data).mark_point(filled=True, size=55, opacity=1).encode(*at, colour, shape)
    ends = [{"nose": t, "ear": float(-(b + w[0] * t) / w[1])} for t in (float(X[:, 0].min()), float(X[:, 0].max()))]
    line = alt.Chart(alt.Data(values=ends)).mark_line(color="#000000").encode(*at)
    steps = [k / 100 for k in range(int(100 * min(distance)) - 2, int(100 * max(distance)) + 3)]
    curve = [{"distance": d, "p": 1 / (1 + 2.718281828459045 ** (-steep * d))} for d in steps]
    along = (alt.X("distance:Q", title="signed distance from the line"), alt.Y("p:Q", title="P(dog)"))
    smooth = alt.Chart(alt.Data(values=curve)).mark_line(color="#777777").encode(*along)
    dots = alt.Chart(data).mark_point(filled=True, size=40, opacity=1).encode(*along, colour, shape)
    left = alt.layer(line, animals).properties(width=280, height=260)
    return alt.hconcat(left, alt.layer(smooth, dots).properties(width=280, height=260))


def boundaries(X: Any, y: Any, points: Sequence[dict[str, Any]]) -> Drawing:
    """A panel a model: the points of two classes, and dots where the model changes its mind."""
    classes = [{"x": float(a), "y": float(b), "class": int(k)} for (a, b), k in zip(X, y, strict=True)]
    at = (alt.X("x:Q", title=None, axis=None), alt.Y("y:Q", title=None, axis=None))
    scale = alt.Scale(domain=[0, 1], range=[COLOURS[0], COLOURS[1]])
    things = alt.Chart(alt.Data(values=classes)).mark_circle(size=14, opacity=0.55)
    things = things.encode(*at, alt.Color("class:N", scale=scale, legend=None))

    def panel(name: str) -> Drawing:
        data = alt.Data(values=[{"x": p["x"], "y": p["y"]} for p in points if p["model"] == name])
        edge = alt.Chart(data).mark_circle(size=9, color="#000000", opacity=1).encode(*at)
        return alt.layer(things, edge).properties(width=215, height=150, title=name)

    names = list(dict.fromkeys(point["model"] for point in points))
    return alt.concat(*(panel(name) for name in names), columns=3)


def matrix(dense: Any) -> Drawing:
    """The entries of a matrix that are not zero, a colour for each value."""
    rows = [
        {"row": i, "column": j, "weight": int(dense[i, j])}
        for i in range(len(dense))
        for j in range(dense.shape[1])
        if dense[i, j]
    ]
    axis = alt.Axis(labels=False, ticks=False, grid=False)
    every = alt.Scale(domain=list(range(len(dense))))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            alt.X("column:O", title="input pixels", axis=axis, scale=every),
            alt.Y("row:O", title="output pixels", axis=axis, scale=every),
            alt.Color("weight:N", title="weight of the filter", scale=alt.Scale(scheme="category10")),
        )
        .properties(width=300, height=300)
    )


def grids(panels: dict[str, Any], columns: int = 4) -> Drawing:
    """Small images, each in its own shades from its least value to its greatest."""

    def panel(name: str, values: Any) -> Drawing:
        rows = [
            {"row": i, "column": j, "value": round(float(values[i, j]), 3)}
            for i in range(values.shape[0])
            for j in range(values.shape[1])
        ]
        shades = alt.Scale(scheme="greys")
        return (
            alt.Chart(alt.Data(values=rows), title=name)
            .mark_rect()
            .encode(
                alt.X("column:O", axis=None), alt.Y("row:O", axis=None), alt.Color("value:Q", scale=shades, legend=None)
            )
            .properties(width=110, height=110)
        )

    shown = alt.concat(*(panel(name, values) for name, values in panels.items()), columns=columns)
    return shown.resolve_scale(color="independent")


def heat(shares: Any) -> Drawing:
    """Shares of attention from rows to columns, in percent."""
    rows = [
        {"from": i, "to": j, "share": round(100 * float(shares[i, j]), 1)}
        for i in range(len(shares))
        for j in range(len(shares))
    ]
    at = (
        alt.X("to:O", title="to the digit", axis=alt.Axis(labelAngle=0)),
        alt.Y("from:O", title="from the digit"),
    )
    data = alt.Data(values=rows)
    tiles = alt.Chart(data).mark_rect().encode(*at, alt.Color("share:Q", scale=alt.Scale(scheme="blues"), title="%"))
    dark = alt.condition("datum.share > 50", alt.value("white"), alt.value("black"))
    words = alt.Chart(data).mark_text(fontSize=10).encode(*at, alt.Text("share:Q", format=".0f"), color=dark)
    return alt.layer(tiles, words).properties(width=320, height=320)
