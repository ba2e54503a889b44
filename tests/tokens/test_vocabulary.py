"""Rows of the table: exact, ordered, and the same for any number of threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import any_text

from regard.tokens import Vocabulary, tokenize

texts_of_few_words = st.lists(st.text(alphabet="ab c!", max_size=30), max_size=8)


def grams_of(text, ngrams):
    words = [token.text for token in tokenize(text)]
    return [" ".join(words[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(words) - n + 1)]


@settings(max_examples=200)
@given(texts_of_few_words, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_rows_are_the_phrases_that_are_frequent_enough(texts, ngrams, min_count, n_threads):
    counts = Counter(gram for text in texts for gram in grams_of(text, ngrams))

    vocabulary, _ = Vocabulary.learn(texts, ngrams=ngrams, min_count=min_count, n_threads=n_threads)

    names = vocabulary.names()
    assert sorted(names) == sorted(gram for gram, count in counts.items() if count >= min_count)
    assert [vocabulary.row(name) for name in names] == list(range(len(vocabulary)))
    assert vocabulary.row("zzz") is None


@settings(max_examples=200)
@given(texts_of_few_words, texts_of_few_words, st.integers(1, 3))
def test_counts_of_rows_agree_with_a_plain_loop(texts, others, n_threads):
    vocabulary, _ = Vocabulary.learn(texts, ngrams=3, min_count=1)
    names = vocabulary.names()

    rows = vocabulary.rows(vocabulary.tokens(others, n_threads), n_threads)

    for document, text in enumerate(others):
        span = slice(rows.starts[document], rows.starts[document + 1])
        found = {names[i]: count for i, count in zip(rows.ids[span], rows.counts[span], strict=True)}
        expected = Counter(gram for gram in grams_of(text, 3) if gram in names)
        assert found == expected
        assert Counter(names[place.row] for place in vocabulary.places(text)) == expected


@given(st.lists(any_text, min_size=1, max_size=8))
def test_the_vocabulary_does_not_depend_on_threads(texts):
    one, tokens_one = Vocabulary.learn(texts * 20, min_count=2, n_threads=1)
    three, tokens_three = Vocabulary.learn(texts * 20, min_count=2, n_threads=3)

    assert one.names() == three.names()
    np.testing.assert_array_equal(tokens_one.ids, tokens_three.ids)


def test_words_come_by_falling_frequency():
    vocabulary, _ = Vocabulary.learn(["b a b c b a"], ngrams=1, min_count=1)

    assert vocabulary.word_list == ["b", "a", "c"]


@pytest.mark.parametrize("texts", [[], [""], ["", "  "]])
def test_no_words_is_an_empty_vocabulary(texts):
    vocabulary, tokens = Vocabulary.learn(texts)

    assert len(vocabulary) == 0
    assert len(tokens) == len(texts)
    assert len(vocabulary.rows(tokens).ids) == 0


def test_places_carry_the_characters_of_each_phrase():
    text = "It is NOT  good!"
    vocabulary, _ = Vocabulary.learn([text], ngrams=2, min_count=1)
    names = vocabulary.names()

    spans = {names[p.row]: text[p.start : p.end] for p in vocabulary.places(text)}

    assert spans["not good"] == "NOT  good"
    assert spans["good !"] == "good!"


@settings(max_examples=200)
@given(st.lists(any_text, max_size=4), any_text, st.integers(1, 3))
def test_occurrences_are_the_rows_of_the_places(texts, text, ngrams):
    vocabulary, _ = Vocabulary.learn([*texts, text[::2]], ngrams=ngrams, min_count=1)

    for one in (*texts, text):
        assert vocabulary.occurrences(one).tolist() == [place.row for place in vocabulary.places(one)]
