"""Points on their way through layers, and who leads, as Altair charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from regard.reproduce.charts import Drawing, lines

__all__ = ["bars", "lines", "paths"]

_LEADER, _POINT, _FREE = "#D55E00", "#0072B2", "#777777"


def paths(
    layers: Mapping[int, NDArray[np.float64]],
    became: NDArray[np.integer[Any]],
    cluster: NDArray[np.integer[Any]],
    words: Sequence[str] = (),
) -> Drawing:
    """Positions in some layers, a panel each; leaders stand out, and have names where there are words.

    Parameters
    ----------
    layers
        For each layer the positions (n, 2).
    became : (n,)
        The layer in which a point became a leader, or -1.
    cluster : (n,)
        The leader that it follows, or -1.
    words : (n,), optional
        Their names.
    """
    everything = np.concatenate(list(layers.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    room = 0.06 * (high - low) + 1e-9
    x_scale, y_scale = (
        alt.Scale(domain=[float(low[k] - room[k]), float(high[k] + room[k])], nice=False) for k in (0, 1)
    )
    panels = []
    for layer, x in layers.items():
        rows = [
            {
                "x": float(x[i, 0]),
                "y": float(x[i, 1]),
                "kind": "leader" if became[i] >= 0 else "follower" if cluster[i] >= 0 else "free",
                "word": words[i] if len(words) and became[i] >= 0 else "",
            }
            for i in np.argsort(became >= 0, kind="stable")
        ]
        colour = alt.Color(
            "kind:N",
            scale=alt.Scale(domain=["leader", "follower", "free"], range=[_LEADER, _POINT, _FREE]),
            title=None,
        )
        base = alt.Chart(alt.Data(values=rows), title=f"layer {layer}")
        x_axis = alt.X("x:Q", scale=x_scale, title=None, axis=alt.Axis(labels=False, ticks=False))
        y_axis = alt.Y("y:Q", scale=y_scale, title=None, axis=alt.Axis(labels=False, ticks=False))
        size = alt.condition("datum.kind == 'leader'", alt.value(70), alt.value(22))
        dots = base.mark_circle(opacity=0.75).encode(x_axis, y_axis, colour, size=size)
        names = base.mark_text(dy=-9, fontSize=10).encode(x_axis, y_axis, alt.Text("word:N"))
        panels.append(alt.layer(dots, names).properties(width=190, height=190))
    return alt.hconcat(*panels)


def bars(rows: Sequence[dict[str, Any]]) -> Drawing:
    """In how many reviews each word leads, by side."""

    def panel(side: str, colour: str) -> Drawing:
        mine = [row for row in rows if row["side"] == side]
        return (
            alt.Chart(alt.Data(values=mine), title=f"{side} reviews")
            .mark_bar(color=colour)
            .encode(alt.X("leads:Q", title="leads in reviews"), alt.Y("word:N", sort="-x", title=None))
            .properties(width=260, height=270)
        )

    return alt.hconcat(panel("positive", _POINT), panel("negative", _LEADER))
