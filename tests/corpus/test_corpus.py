"""Parts of a corpus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus import Corpus
from regard.errors import DataError, SettingError

labellings = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=60)
fractions = st.floats(0.01, 0.99)
seeds = st.integers(0, 2**32)


def numbered(labels):
    return Corpus.from_columns([str(i) for i in range(len(labels))], labels)


@given(labellings, fractions, seeds)
def test_a_stratified_split_loses_no_row_and_keeps_the_order(labels, fraction, seed):
    rest, held_out = numbered(labels).stratified(fraction, seed)

    assert sorted(rest.texts + held_out.texts, key=int) == [str(i) for i in range(len(labels))]
    for part in (rest, held_out):
        assert part.texts == sorted(part.texts, key=int)
        assert part.labels.tolist() == [labels[int(text)] for text in part.texts]


@given(labellings, fractions, seeds)
def test_every_class_stays_in_the_rest(labels, fraction, seed):
    rest, _ = numbered(labels).stratified(fraction, seed)

    assert set(rest.labels) == set(labels)


@given(labellings, fractions, seeds)
def test_the_same_seed_holds_out_the_same_rows(labels, fraction, seed):
    assert numbered(labels).stratified(fraction, seed)[1].texts == numbered(labels).stratified(fraction, seed)[1].texts


@given(labellings, fractions, seeds)
def test_each_class_gives_its_share_within_one_row(labels, fraction, seed):
    _, held_out = numbered(labels).stratified(fraction, seed)

    for name in set(labels):
        n = labels.count(name)
        given_away = int((held_out.labels == name).sum()) if len(held_out) else 0
        assert given_away <= max(fraction * n + 1, 0)
        assert given_away >= min(np.floor(fraction * n), n - 1)


def test_a_small_corpus_still_has_something_to_validate_on():
    rest, held_out = numbered(["a", "a", "b", "b"]).stratified(0.1, seed=1)

    assert (len(rest), len(held_out)) == (3, 1)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2])
def test_a_fraction_outside_zero_and_one_is_refused(fraction):
    with pytest.raises(SettingError, match="fraction must lie between 0 and 1"):
        numbered(["a", "b"]).stratified(fraction, seed=0)


def test_a_seed_below_zero_is_refused():
    with pytest.raises(SettingError, match="seed must be 0 or more"):
        Corpus.from_columns(["a", "b"] * 4, [0, 1] * 4).stratified(0.5, seed=-1)


def test_parts_are_taken_by_name():
    corpus = Corpus.from_columns(["x", "y", "z"], [1, 0, 1], ["train", "dev", "train"])

    assert corpus.parts == ("train", "validation")
    assert corpus.part("train").texts == ["x", "z"]
    assert corpus.part("dev").labels.tolist() == [0]
    with pytest.raises(DataError, match="must have the part 'test', but it has the parts train, validation"):
        corpus.part("test")
    with pytest.raises(DataError, match="it has no split"):
        numbered(["a", "b"]).part("train")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b"], "U"),
        ([1, 0], "i"),
        ([1.0, 2.0], "i"),
        ([True, False], "b"),
        (np.array([1, 2], dtype=np.int8), "i"),
        (np.array(["x", "y"]), "U"),
        (np.array([True, False]), "b"),
    ],
)
def test_labels_from_columns_keep_their_kind(labels, kind):
    corpus = Corpus.from_columns(["x", "y"], labels)

    assert corpus.labels.dtype.kind == kind
    assert corpus.labels.tolist() == list(labels)


@pytest.mark.parametrize(
    ("texts", "labels", "split", "said"),
    [
        (["x", None], None, None, "texts must hold strings, but row 1 holds NoneType"),
        (["x", "y"], [1], None, "labels must be as many as the texts"),
        (["x", "y"], [1, None], None, "labels must have a value in every row, but row 1 has none"),
        (["x", "y"], [1, "a"], None, "labels must be of one kind; got int and str"),
        (["x", "y"], [1, [2]], None, "labels must be strings, numbers or booleans; got list"),
        (["x", "y"], [1, 0], ["train", "fold 1"], "split must say train, validation or test"),
    ],
)
def test_columns_that_do_not_fit_are_refused(texts, labels, split, said):
    with pytest.raises(DataError, match=said):
        Corpus.from_columns(texts, labels, split)


def test_without_labels_there_are_no_classes():
    with pytest.raises(DataError, match="must have labels for classes"):
        _ = Corpus.from_columns(["x"]).classes
