"""Curves with axes, as data: where each point lies is worked out here, and ``figure`` in the template draws it.

A library would write its colours and ``style`` attributes into the SVG; the page's policy refuses the latter, and its
dark side and paper need the colours of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.assessment import Assessment
from regard.report.data import Epoch

_WIDE = 260.0
_TICKS = 4


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``, with numbers at the ticks."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Curve:
    """Points joined by a line.

    Attributes
    ----------
    name : str
        For the legend; a figure of one curve has none.
    points : tuple of (x, y, text)
        The text is shown under the pointer and read aloud.
    bars : tuple of (low, high), or ()
        An interval for each point.
    """

    name: str
    points: tuple[tuple[float, float, str], ...]
    bars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Figure:
    """Curves over two axes.

    Attributes
    ----------
    name : str
        What it shows, in a few words: its identity on the page.
    x, y : Axis
    curves : tuple of Curve
        At most three: blue, orange and green; solid with dots, dashed with diamonds, dotted with squares.
    caption : str
        How to read it.
    tall : float
        Height, where the width is 260.
    diagonal : bool
        Whether to draw ``y = x``.
    mark : (x, text), optional
        A place to point out.
    """

    name: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    caption: str = ""
    tall: float = 130.0
    diagonal: bool = False
    mark: tuple[float, str] | None = None

    @property
    def wide(self) -> float:
        """Width of the field without its labels."""
        return _WIDE

    def across(self, x: float) -> float:
        """Where it is from the left."""
        return round((x - self.x.low) / (self.x.high - self.x.low) * _WIDE, 1)

    def down(self, y: float) -> float:
        """Where it is from the top."""
        return round((self.y.high - y) / (self.y.high - self.y.low) * self.tall, 1)

    @property
    def said(self) -> str:
        """Everything in it as words."""
        return "; ".join(
            (f"{curve.name}: " if curve.name else "") + ", ".join(text for _, _, text in curve.points)
            for curve in self.curves
        )


def axis(name: str, values: Sequence[float], percent: bool = False) -> Axis:
    """Round numbers that hold all values between them.

    Examples
    --------
    >>> axis("loss", [0.437, 0.451]).ticks
    ((0.435, '0.435'), (0.44, '0.440'), (0.445, '0.445'), (0.45, '0.450'), (0.455, '0.455'))
    """
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    ten = 10.0 ** math.floor(math.log10(span / _TICKS))
    step = next(m * ten for m in (1, 2, 5, 10) if m * ten >= span / _TICKS * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last += first == last
    digits = max(0, -math.floor(math.log10(step * (100 if percent else 1)) + 1e-9))
    places = [i * step for i in range(first, last + 1)]
    ticks = ((round(v, 12), f"{100 * v:.{digits}f}%" if percent else f"{v:.{digits}f}") for v in places)
    return Axis(name, places[0], places[-1], tuple(ticks))


def calibration(assessment: Assessment) -> Figure | None:
    """The share that came true against the predicted probability."""
    if not assessment.calibration:
        return None
    ticks = tuple((i / 4, f"{25 * i}%") for i in range(5))
    points = tuple(
        (b.mean, b.share, f"predicted {b.mean:.1%}, true {b.share:.1%} of {b.texts:,}") for b in assessment.calibration
    )
    bars = tuple((b.lower, b.upper) for b in assessment.calibration)
    return Figure(
        "calibration",
        Axis("predicted probability", 0.0, 1.0, ticks),
        Axis("came true", 0.0, 1.0, ticks),
        (Curve("", points, bars),),
        tall=_WIDE,
        diagonal=True,
    )


def training(course: Sequence[Epoch], chosen: int | None) -> tuple[Figure, ...]:
    """Losses by epoch, and below them the accuracy, as far as the training kept them."""
    if len(course) < 2:
        return ()
    count = len(course)
    step = next(m for m in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, count) if count / m <= 8)
    shown = sorted({*([1] if step != 2 else []), *range(step, count + 1, step)})
    x = Axis("epoch", 1.0, float(count), tuple((float(i), str(i)) for i in shown))
    mark = (float(chosen), "kept") if chosen is not None and chosen < count else None

    def curve(name: str, values: Sequence[float | None], percent: bool = False) -> Curve:
        points = (
            (float(i), value, f"epoch {i}: {value:.1%}" if percent else f"epoch {i}: {value:.4f}")
            for i, value in enumerate(values, 1)
            if value is not None
        )
        return Curve(name, tuple(points))

    losses = [
        curve("on held-out texts", [each.log_loss for each in course]),
        curve("on training texts", [each.loss for each in course]),
    ]
    losses = [each for each in losses if len(each.points) > 1]
    figures = []
    if losses:
        y = axis("log loss", [value for each in losses for _, value, _ in each.points])
        parts = "" if len(losses) > 1 else f" {losses[0].name}"
        figures.append(Figure("log loss", x, y, tuple(losses), f"Log loss{parts} after each epoch.", mark=mark))
    found = curve("", [each.accuracy for each in course], percent=True)
    if len(found.points) > 1:
        y = axis("accuracy", [value for _, value, _ in found.points], percent=True)
        figures.append(Figure("accuracy", x, y, (found,), "Accuracy on held-out texts after each epoch.", mark=mark))
    return tuple(figures)
