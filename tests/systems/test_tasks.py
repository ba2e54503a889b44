"""The generated tasks: what is asked and what is answered belong together."""

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError, SettingError
from regard.systems.data.dates import CHARACTERS, DAYS, DIGITS, FORMS, MONTHS, dates, written
from regard.systems.data.reversal import reversal
from regard.systems.data.symbols import Symbols, padded
from regard.systems.data.translation import ADJECTIVES, ENGLISH, MADE, NOUNS, PLURALS, VERBS, translation


@given(st.dates(datetime.date(1950, 1, 1), datetime.date(2049, 12, 31)), st.integers(0, FORMS - 1))
def test_a_written_date_can_be_read_in_one_way(day, form):
    text = written(day, form)

    words = re.findall(r"[a-z]+", text)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    year = numbers[-1] if numbers[-1] > 99 else numbers[-1] + (1900 if numbers[-1] >= 50 else 2000)
    if form in (4, 5):
        first, second = numbers[:2] if form == 4 else numbers[1::-1]
        read = datetime.date(year, second, first)
    else:
        (month,) = {i for i, name in enumerate(MONTHS, 1) if name in words or name[:3] in words}
        read = datetime.date(year, month, numbers[0])
    assert read == day
    assert all(word not in DAYS or word == DAYS[day.weekday()] for word in words)
    assert "".join(CHARACTERS.decode(CHARACTERS.encode(text))) == text


def test_the_answers_are_iso_dates():
    pairs = dates(50, 3)

    for target in pairs.targets:
        datetime.date.fromisoformat("".join(DIGITS.decode(target)))
    assert pairs.sources == dates(50, 3).sources != dates(50, 4).sources


def dictionary():
    """Each English word's made words, by hand."""
    words = {"the": {"la"}, "a": {"lo"}, "some": {"lo"}, "that": {"ke"}}
    for noun, made in NOUNS.items():
        words[noun], words[PLURALS.get(noun, noun + "s")] = {made + "o"}, {made + "oj"}
    for word, made in ADJECTIVES.items():
        words[word] = {made, made + "j"}
    for verb, made in VERBS.items():
        words[verb] = {made + "ajs"}
        words["carries" if verb == "carry" else verb + "s"] = {made + "as"}
    return words


def test_word_by_word_every_word_is_its_dictionary_s():
    pairs, words = translation(200, 5, reorder=False), dictionary()

    for source, target in zip(pairs.sources, pairs.targets, strict=True):
        for english, made in zip(ENGLISH.decode(source), MADE.decode(target), strict=True):
            assert made in words[english]


def test_the_other_order_has_the_same_words_and_its_verb_last():
    plain, moved = translation(200, 5, reorder=False), translation(200, 5)

    assert plain.sources == moved.sources
    assert any(a != b for a, b in zip(plain.targets, moved.targets, strict=True))
    for target, other in zip(plain.targets, moved.targets, strict=True):
        assert sorted(target) == sorted(other)
        words = MADE.decode(other)
        assert words[-1].endswith(("as", "ajs"))
        for before, word in zip(words, words[1:], strict=False):
            if word.rstrip("j") in ADJECTIVES.values():  # it follows its noun, or another, and ends as it does
                assert before.endswith("j") == word.endswith("j")
        for place, word in enumerate(words):
            if word == "ke":
                assert words[place - 1].endswith(("as", "ajs"))


def test_some_sentences_are_long():
    lengths = [len(source) for source in translation(500, 1).sources]

    assert min(lengths) == 5
    assert sum(length >= 20 for length in lengths) > 25


@given(st.integers(0, 1000))
def test_a_reversal_reversed_is_what_it_was(seed):
    pairs = reversal(5, seed, shortest=2, longest=6)

    assert [target[::-1] for target in pairs.targets] == pairs.sources
    assert all(2 <= len(source) <= 6 for source in pairs.sources)


def test_lengths_in_the_wrong_order_are_refused():
    with pytest.raises(SettingError, match="got 4 to 3"):
        reversal(1, 0, shortest=4, longest=3)


def test_unknown_symbols_are_named():
    with pytest.raises(DataError, match="'z' is not among the 2 symbols"):
        Symbols(("a", "b")).encode("az")


def test_sequences_are_filled_up():
    numbers, lengths = padded([[3], [4, 5]])

    assert numbers.tolist() == [[3, 0], [4, 5]]
    assert lengths.tolist() == [1, 2]
