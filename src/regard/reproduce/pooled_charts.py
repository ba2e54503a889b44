"""The figures of the papers on attention as explanation, as Altair charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import MissingExtraError

try:
    import altair as alt
except ImportError as error:
    raise MissingExtraError("Drawing the papers' figures", "lab") from error

Drawing = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.ConcatChart
# Okabe and Ito's colours, which colour-blind readers tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#777777", "#56B4E9")
_QUARTILES = ("smallest", "lower", "median", "upper", "largest")


def permutations(models: Mapping[str, Sequence[Mapping[str, Any]]], bins: int) -> Drawing:
    """The median move of the probability under shuffles, a box for each predicted class and span of largest weights.

    Parameters
    ----------
    models
        For each model the boxes: bin, class, and the five quartiles.
    """

    def panel(model: str) -> Drawing:
        rows = [
            {
                "largest weight": f"{box['bin'] / bins:g} to {(box['bin'] + 1) / bins:g}",
                "predicted": ("negative", "positive")[box["class"]],
                **dict(zip(_QUARTILES, box["quartiles"], strict=True)),
            }
            for box in models[model]
        ]
        spans = [f"{k / bins:g} to {(k + 1) / bins:g}" for k in range(bins)]
        x = alt.X("largest weight:N", scale=alt.Scale(domain=spans), axis=alt.Axis(labelAngle=0))
        beside = alt.XOffset("predicted:N", sort=["negative", "positive"])
        base = alt.Chart(alt.Data(values=rows), title=model).encode(x, beside)
        scale = alt.Scale(domain=[0, 1])
        whiskers = base.mark_rule().encode(alt.Y("smallest:Q", title="median |Δp|", scale=scale), alt.Y2("largest:Q"))
        box = base.mark_bar(size=14).encode(
            alt.Y("lower:Q"),
            alt.Y2("upper:Q"),
            alt.Color("predicted:N", scale=_scale(("negative", "positive")), title="predicted"),
        )
        middle = base.mark_tick(color="black", thickness=2, width=14).encode(alt.Y("median:Q"))
        return alt.layer(whiskers, box, middle).properties(width=240, height=180)

    return alt.concat(*(panel(model) for model in models), columns=3)


def histograms(models: Mapping[str, Mapping[str, Sequence[float]]], top: float, title: str) -> Drawing:
    """Shares of the texts by a number from 0 to ``top``, a line for each name.

    Parameters
    ----------
    models
        For each model the shares in bars of equal width, by name.
    """
    names = list(dict.fromkeys(name for shares in models.values() for name in shares))

    def panel(model: str) -> Drawing:
        rows = [
            {"at": top * (i + 0.5) / len(shares), "share": share, "name": name}
            for name, shares in models[model].items()
            for i, share in enumerate(shares)
        ]
        return (
            alt.Chart(alt.Data(values=rows), title=model)
            .mark_line(interpolate="step")
            .encode(
                alt.X("at:Q", title=title, scale=alt.Scale(domain=[0, top])),
                alt.Y("share:Q", title="share of the texts"),
                alt.Color("name:N", scale=_scale(names), title=None, sort=names),
            )
            .properties(width=240, height=160)
        )

    return alt.concat(*(panel(model) for model in models), columns=3)


def curves(
    models: Mapping[str, Sequence[Mapping[str, Any]]], x: str, y: str, *, behind: str = "", top: float | None = None
) -> Drawing:
    """Several lines a model, by name: each point has ``x``, ``y`` and ``name``.

    Parameters
    ----------
    behind
        The line that others may lie upon: it is drawn broad and pale.
    top
        Where y ends, if it is known; it then begins at 0.
    """
    names = list(dict.fromkeys(point["name"] for points in models.values() for point in points))
    names = [name for name in names if name != behind] + [behind] * (behind in names)
    ends = alt.Undefined if top is None else alt.Scale(domain=[0, top])

    def panel(model: str) -> Drawing:
        rows = [{"x": point[x], "y": point[y], "name": point["name"]} for point in models[model]]

        def of(kept: Sequence[dict[str, Any]]) -> alt.Chart:
            return alt.Chart(alt.Data(values=list(kept)), title=model).encode(
                alt.X("x:Q", title=x),
                alt.Y("y:Q", title=y, scale=ends),
                alt.Color("name:N", scale=_scale(names), title=None, sort=names, legend=alt.Legend(symbolOpacity=1)),
            )

        broad = of([row for row in rows if row["name"] == behind]).mark_line(strokeWidth=9, opacity=0.4)
        thin = of([row for row in rows if row["name"] != behind]).mark_line(point={"size": 12}, strokeWidth=1.5)
        return alt.layer(broad, thin).properties(width=240, height=180)

    return alt.concat(*(panel(model) for model in models), columns=3)


def _scale(names: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=[_COLOURS[i % len(_COLOURS)] for i in range(len(names))])
