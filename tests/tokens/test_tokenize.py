"""The rule, and the byte loops that must follow it."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies import any_text

from regard.tokens import Vocabulary, tokenize
from regard.tokens.rule import normalise


def words(text):
    return [token.text for token in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Not GOOD at all", ["not", "good", "at", "all"]),
        ("isn't rock'n'roll 'quoted'", ["isn't", "rock'n'roll", "quoted"]),
        ("isn’t", ["isn't"]),
        ("dogs' o'", ["dogs", "o"]),
        ("4.5 stars, 1,000 times, 10/10", ["4.5", "stars", "1,000", "times", "10", "10"]),
        ("3rd mp3 1990s 3.5mm v2.", ["3rd", "mp3", "1990s", "3.5", "mm", "v2"]),
        ("what?! no...", ["what", "?", "!", "no"]),
        ("wow！真？", ["wow", "!", "真", "?"]),
        ("good<br /><br/>film <b>bold</b>", ["good", "film", "bold"]),
        ("I <3 you, a < b > c", ["i", "3", "you", "a", "b", "c"]),
        ("<a<b>c", ["a", "c"]),
        ("snake_case e-mail", ["snake", "case", "e", "mail"]),
        ("Crème BRÛLÉE", ["crème", "brûlée"]),
        ("cre\u0300me", ["crème"]),
        ("Очень Хорошо", ["очень", "хорошо"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"]),
        ("İstanbul", ["i̇stanbul"]),
        ("很好看的电影", ["很", "好", "看", "的", "电", "影"]),
        ("すごいカメラ", ["す", "ご", "い", "カ", "メ", "ラ"]),
        ("ดีมาก", ["ดี", "ม", "า", "ก"]),
        ("अच्छी फिल्म", ["अच्छी", "फिल्म"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("love it😀😀👍🏽", ["love", "it", "😀", "😀", "👍🏽"]),
        ("👨‍👩‍👧 🇩🇪 ❤️ ❤", ["👨‍👩‍👧", "🇩🇪", "❤", "❤"]),
        ("", []),
        (" \t\n\x00\u2028", []),
    ],
)
def test_the_rule_by_example(text, expected):
    assert words(text) == expected


@given(any_text)
@example("e\ufe0f\u0301 a\u0301\ufe0f\u0323 ς\u0301")
def test_words_are_in_nfc_and_are_their_own_normal_form(text):
    for word in words(text):
        assert unicodedata.is_normalized("NFC", word)
        assert normalise(word) == word


@given(any_text)
def test_spans_are_in_order_and_hold_the_words(text):
    tokens = tokenize(text)

    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert words(text[token.start : token.end]) == [token.text]
    assert all(a.end <= b.start for a, b in zip(tokens[:-1], tokens[1:], strict=True))


@settings(max_examples=400)
@given(st.lists(any_text, max_size=6), st.integers(1, 3))
@example(["Ⱥ" * 50, "İ", "x" * 1000], 2)
@example(["1.", "1.a", "1.2.", "1.2,3'4", "1'", "'", "<", "</", "<a", "a'<b>'c"], 1)
def test_byte_loops_agree_with_the_regular_expression(texts, n_threads):
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1, min_count=1, n_threads=n_threads)
    read_again = vocabulary.tokens(texts, n_threads=n_threads)

    np.testing.assert_array_equal(read_again.ids, tokens.ids)
    np.testing.assert_array_equal(read_again.starts, tokens.starts)
    for document, text in enumerate(texts):
        assert [vocabulary.word_list[i] for i in tokens[document]] == words(text)


def test_every_character_of_the_basic_plane_is_read_alike():
    characters = [chr(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000]
    texts = [f"a{c}b 1{c}2 {c}" for c in characters]
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1, min_count=1)

    for document, text in enumerate(texts):
        assert [vocabulary.word_list[i] for i in tokens[document]] == words(text), hex(ord(text[1]))


def test_a_text_of_five_million_characters_is_one_document():
    text = "good " * 1_000_000
    vocabulary, tokens = Vocabulary.learn([text, "x" * 5_000_000, "<a" * 2_500_000], ngrams=2, min_count=1)

    assert len(tokens[0]) == 1_000_000
    assert vocabulary.row("good good") is not None
