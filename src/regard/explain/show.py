"""Explanations in colour.

Blue speaks for the label and orange against it, a pair that colour-blind readers can tell apart; the words that speak
for it are underlined with a solid line and the others with a dotted one, so colour is never alone.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from regard.explain.explanation import Explanation, Part, Word

_FOR, _AGAINST = (0, 114, 178), (213, 94, 0)
_LOUDEST = 8


def to_rich(explanation: Explanation) -> Text:
    """The text, each word shaded by its contribution, and one line on what was predicted."""
    from rich.style import Style
    from rich.text import Text

    shown = Text()
    at = 0
    top = _largest(explanation.words)
    for word in explanation.words:
        shown.append(_printable(explanation.text[at : word.start]))
        strength = abs(word.contribution) / top
        style = Style()
        if strength >= 0.05:
            r, g, b = _FOR if word.contribution > 0 else _AGAINST
            style = Style(
                color="white" if strength >= 0.35 else None,
                bgcolor=f"rgb({r},{g},{b})" if strength >= 0.35 else None,
                underline=word.contribution > 0,
                bold=strength >= 0.7,
                italic=word.contribution < 0,
            )
            if strength < 0.35:
                style += Style(color=f"rgb({r},{g},{b})")
        shown.append(_printable(explanation.text[word.start : word.end]), style)
        at = word.end
    shown.append(_printable(explanation.text[at:]))
    shown.append("\n")
    shown.append(f"  {explanation.prediction}", Style(bold=True))
    shown.append(f"  probability {explanation.probability:.3f}")
    shown.append(f"  score for {explanation.label} {explanation.score:+.3f} = bias {explanation.bias:+.3f}")
    for part in loudest(explanation, 4):
        shown.append(f" {part.contribution:+.3f} ({part.text})")
    rest = explanation.score - explanation.bias - sum(part.contribution for part in loudest(explanation, 4))
    if len(explanation.parts) > 4:
        shown.append(f" {rest:+.3f} (the other {len(explanation.parts) - 4})")
    return shown


def to_html(explanation: Explanation) -> str:
    """The text, each word shaded by its contribution, and a table of the parts that weigh most."""
    top = _largest(explanation.words)
    pieces, at = [], 0
    for word in explanation.words:
        pieces.append(escape(explanation.text[at : word.start]))
        r, g, b = _FOR if word.contribution > 0 else _AGAINST
        opacity = 0.6 * abs(word.contribution) / top
        line = "solid" if word.contribution > 0 else "dotted"
        about = f"{word.text}: weight {word.weight:.4f}, contribution {word.contribution:+.4f}"
        pieces.append(
            f'<span title="{escape(about)}" style="background:rgba({r},{g},{b},{opacity:.2f});'
            f'border-bottom:2px {line} rgba({r},{g},{b},{min(1.0, 2 * opacity):.2f})">'
            f"{escape(explanation.text[word.start : word.end])}</span>"
        )
        at = word.end
    pieces.append(escape(explanation.text[at:]))
    rows = "".join(
        f'<tr><td style="text-align:left"><bdi>{escape(p.text)}</bdi></td>'
        + "".join(
            f'<td style="text-align:right;padding-left:1.2em">{number}</td>'
            for number in (f"{p.attention:+.2f}", f"{p.weight:.4f}", f"{p.polarity:+.2f}", f"{p.contribution:+.4f}")
        )
        + "</tr>"
        for p in loudest(explanation, _LOUDEST)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;line-height:1.6;max-width:60em">'
        f"<p><b>{escape(str(explanation.prediction))}</b> (probability {explanation.probability:.3f}); "
        f"score for {escape(str(explanation.label))} {explanation.score:+.4f}, bias {explanation.bias:+.4f}, "
        f"residual {explanation.residual:.1e}</p>"
        f'<p dir="auto" style="white-space:pre-wrap">{"".join(pieces)}</p>'
        f'<table style="font-variant-numeric:tabular-nums"><thead><tr>{_HEAD}</tr></thead><tbody>{rows}</tbody></table>'
        f"<p><small>Blue with a solid line speaks for {escape(str(explanation.label))}, orange with a dotted line for "
        f"{escape(explanation.other)}.</small></p></div>"
    )


_HEAD = '<th style="text-align:left">part</th>' + "".join(
    f'<th style="text-align:right;padding-left:1.2em">{name}</th>'
    for name in ("attention", "weight", "polarity", "contribution")
)


def loudest(explanation: Explanation, n: int) -> list[Part]:
    """The parts that move the score most."""
    return sorted(explanation.parts, key=lambda part: -abs(part.contribution))[:n]


def _largest(words: tuple[Word, ...]) -> float:
    return max((abs(word.contribution) for word in words), default=0.0) or 1.0


def _printable(text: str) -> str:
    """Nothing that could steer a terminal: control and direction characters become a space or a sign."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" if c not in "\r\x0b\x0c" else " " for c in text)
