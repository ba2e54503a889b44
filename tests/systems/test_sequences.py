"""The encoder–decoder and the Transformer: step by step is all at once, padding changes nothing, and they learn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import SettingError
from regard.systems import EncoderDecoder, Transformer
from regard.systems.data.reversal import reversal
from regard.systems.data.symbols import END, START, padded
from regard.systems.encoder_decoder import ATTENTIONS
from regard.systems.recurrent import Recurrent
from regard.systems.sequence import exact
from regard.systems.training import Recipe, seeded, train

MODELS = {
    **{name: {"attention": name, "window": 2} for name in ATTENTIONS},
    "none": {"attention": None},
    "feeding": {"attention": "luong_dot", "input_feeding": True},
    "feeding none": {"attention": None, "input_feeding": True},
    "feeding local": {"attention": "luong_local_m", "input_feeding": True},
    "lstm": {"attention": "bahdanau", "cell": "lstm"},
    "lstm, forwards": {"attention": "luong_general", "cell": "lstm", "bidirectional": False},
}


def model_of(name):
    with seeded(3):
        if name == "transformer":
            return Transformer(9, 8, dim=8, heads=2).eval()
        if name == "averages":
            return Transformer(9, 8, dim=8, heads=2, layers=1, attention=False).eval()
        return EncoderDecoder(9, 8, dim=5, hidden=8, positions=12, **MODELS[name]).eval()


EVERY = [*MODELS, "transformer", "averages"]


def batch(seed=0, n=3):
    rng = np.random.default_rng(seed)
    sources = [rng.integers(3, 9, size=rng.integers(1, 9)).tolist() for _ in range(n)]
    target = torch.tensor(rng.integers(3, 8, size=(n, 5)))
    target[:, 0] = START
    return sources, target


@pytest.mark.parametrize("name", EVERY)
def test_step_by_step_is_all_at_once(name):
    model = model_of(name)
    sources, target = batch()
    source, lengths = padded(sources)

    whole = model(source, lengths, target)
    state, steps = model.begin(source, lengths), []
    for tokens in target.unbind(1):
        logits, state, weights = model.step(tokens, state)
        steps.append(logits)
        assert (weights is None) == (name in ("none", "feeding none"))

    torch.testing.assert_close(torch.stack(steps, 1), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_neither_padding_nor_neighbours_change_an_answer(name):
    model = model_of(name)
    sources, target = batch()
    source, lengths = padded(sources)
    wild = torch.full((len(sources), source.shape[1] + 3), 7)
    for row, one in enumerate(sources):
        wild[row, : len(one)] = torch.tensor(one)

    together = model(wild, lengths, target)
    for row, one in enumerate(sources):
        alone = model(torch.tensor([one]), torch.tensor([len(one)]), target[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_no_symbol_sees_those_after_it(name):
    model = model_of(name)
    sources, target = batch()
    source, lengths = padded(sources)
    other = target.clone()
    other[:, 3:] = 9 - other[:, 3:]

    same = (model(source, lengths, target) - model(source, lengths, other)).detach().abs().amax((0, 2))

    assert float(same[:3].max()) < 1e-6
    assert float(same[3:].max()) > 1e-4


@pytest.mark.parametrize("name", [name for name in EVERY if "none" not in name])
def test_weights_are_shares_of_the_real_source(name):
    model = model_of(name)
    sources, _ = batch()
    source, lengths = padded(sources)
    weights = model.greedy(source, lengths, longest=4).weights

    beyond = torch.arange(source.shape[1]) >= lengths[:, None]
    assert float(weights.masked_select(beyond[:, None].expand_as(weights)).abs().sum()) == 0
    if "local" not in name:
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))
    if name == "averages":
        torch.testing.assert_close(weights[:, 0].amax(-1), 1 / lengths.float())


@pytest.mark.parametrize("name", ["bahdanau", "feeding local", "transformer"])
def test_a_beam_never_finds_worse_than_its_own_greedy_beginning(name):
    model = model_of(name)
    source, lengths = padded(batch(n=4)[0])
    one = model.beam(source, lengths, width=1, longest=5)
    many = model.beam(source, lengths, width=8 * 8, longest=2)
    best = model.beam(source, lengths, width=1, longest=2)

    torch.testing.assert_close(one.score, model.greedy(source, lengths, longest=5).score)
    assert bool((many.score >= best.score - 1e-5).all())  # 64 beginnings of two symbols are all there are


@pytest.mark.parametrize("name", EVERY)
def test_every_parameter_learns_and_doubles_work(name):
    model = model_of(name).double().train()
    sources, _ = batch()
    model.loss(sources, [[3, 4], [5], [6, 7, 3]]).backward()

    still = {key for key, one in model.named_parameters() if one.grad is None or not one.grad.abs().sum()}
    compared = (".query.", ".key.", "decoder.0.norms.1.")
    assert not still or name == "averages"
    assert all(any(part in key for part in compared) for key in still)  # averages of everything compare nothing


def test_the_loss_is_that_of_each_symbol_and_of_the_end():
    model = model_of("transformer")
    sources, targets = [[3, 4, 5], [6]], [[3, 4], [5, 6, 7]]
    singles = []
    for one, wanted in zip(sources, targets, strict=True):
        logits = model(torch.tensor([one]), torch.tensor([len(one)]), torch.tensor([[START, *wanted]]))
        singles += [-logits[0].log_softmax(-1)[step, symbol] for step, symbol in enumerate([*wanted, END])]

    torch.testing.assert_close(model.loss(sources, targets), torch.stack(singles).mean())


@given(st.integers(0, 1000), st.sampled_from(["gru", "lstm"]))
def test_a_sequence_read_both_ways_is_two_sequences_read_forwards(seed, cell):
    rng = np.random.default_rng(seed)
    with seeded(seed):
        both = Recurrent(3, 4, cell=cell)
        x = torch.randn(2, 6, 3)
    lengths = torch.tensor(rng.integers(1, 7, size=2))
    states, last = both(x, lengths)

    for row, length in enumerate(lengths.tolist()):
        one = x[row : row + 1, :length]
        there, back = both.forwards(one)[0], both.backwards(one.flip(1))[0].flip(1)
        torch.testing.assert_close(states[row : row + 1, :length], torch.cat([there, back], -1))
        torch.testing.assert_close(last[row], torch.cat([there[0, -1], back[0, 0]]))


def test_what_cannot_be_built_or_read_is_said():
    with pytest.raises(SettingError, match=r"`attention` must be None or one of bahdanau.*Did you mean 'luong_dot'"):
        EncoderDecoder(5, 5, attention="luong_dott")
    with pytest.raises(SettingError, match="`cell` must be 'gru' or 'lstm'"):
        EncoderDecoder(5, 5, cell="rnn")
    with pytest.raises(SettingError, match="`hidden` must be even"):
        EncoderDecoder(5, 5, hidden=7)
    with pytest.raises(SettingError, match="`dim` must be even, and `heads` divide it"):
        Transformer(5, 5, dim=10, heads=4)
    for model in (model_of("bahdanau"), model_of("transformer")):
        with pytest.raises(SettingError, match="`lengths` must be from 1 to S = 3; got 0 to 4"):
            model.begin(torch.ones(2, 3, dtype=torch.long), torch.tensor([0, 4]))
        with pytest.raises(SettingError, match="`source` must be"):
            model.begin(torch.ones(2, 3, dtype=torch.long), torch.tensor([3]))


def test_an_answer_is_exact_only_whole():
    pairs = reversal(6, 0, longest=4)
    answers = [*pairs.targets[:3], pairs.targets[3][:-1], [*pairs.targets[4], 3], [*pairs.targets[5][:-1], 13]]

    class Parrot(Transformer):
        def greedy(self, source, lengths, *, longest):
            rows = [answers[pairs.sources.index([s for s in row if s])] for row in source.tolist()]
            tokens, _ = padded([[*row, END] for row in rows])
            return type("Said", (), {"sequences": lambda _: [r[: r.index(END)] for r in tokens.tolist()]})()

    assert exact(Parrot(13, 14, dim=4, heads=1), pairs) == [True, True, True, False, False, False]


@pytest.mark.parametrize("name", ["luong_general", "transformer"])
def test_a_small_one_learns_to_reverse(name):
    pairs, others = reversal(640, 1, longest=3), reversal(60, 2, longest=3)
    with seeded(0):
        model = Transformer(13, 13, dim=32, layers=1) if name == "transformer" else EncoderDecoder(13, 13, hidden=32)
    lengths = np.array([len(source) for source in pairs.sources])
    recipe = Recipe(epochs=16, batch_size=32, learning_rate=1e-2, enough=0.8)
    train(
        model,
        lengths,
        lambda rows: model.loss([pairs.sources[i] for i in rows], [pairs.targets[i] for i in rows]),
        recipe,
        validate=lambda: float(np.mean(exact(model, others))),
    )

    assert np.mean(exact(model, others)) >= 0.8
