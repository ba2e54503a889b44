"""Distinct lines of a table."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.models.lines import distinct_lines


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, -0.0, 1.5, -2.0])), max_size=40))
def test_lines_give_the_table_back_and_differ_from_one_another(rows):
    counts = np.array([row[0] for row in rows], np.uint16)
    numbers = np.array([row[1] for row in rows], np.float32)

    first, line = distinct_lines([numbers, counts])

    np.testing.assert_array_equal(numbers[first][line].view(np.uint32), numbers.view(np.uint32))
    np.testing.assert_array_equal(counts[first][line], counts)
    assert len(first) == len({(n.tobytes(), c) for n, c in zip(numbers, counts, strict=True)})
    assert (np.diff(first) > 0).all()
