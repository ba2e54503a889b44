"""A text as two levels of attention weigh it, as an Altair chart."""

from __future__ import annotations

from typing import Any

from regard.errors import MissingExtraError
from regard.reproduce.charts import Drawing

try:
    import altair as alt
except ImportError as error:
    raise MissingExtraError("Drawing what systems attend to", "lab") from error


def two_levels(sentences: list[dict[str, Any]]) -> Drawing:
    """A row for each sentence: its weight, then its words, dark where the attention is."""
    cells = [
        {"row": i, "column": j, "weight": weight, "text": text}
        for i, sentence in enumerate(sentences)
        for j, (text, weight) in enumerate([[f"{sentence['weight']:.2f}", sentence["weight"]], *sentence["words"]])
    ]
    longest = max(len(sentence["words"]) for sentence in sentences)
    base = alt.Chart(alt.Data(values=cells)).encode(
        alt.X(
            "column:O",
            title=None,
            axis=alt.Axis(
                labelExpr="datum.value == 0 ? 'sentence' : ''", orient="top", labelAngle=0, ticks=False, domain=False
            ),
        ),
        alt.Y("row:O", title=None, axis=None),
    )
    boxes = base.mark_rect(stroke="#ffffff").encode(
        alt.Color("weight:Q", title="weight", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    )
    words = base.mark_text(fontSize=11).encode(
        text="text:N", color=alt.condition("datum.weight > 0.5", alt.value("white"), alt.value("black"))
    )
    return (boxes + words).properties(width=62 * (longest + 1), height=26 * len(sentences))
