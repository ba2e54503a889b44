"""The recogniser: padding changes nothing, where it listened decides where it listens, and sounds are what they say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import SettingError
from regard.systems import Recogniser
from regard.systems.data.sound import BANDS, TONES, concatenated, errors, utterances
from regard.systems.data.symbols import START
from regard.systems.recogniser import WEIGHINGS, beside
from regard.systems.training import seeded

MODES = [*(("hybrid", weighing) for weighing in WEIGHINGS), ("content", "softmax"), ("location", "softmax")]


def recogniser(mode="hybrid", weighing="softmax", stride=2):
    with seeded(1):
        return Recogniser(BANDS, len(TONES), hidden=8, mode=mode, weighing=weighing, stride=stride, width=5).eval()


@pytest.fixture(scope="module")
def heard():
    return utterances(3, 5, shortest=2, longest=5)


def said(n, seed=0):
    target = torch.randint(3, len(TONES), (n, 4), generator=torch.Generator().manual_seed(seed))
    target[:, 0] = START
    return target


@pytest.mark.parametrize(("mode", "weighing"), MODES)
def test_neither_padding_nor_neighbours_change_what_is_heard(heard, mode, weighing):
    model = recogniser(mode, weighing)
    sounds, lengths = beside(heard.sounds)
    beyond = torch.arange(sounds.shape[1]) >= lengths[:, None]
    wild = torch.where(beyond[..., None], torch.nan, sounds)
    wild = torch.cat([wild, torch.full((3, 5, BANDS), 9.0)], 1)

    together = model(wild, lengths, said(3))

    for row, sound in enumerate(heard.sounds):
        alone = model(*beside([sound]), said(3)[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("mode", "weighing"), MODES)
def test_every_parameter_learns(heard, mode, weighing):
    model = recogniser(mode, weighing).train()
    model.loss(heard.sounds, heard.targets).backward()

    still = {name for name, one in model.named_parameters() if one.grad is None or not one.grad.abs().sum()}
    # Scores that differ by the same at every position make no difference, and plain averages have none.
    assert weighing == "average" or not still - {"attention.key.bias"}


def test_the_loss_follows_what_the_decoder_says(heard):
    model = recogniser()
    sounds, lengths = beside(heard.sounds[:1])
    state, total = model.begin(sounds, lengths), 0.0
    for before, now in zip([START, *heard.targets[0]], [*heard.targets[0], 2], strict=True):
        logits, state, weights = model.step(torch.tensor([before]), state)
        total -= float(logits[0].detach().log_softmax(-1)[now])
        torch.testing.assert_close(weights.sum(-1), torch.ones(1))

    mean = float(model.loss(heard.sounds[:1], heard.targets[:1]).detach())
    assert mean == pytest.approx(total / (len(heard.targets[0]) + 1), rel=1e-5)


def test_content_does_not_care_where_it_listened_last_and_the_others_do(heard):
    for mode, cares in (("content", False), ("location", True), ("hybrid", True)):
        model = recogniser(mode)
        sounds, lengths = beside(heard.sounds)
        state = model.begin(sounds, lengths)
        elsewhere = state._replace(weights=state.weights.roll(1, -1) * torch.linspace(0, 2, state.weights.shape[1]))
        now, then = (model.step(said(3)[:, 0], one).weights for one in (state, elsewhere))
        assert torch.equal(now, then) != cares


def test_sharpened_is_sharper_and_an_average_is_flat(heard):
    sounds, lengths = beside(heard.sounds[:1])
    tops = {}
    for weighing in ("average", "softmax", "sharpened"):
        weights = recogniser("content", weighing).greedy(sounds, lengths, longest=1).weights[0, 0].double()
        tops[weighing] = weights
    assert tops["average"].max() == pytest.approx(float(tops["average"].min()))
    squared = tops["softmax"] ** 2 / (tops["softmax"] ** 2).sum()
    torch.testing.assert_close(tops["sharpened"], squared, rtol=1e-4, atol=1e-7)


def test_a_beam_is_at_least_as_probable(heard):
    model = recogniser()
    sounds, lengths = beside(heard.sounds)

    one, many = (model.beam(sounds, lengths, width=width, longest=2).score for width in (1, len(TONES) ** 2))

    assert bool((many >= one - 1e-5).all())


def test_what_cannot_be_heard_is_said():
    model = recogniser()
    with pytest.raises(SettingError, match="`weighing` must be one of softmax, sharpened, smoothed, average"):
        Recogniser(4, 5, weighing="hard")
    with pytest.raises(SettingError, match="`sounds` must be"):
        model.begin(torch.ones(2, 6), torch.tensor([6, 6]))
    with pytest.raises(SettingError, match="`lengths` must be from 1 to 6 frames; got 0 to 6"):
        model.begin(torch.ones(2, 6, BANDS), torch.tensor([6, 0]))


# -- the sounds ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000))
def test_a_melody_sounds_as_its_tones_say(seed):
    found = utterances(2, seed, shortest=1, longest=6, noise=0.05)
    pitches = [8, 10, 12.5, 15, 18, 21, 24.5, 28]

    for sound, target, starts in zip(found.sounds, found.targets, found.starts, strict=True):
        assert sound.dtype == np.float32
        assert len(starts) == len(target) <= 6
        for tone, start in zip(target, starts, strict=True):
            loudest = sound[start : start + 3].mean(0).argmax() + 1
            assert abs(loudest - pitches[tone - 3]) <= 1
        silent = [start - 1 for start in starts]  # before each tone there is silence
        assert sound[silent].max() < sound[starts].max(1).min()


def test_the_same_seed_makes_the_same_sounds_and_another_does_not():
    one, same, other = utterances(2, 7), utterances(2, 7), utterances(2, 8)

    assert all(np.array_equal(a, b) for a, b in zip(one.sounds, same.sounds, strict=True))
    assert one.targets == same.targets != other.targets


def test_melodies_one_after_another_are_one_melody():
    found = utterances(5, 3, shortest=2, longest=4)
    both = concatenated(found, 2)

    assert len(both) == 2
    assert np.array_equal(both.sounds[1], np.concatenate(found.sounds[2:4]))
    assert both.targets[0] == found.targets[0] + found.targets[1]
    for start, at in zip(both.starts[0], [*found.starts[0], *found.starts[1]], strict=True):
        assert start in (at, at + len(found.sounds[0]))


@given(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), max_size=4))
def test_errors_are_the_shortest_way(said, wanted):
    def shortest(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(shortest(a[1:], b) + 1, shortest(a, b[1:]) + 1, shortest(a[1:], b[1:]) + (a[0] != b[0]))

    assert errors(said, wanted) == shortest(said, wanted)


def test_a_melody_has_a_tone():
    with pytest.raises(SettingError, match="from 1 tone"):
        utterances(1, 0, shortest=0)
