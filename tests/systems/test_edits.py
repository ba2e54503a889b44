"""Edits between sentences: the fewest there are, one for each mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.systems.edits import Edit, Tally, apply, edits, tally

SENTENCES = st.lists(st.sampled_from("abcd"), max_size=7)


def distance(source, target):
    """The restricted edit distance with exchanges, by its recursion."""
    table = {}
    for i in range(len(source) + 1):
        for j in range(len(target) + 1):
            if not i or not j:
                table[i, j] = i + j
                continue
            replaced = table[i - 1, j - 1] + (source[i - 1] != target[j - 1])
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, replaced]
            if i > 1 and j > 1 and source[i - 2 : i] == target[j - 2 : j][::-1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(source), len(target)]


@given(SENTENCES, SENTENCES)
def test_edits_lead_from_one_sentence_to_the_other(source, target):
    assert apply(source, edits(source, target)) == target


@given(SENTENCES, SENTENCES)
def test_there_are_no_fewer_edits(source, target):
    assert len(edits(source, target)) == distance(source, target)


@given(SENTENCES)
def test_equal_sentences_have_none(source):
    assert edits(source, source) == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("the dog like it", "the dog likes it", [Edit(2, 3, ("likes",))]),
        ("dog sees", "the dog sees", [Edit(0, 0, ("the",))]),
        ("depends on of it", "depends on it", [Edit(2, 3, ())]),
        ("a dog big runs", "a big dog runs", [Edit(1, 3, ("big", "dog"))]),
        ("", "so it is", [Edit(0, 0, (word,)) for word in ("so", "it", "is")]),
    ],
)
def test_each_mistake_is_one_edit(source, target, expected):
    assert edits(source.split(), target.split()) == expected


def test_an_edit_is_right_if_span_and_words_are():
    wanted = edits(["the", "dog", "like", "bone"], ["the", "dog", "likes", "a", "bone"])

    assert tally(wanted, wanted) == Tally(2, 2, 2)
    assert tally(wanted, edits(["the", "dog", "like", "bone"], ["the", "dog", "likes", "the", "bone"])) == Tally(
        2, 2, 1
    )
    assert tally(wanted, []) == Tally(2, 0, 0)


def test_f_weighs_precision_twice():
    sure, eager = Tally(wanted=10, made=5, right=5), Tally(wanted=10, made=20, right=10)

    assert (sure.precision, sure.recall) == (1.0, 0.5)
    assert sure.f == pytest.approx(1.25 * 0.5 / (0.25 + 0.5))
    assert eager.f == pytest.approx(1.25 * 0.5 / (0.125 + 1))
    assert Tally(3, 2, 0).f == 0.0
    assert (Tally(1, 2, 1) + Tally(3, 0, 0)) == Tally(4, 2, 1)


def test_nothing_wanted_and_nothing_made_is_right():
    assert Tally().f == 1.0
