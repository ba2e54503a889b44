"""An audit as a section of the page: the verdict, curves, every test, and documents worth seeing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.report.figures import Axis, Curve, Figure, axis

if TYPE_CHECKING:
    from regard.audit.result import Audit, Example, Result, Verdict

_SHOWN = ("attention", "contribution", "random")


@dataclass(frozen=True)
class Piece:
    """A stretch of a text, with its share of the attention and of the contributions."""

    text: str
    attention: int
    contribution: int


@dataclass(frozen=True)
class Shown:
    """A document worth seeing, cut where the shading changes; shades go from 0 to 5, and against from -1 to -5."""

    why: str
    row: int
    prediction: str
    probability: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Audited:
    """What the section shows.

    Attributes
    ----------
    verdict : Verdict
    results : tuple of Result
    figures : tuple of Figure
    documents : tuple of Shown
    about : dict
        Texts, seed, run time, and the other facts of the audit.
    """

    verdict: Verdict
    results: tuple[Result, ...]
    figures: tuple[Figure, ...]
    documents: tuple[Shown, ...]
    about: dict[str, Any]


def audited(found: Audit) -> Audited:
    """The section of an audit."""
    return Audited(
        found.verdict,
        found.results,
        (
            _figure(found, "deletion", "probability without the first part of a ranking"),
            _figure(found, "insertion", "probability of the first part alone"),
        ),
        tuple(_shown(example) for example in found.examples),
        found.about,
    )


def _figure(found: Audit, which: str, name: str) -> Figure:
    """Attention, contributions and random rankings, as far as they were measured."""
    main = found.about["ranking"]
    wanted = [main, *(each for each in _SHOWN if each != main)]
    by_name = {curve.name: curve for curve in found["curves"].curves}
    curves = []
    for ranking in wanted[:3]:
        curve = by_name.get(f"{which}: {ranking}")
        if curve is not None:
            pairs = zip(curve.shares, curve.values, strict=True)
            points = tuple((share, value, f"{share:.0%}: {value:.1%}") for share, value in pairs)
            curves.append(Curve(ranking, points))
    ticks = tuple((i / 4, f"{25 * i}%") for i in range(5))
    y = axis("probability", [value for curve in curves for _, value, _ in curve.points], percent=True)
    done = "removed" if which == "deletion" else "kept"
    return Figure(name, Axis(f"{found.about['unit']} {done}", 0.0, 1.0, ticks), y, tuple(curves))


def _shown(example: Example) -> Shown:
    """Overlapping units share the characters: each character has the sum of what covers it."""
    size = len(example.text)
    attention, contribution = [0.0] * size, [0.0] * size
    for (start, end), weight, part in zip(example.spans, example.attention, example.contribution, strict=True):
        for i in range(start, end):
            attention[i] += weight
            contribution[i] += part
    most, far = max(map(abs, attention), default=0.0) or 1.0, max(map(abs, contribution), default=0.0) or 1.0
    pieces: list[Piece] = []
    shades = [(_shade(a / most), _shade(c / far)) for a, c in zip(attention, contribution, strict=True)]
    for character, (a, c) in zip(example.text, shades, strict=True):
        if pieces and (pieces[-1].attention, pieces[-1].contribution) == (a, c):
            pieces[-1] = Piece(pieces[-1].text + character, a, c)
        else:
            pieces.append(Piece(character, a, c))
    return Shown(example.why, example.row, example.prediction, example.probability, tuple(pieces))


def _shade(value: float) -> int:
    steps = round(5 * min(1.0, abs(value)))
    return steps if value >= 0 else -steps
