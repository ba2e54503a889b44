"""Where the points of a figure lie."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.report import Epoch
from regard.report.figures import axis, training

numbers = st.floats(-1e6, 1e6, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(st.lists(numbers, min_size=1, max_size=20), st.booleans())
def test_an_axis_holds_its_values_and_says_its_ticks_apart(values, percent):
    found = axis("", values, percent)

    assert found.low < found.high
    slack = 1e-6 * (found.high - found.low)
    assert found.low - slack <= min(values)
    assert max(values) <= found.high + slack
    assert 2 <= len(found.ticks) <= 7
    steps = [b - a for (a, _), (b, _) in zip(found.ticks, found.ticks[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-4)
    assert len({text for _, text in found.ticks}) == len(found.ticks)
    for value, text in found.ticks:
        assert float(re.sub("%", "", text)) == pytest.approx(
            value * (100 if percent else 1), abs=0.6 * steps[0] * (100 if percent else 1)
        )


@given(
    st.lists(st.builds(Epoch, *[st.none() | st.floats(0, 3)] * 2, st.floats(0, 1)), min_size=2, max_size=60), st.data()
)
def test_every_epoch_that_was_kept_is_a_point_in_the_field(course, data):
    chosen = data.draw(st.integers(1, len(course)))
    for figure in training(course, chosen):
        for curve in figure.curves:
            for x, y, _ in curve.points:
                assert 0 <= figure.across(x) <= figure.wide
                assert 0 <= figure.down(y) <= figure.tall
        assert figure.mark == ((chosen, "kept") if chosen < len(course) else None)
        assert len(figure.x.ticks) <= 9
    accuracies = training(course, chosen)[-1].curves[0]
    assert [y for _, y, _ in accuracies.points] == [each.accuracy for each in course]


def test_the_right_is_more_and_the_top_is_more():
    figure = training([Epoch(accuracy=0.5), Epoch(accuracy=0.7), Epoch(accuracy=0.9)], 3)[0]

    assert [figure.across(x) for x in (1, 2, 3)] == [0, figure.wide / 2, figure.wide]
    assert [figure.down(y) for y in (0.5, 0.7, 0.9)] == [figure.tall, figure.tall / 2, 0]
    assert figure.y.ticks[0] == (0.5, "50%")


def test_a_training_of_one_epoch_has_no_curve():
    assert training([Epoch(0.5, 0.5, 0.5)], 1) == ()
