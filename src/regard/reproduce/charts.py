"""The papers' figures as Altair charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.errors import MissingExtraError

try:
    import altair as alt
except ImportError as error:
    raise MissingExtraError("Drawing the papers' figures", "lab") from error

Drawing = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.ConcatChart
_GOLDEN = 0.618034  # steps of this spread dots evenly
QUARTILES = ("smallest", "lower quartile", "median", "upper quartile", "largest")
# Okabe and Ito's colours, which colour-blind readers tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#777777", "#009E73", "#CC79A7", "#E69F00")


def scores(words: dict[str, list[list[Any]]]) -> Drawing:
    """Polarity beside attention, a dot a word and a line at the median, by kind.

    Parameters
    ----------
    words
        For each kind a list of word, attention, polarity; with several sides, a polarity for each.
    """
    points = [
        {
            "kind": kind,
            "word": word,
            "attention": attention,
            "polarity": sides[0] if len(sides) == 1 else max(sides, key=abs),
            "beside": i * _GOLDEN % 1,
        }
        for kind, listed in words.items()
        for i, (word, attention, *sides) in enumerate(listed)
    ]
    kinds = _kinds(words)

    def panel(name: str) -> Drawing:
        x = alt.X("kind:N", sort=kinds, title=None, axis=alt.Axis(labelAngle=0))
        y = alt.Y(f"{name}:Q", title=f"{name} score")
        dots = (
            alt.Chart(alt.Data(values=points))
            .mark_circle(size=14, opacity=0.5, aria=False)
            .encode(x, y, alt.XOffset("beside:Q"), alt.Color("kind:N", scale=_scale(kinds), legend=None))
        )
        middle = alt.Chart(alt.Data(values=points)).mark_tick(color="black", thickness=2, width=60)
        return alt.layer(dots, middle.encode(x, alt.Y(f"median({name}):Q"))).properties(width=300, height=280)

    return alt.hconcat(panel("polarity"), panel("attention"))


def boxes(summary: Sequence[dict[str, Any]], title: str) -> Drawing:
    """A box for each kind, from its quartiles."""
    rows = [{name.replace(" ", "_"): value for name, value in one.items()} for one in summary if one["kind"] != "none"]
    kinds = _kinds([row["kind"] for row in rows])
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X("kind:N", sort=kinds, title=None, axis=alt.Axis(labelAngle=0)))
    colour = alt.Color("kind:N", scale=_scale(kinds), legend=None)
    whiskers = base.mark_rule().encode(alt.Y("smallest:Q", title=title), alt.Y2("largest:Q"))
    box = base.mark_bar(size=60, opacity=0.8).encode(alt.Y("lower_quartile:Q"), alt.Y2("upper_quartile:Q"), colour)
    middle = base.mark_tick(color="black", thickness=2, width=60).encode(alt.Y("median:Q"))
    return alt.layer(whiskers, box, middle).properties(width=420, height=300)


def course(result: dict[str, Any]) -> Drawing:
    """Mean polarity and mean attention of each group, by epoch."""
    kinds = _kinds([one["group"] for one in result["groups"]])

    def panel(name: str) -> Drawing:
        rows = [{"epoch": one["epoch"], "group": one["group"], "value": one[name]} for one in result["groups"]]
        return (
            alt.Chart(alt.Data(values=rows))
            .mark_line()
            .encode(
                alt.X("epoch:Q"),
                alt.Y("value:Q", title=f"mean {name} score"),
                alt.Color("group:N", scale=_scale(kinds), title=None),
            )
            .properties(width=300, height=220)
        )

    return alt.hconcat(panel("polarity"), panel("attention"))


def terms(result: dict[str, Any]) -> Drawing:
    """The terms of polarity (A, B, C) and of attention (D, E, F) for each group, by epoch."""

    def panel(names: Sequence[str], group: str) -> Drawing:
        rows = [
            {"epoch": one["epoch"], "term": name, "value": one[name]}
            for one in result["groups"]
            if one["group"] == group
            for name in names
        ]
        return (
            alt.Chart(alt.Data(values=rows), title=group)
            .mark_line()
            .encode(
                alt.X("epoch:Q"),
                alt.Y("value:Q", title="speed"),
                alt.Color("term:N", scale=_scale(names), title=None),
            )
            .properties(width=180, height=160)
        )

    groups = ("positive", "negative", "neutral")
    rows = [alt.vconcat(*(panel(names, group) for group in groups)) for names in ("ABC", "DEF")]
    return alt.hconcat(*rows).resolve_scale(color="independent")


def lines(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Drawing:
    """Several columns by epoch."""
    values = [{"epoch": row["epoch"], "name": name, "value": row[name]} for row in rows for name in names]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            alt.X("epoch:Q"),
            alt.Y("value:Q", title=None),
            alt.Color("name:N", scale=_scale(names), title=None, sort=list(names)),
        )
        .properties(width=420, height=260)
    )


def dots(points: Sequence[dict[str, Any]]) -> Drawing:
    """V·W of each initialisation, by the balance of the classes."""
    order = [point["ratio"] for point in sorted(points, key=lambda point: point["place"])]
    data = alt.Data(values=[{"ratio": point["ratio"], "dot": point["V·W"]} for point in points])
    x = alt.X("ratio:N", sort=list(dict.fromkeys(order)), title="positive : negative", axis=alt.Axis(labelAngle=0))
    circles = alt.Chart(data).mark_circle(size=60, color=_COLOURS[0]).encode(x, alt.Y("dot:Q", title="V·W"))
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#777777").encode(alt.Y("zero:Q"))
    return alt.layer(zero, circles).properties(width=460, height=260)


def _kinds(found: Any) -> list[str]:
    """Each once: the classes in their order, neutral last."""
    names = list(dict.fromkeys(found))
    first = [name for name in ("positive", "negative") if name in names]
    return [
        *first,
        *(name for name in names if name not in (*first, "neutral")),
        *(["neutral"] if "neutral" in names else []),
    ]


def _scale(names: Sequence[str]) -> alt.Scale:
    colours = dict(
        zip((name for name in names if name != "neutral"), (_COLOURS[0], _COLOURS[1], *_COLOURS[3:]), strict=False)
    )
    return alt.Scale(domain=list(names), range=[colours.get(name, _COLOURS[2]) for name in names])
