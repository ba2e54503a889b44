"""Vinyals, Fortunato and Jaitly 2015, Pointer Networks: the answer is made of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.masks import lengths_mask
from regard.nn.pointer import PointerAttention
from regard.nn.weigh import log_softmax
from regard.systems.data.pointer import NOTHING
from regard.systems.decoding import Said, beam, greedy
from regard.systems.saving import System

END = 0  # the slot to point at when the answer is over; input i is slot i + 1


@dataclass(frozen=True)
class Pointed:
    """What a network pointed at.

    Attributes
    ----------
    positions : (batch, T) int64
        Inputs in the order in which they were pointed at, filled up with -1.
    weights : (batch, T', 1 + n)
        The share of each slot at each step: column 0 is the end, column i + 1 is input i. The step that ends an answer
        is a step; rows after it are zero.
    score : (batch,)
        The log probability of the answer.
    """

    positions: Tensor
    weights: Tensor
    score: Tensor


class Decoding(NamedTuple):
    """Where decoding is: the inputs as read, what the decoder remembers, and what it may still point at."""

    embedded: Tensor
    sources: Tensor
    real: Tensor
    taken: Tensor
    hidden: Tensor
    cell: Tensor


class PositionDecoder(System):
    """An encoder reads inputs, a decoder says positions of inputs: what is the same with attention and without.

        h = LSTM(E x) in both directions,   d[t] = LSTM(d[t-1], E x[answer[t-1]]),   p(answer[t]) = say(d[t], h)

    Chosen beside the paper: the encoder reads both ways; inputs that are already in the answer are masked, in training
    as in decoding, unless ``again``.

    Parameters
    ----------
    input_dim : int
        Size of an input x.
    hidden : int
        Size of h (both directions together), of d and of E x; even.
    every : bool
        Whether an answer takes every input once, as sorting and tours do: then its end goes without saying.
    again : bool
        Whether an input may be pointed at again; an answer still has at most as many positions as there are inputs.
    **settings
        Those of a subclass.
    """

    def __init__(
        self, input_dim: int, hidden: int = 96, *, every: bool = False, again: bool = False, **settings: Any
    ) -> None:
        super().__init__(input_dim=input_dim, hidden=hidden, every=every, again=again, **settings)
        if hidden < 2 or hidden % 2:
            raise SettingError(f"`hidden` is split between two directions, so it must be even; got {hidden}.")
        if every and again:
            raise SettingError("`every` input once and the same input `again` exclude each other: choose one.")
        self.input_dim, self.hidden, self.every, self.again = input_dim, hidden, every, again
        self.embedding = nn.Linear(input_dim, hidden)
        self.encoder = nn.LSTM(hidden, hidden // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(hidden, hidden, batch_first=True)
        self.start = nn.Parameter(torch.empty(hidden).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(hidden).uniform_(-0.1, 0.1))

    def say(self, states: Tensor, sources: Tensor, allowed: Tensor) -> Tensor:
        """The log probability of each slot.

        Parameters
        ----------
        states : (batch, T, hidden)
        sources : (batch, 1 + n, hidden)
            The end, then h.
        allowed : bool (batch, T, 1 + n)

        Returns
        -------
        log_probabilities : (batch, T, 1 + n)
        """
        raise NotImplementedError  # each of the two ways to choose a slot says how

    def forward(self, inputs: Tensor, answers: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The log probability of every next slot, given what is right before it.

        Parameters
        ----------
        inputs : (batch, n, input_dim)
        answers : (batch, T) int64
            Positions, filled up with -1.
        lengths : (batch,) int64, optional
            How many inputs are real; all, if not given.

        Returns
        -------
        log_probabilities : (batch, T + 1, 1 + n)
            Column 0 is the end, column i + 1 is input i.
        """
        read = self._read(inputs, lengths)
        if answers.ndim != 2 or len(answers) != len(inputs):
            raise SettingError(f"`answers` must be ({len(inputs)}, T); got {tuple(answers.shape)}.")
        if bool(((answers < NOTHING) | (answers >= read.real.sum(1, keepdim=True))).any()):
            raise SettingError("`answers` must hold positions of real inputs, filled up with -1; got others.")
        slots = F.pad(answers + 1, (0, 1))
        chosen = F.one_hot(slots, 1 + inputs.shape[1])
        taken = chosen.cumsum(1) - chosen
        heard = torch.cat([self.start.expand(len(inputs), 1, -1), self._hear(read.embedded, answers)], 1)
        states, _ = self.decoder(heard, (read.hidden[None], read.cell[None]))
        return self.say(states, read.sources, self._allowed(taken, read.real))

    def loss(self, inputs: Tensor, answers: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The mean of -log p over all steps of all answers, with the end unless it goes without saying."""
        slots = F.pad(answers + 1, (0, 1))
        said = slots != END
        if not self.every:
            said = F.pad(said[:, :-1], (1, 0), value=True)  # and the step after the last
        log_p: Tensor = self(inputs, answers, lengths)
        return -log_p.gather(-1, slots[..., None])[..., 0][said].mean()

    @torch.no_grad()
    def point(self, inputs: Tensor, lengths: Tensor | None = None, *, width: int = 1) -> Pointed:
        """Answer, greedily or by beam search.

        Parameters
        ----------
        inputs, lengths
            See ``forward``.
        width : int
            Of the beam.
        """
        state = self._read(inputs, lengths)
        first = torch.full((len(inputs),), END, device=inputs.device)
        longest = inputs.shape[1] + 1
        if width == 1:
            found = greedy(self.step, state, first, end=END, longest=longest)
        else:
            found = beam(self.step, state, first, end=END, longest=longest, width=width)
        assert found.weights is not None, "every step says its weights"
        steps = F.pad(found.tokens != END, (1, 0), value=True)[:, :-1]
        positions = found.tokens[:, : longest - 1] - 1  # the last step can but end
        return Pointed(positions, torch.where(steps[..., None], found.weights, 0), found.score)

    def step(self, slots: Tensor, state: Decoding) -> Said:
        """One step of decoding: from the slots said last, the end at the beginning."""
        taken = state.taken + F.one_hot(slots, 1 + state.real.shape[1])
        heard = torch.where((slots == END)[:, None], self.start, self._hear(state.embedded, slots[:, None] - 1)[:, 0])
        states, (hidden, cell) = self.decoder(heard[:, None], (state.hidden[None], state.cell[None]))
        log_p = self.say(states, state.sources, self._allowed(taken[:, None], state.real))[:, 0]
        return Said(log_p, state._replace(taken=taken, hidden=hidden[0], cell=cell[0]), log_p.exp())

    def _read(self, inputs: Tensor, lengths: Tensor | None) -> Decoding:
        if inputs.ndim != 3 or inputs.shape[-1] != self.input_dim or not inputs.shape[1]:
            raise SettingError(f"`inputs` must be (batch, n, {self.input_dim}), n >= 1; got {tuple(inputs.shape)}.")
        batch, n, _ = inputs.shape
        lengths = torch.full((batch,), n, device=inputs.device) if lengths is None else lengths
        if lengths.shape != (batch,) or bool(((lengths < 1) | (lengths > n)).any()):
            raise SettingError(f"`lengths` must be {batch} numbers from 1 to {n}; got {lengths.tolist()}.")
        real = lengths_mask(lengths, n)[:, 0]
        embedded = self.embedding(torch.where(real[..., None], inputs, 0))
        if bool(real.all()):
            states, last = self.encoder(embedded)
        else:
            packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
            packed, last = self.encoder(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=n)
        hidden, cell = (both.transpose(0, 1).reshape(batch, self.hidden) for both in last)
        sources = torch.cat([self.end.expand(batch, 1, -1), states], 1)
        none = torch.zeros(batch, 1 + n, dtype=torch.int64, device=inputs.device)
        return Decoding(embedded, sources, real, none, hidden, cell)

    def _hear(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """The inputs at positions (batch, T), zero where there is none."""
        index = positions.clamp_min(0)[..., None].expand(-1, -1, embedded.shape[-1])
        return torch.where((positions != NOTHING)[..., None], embedded.gather(1, index), 0)

    def _allowed(self, taken: Tensor, real: Tensor) -> Tensor:
        """Which slots each step may point at, from how often each was pointed at before, (batch, T, 1 + n)."""
        if self.again:
            free = real[:, None] & (taken[..., 1:].sum(-1, keepdim=True) < real.sum(-1)[:, None, None])
        else:
            free = real[:, None] & (taken[..., 1:] == 0)
        end = ~free.any(-1, keepdim=True) if self.every else torch.ones_like(free[..., :1])
        return torch.cat([end, free], -1)


class PointerNetwork(PositionDecoder):
    """Attention is the answer: the next position is where the decoder looks.

        u[t, j] = v' tanh(W1 h[j] + W2 d[t]),   p(answer[t] = j) = softmax(u[t])[j]

    It can say as many positions as there are inputs, however many these are.

    Parameters
    ----------
    input_dim, hidden, every, again
        See ``PositionDecoder``.

    Examples
    --------
    >>> network = PointerNetwork(1, 16, every=True)
    >>> sorted(network.point(torch.rand(1, 5, 1)).positions[0].tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, input_dim: int, hidden: int = 96, *, every: bool = False, again: bool = False) -> None:
        super().__init__(input_dim, hidden, every=every, again=again)
        self.attention = PointerAttention(hidden, hidden)

    def say(self, states: Tensor, sources: Tensor, allowed: Tensor) -> Tensor:
        """See ``PositionDecoder``."""
        return self.attention.log_probabilities(states, sources, mask=allowed)


class VocabularyDecoder(PositionDecoder):
    """The same without attention: positions are words of a fixed vocabulary.

        p(answer[t]) = softmax(W d[t] + b)

    Parameters
    ----------
    input_dim, hidden, every, again
        See ``PositionDecoder``.
    positions : int
        How many it has words for; more inputs are refused.
    """

    def __init__(
        self, input_dim: int, hidden: int = 96, *, positions: int, every: bool = False, again: bool = False
    ) -> None:
        super().__init__(input_dim, hidden, every=every, again=again, positions=positions)
        self.output = nn.Linear(hidden, 1 + positions)

    def say(self, states: Tensor, sources: Tensor, allowed: Tensor) -> Tensor:
        """See ``PositionDecoder``."""
        slots, words = sources.shape[1], self.output.out_features
        if slots > words:
            raise SettingError(f"This decoder has words for {words - 1} positions; got {slots - 1} inputs.")
        return log_softmax(self.output(states)[..., :slots], allowed)
