"""Greedy decoding and beam search, against all sequences one by one."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import SettingError
from regard.systems.decoding import Said, beam, greedy

START, END, SIZE, LONGEST = 0, 1, 4, 4


def chain(seed, batch=2):
    """A decoder whose next symbol depends on the last two, otherwise in each row."""
    table = 2 * torch.randn(batch, SIZE, SIZE, SIZE, generator=torch.Generator().manual_seed(seed))

    def step(tokens, state):
        own, last = state["table"], state["last"]
        rows = torch.arange(len(tokens))
        weights = torch.nn.functional.one_hot(tokens, SIZE).float()
        return Said(own[rows, last, tokens], {"table": own, "last": tokens}, weights)

    return step, {"table": table, "last": torch.zeros(batch, dtype=torch.long)}


def log_probability(table, sequence):
    last, now, total = 0, START, 0.0
    for symbol in sequence:
        total += float(table[last, now].log_softmax(-1)[symbol])
        last, now = now, symbol
    return total


def every():
    """All sequences that end within the limit, or reach it."""
    others = [symbol for symbol in range(SIZE) if symbol != END]
    for length in range(LONGEST):
        for said in itertools.product(others, repeat=length):
            yield (*said, END)
    yield from itertools.product(others, repeat=LONGEST)


def starts(batch=2):
    return torch.zeros(batch, dtype=torch.long)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.7, 1.0]))
def test_a_beam_that_is_wide_enough_finds_the_best_of_all_sequences(seed, penalty):
    step, state = chain(seed)
    found = beam(step, state, starts(), end=END, longest=LONGEST, width=SIZE**LONGEST, length_penalty=penalty)

    for row in range(2):
        table = state["table"][row]
        best = max(log_probability(table, said) / len(said) ** penalty for said in every())
        said = (*found.sequences()[row], END)[:LONGEST]
        assert log_probability(table, said) / len(said) ** penalty == pytest.approx(best, abs=1e-4)
        assert float(found.score[row]) == pytest.approx(log_probability(table, said), abs=1e-4)


@given(st.integers(0, 10_000))
def test_a_beam_of_one_is_greedy(seed):
    step, state = chain(seed, batch=3)
    one = greedy(step, state, starts(3), end=END, longest=LONGEST)
    other = beam(step, state, starts(3), end=END, longest=LONGEST, width=1)

    assert one.sequences() == other.sequences()
    torch.testing.assert_close(one.score, other.score)
    for row, said in enumerate(one.sequences()):
        torch.testing.assert_close(one.weights[row, : len(said)], other.weights[row, : len(said)])


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_score_is_the_log_probability_and_the_weights_are_those_of_the_chosen(seed, width):
    step, state = chain(seed)
    found = beam(step, state, starts(), end=END, longest=LONGEST, width=width)

    for row, said in enumerate(found.sequences()):
        whole = [*said, END][:LONGEST]
        assert float(found.score[row]) == pytest.approx(log_probability(state["table"][row], whole), abs=1e-4)
        told = found.weights[row].argmax(-1).tolist()  # each step's weights name the symbol before it
        assert told[: len(whole)] == [START, *whole][: len(whole)]


def test_decoding_goes_on_until_all_have_ended_or_the_limit():
    def step(tokens, state):
        logits = torch.zeros(len(tokens), SIZE)
        logits[torch.arange(len(tokens)), torch.where(state <= 0, END, 2)] = 9.0
        return Said(logits, state - 1)

    left = torch.tensor([1, 3])
    found = greedy(step, left, starts(), end=END, longest=10)
    assert found.sequences() == [[2], [2, 2, 2]]
    assert found.tokens.shape == (2, 4)
    assert found.weights is None
    assert greedy(step, left, starts(), end=END, longest=2).sequences() == [[2], [2, 2]]
    assert beam(step, left, starts(), end=END, longest=10, width=3).sequences() == [[2], [2, 2, 2]]


def test_numbers_that_cannot_be_are_refused():
    step, state = chain(0)
    with pytest.raises(SettingError, match="`longest` must be at least 1"):
        greedy(step, state, starts(), end=END, longest=0)
    with pytest.raises(SettingError, match="`width` must be at least 1"):
        beam(step, state, starts(), end=END, longest=3, width=0)
