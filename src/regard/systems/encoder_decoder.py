"""Bahdanau et al. 2014 and Luong et al. 2015: an encoder, a decoder, and attention between them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import SettingError, nearest
from regard.nn.attention import Attention, Memory
from regard.nn.bahdanau import BahdanauAttention
from regard.nn.catalogue import mechanism
from regard.nn.combine import Attentional
from regard.nn.luong_global import LuongGlobalAttention
from regard.nn.luong_local import LuongLocalAttention
from regard.nn.masks import lengths_mask
from regard.systems.decoding import Said
from regard.systems.recurrent import CELLS, Cell, Recurrent
from regard.systems.sequence import SequenceToSequence, checked

ATTENTIONS = (
    "bahdanau",
    "luong_dot",
    "luong_general",
    "luong_concat",
    "luong_location",
    "luong_local_m",
    "luong_local_p",
)


class Decoding(NamedTuple):
    """Where decoding is: the source as prepared, what the decoder remembers, what it fed back, and the step.

    ``cell`` is (batch, 0, hidden) for a GRU, which has none.
    """

    memory: Memory
    mask: Tensor
    summary: Tensor
    hidden: Tensor
    cell: Tensor
    fed: Tensor
    place: Tensor


class EncoderDecoder(SequenceToSequence):
    """Reads a source both ways, then says the target while looking back at the source.

        h = encoder(x)
        Bahdanau:  c[t] = attend(s[t-1], h),  s[t] = decoder([y[t-1]; c[t]], s[t-1]),  h̃[t] = tanh(Wc [c[t]; s[t]])
        Luong:     s[t] = decoder([y[t-1]; h̃[t-1]], s[t-1]),  c[t] = attend(s[t], h),  h̃[t] = tanh(Wc [c[t]; s[t]])
        both:      P(y[t]) = softmax(W h̃[t] + b),   s[0] = tanh(Ws last + b)

    ``last`` is what the encoder remembers at its ends. Without attention c[t] = last at every step, as in Cho et al.
    2014, and nothing else changes. Luong's h̃[t-1] is handed back where ``input_feeding`` says so; without it all steps
    of a known target run at once. Deviations: one layer, tanh where Bahdanau has maxout, s[0] from both ends.

    Local-m looks at position t in step t, so it suits tasks where target and source run in step, and no others.

    Parameters
    ----------
    source_size, target_size : int
        How many symbols there are on each side.
    dim, hidden : int
        Sizes of the embeddings and of h and s.
    attention : str, optional
        One of ``ATTENTIONS``; None is the model without attention.
    input_feeding : bool
    bidirectional : bool
        Whether half of h reads backwards.
    cell : "gru" or "lstm"
    window : int
        D of local attention.
    positions : int
        The longest source, for "luong_location".
    dropout : float
        Of the embeddings and of h̃, in training.
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        dim: int = 32,
        hidden: int = 64,
        attention: str | None = "luong_general",
        input_feeding: bool = False,
        bidirectional: bool = True,
        cell: Cell = "gru",
        window: int = 3,
        positions: int = 64,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            source_size=source_size,
            target_size=target_size,
            dim=dim,
            hidden=hidden,
            attention=attention,
            input_feeding=input_feeding,
            bidirectional=bidirectional,
            cell=cell,
            window=window,
            positions=positions,
            dropout=dropout,
        )
        if attention is not None and attention not in ATTENTIONS:
            raise SettingError(
                f"`attention` must be None or one of {', '.join(ATTENTIONS)}; got {attention!r}."
                f"{nearest(attention, ATTENTIONS)}"
            )
        self.first = attention == "bahdanau"  # attends before the decoder's step, not after
        self.feeding = input_feeding and not self.first
        self.source = nn.Embedding(source_size, dim)
        self.target = nn.Embedding(target_size, dim)
        self.encoder = Recurrent(dim, hidden, cell=cell, bidirectional=bidirectional)
        self.start = nn.Linear(hidden, hidden * (2 if cell == "lstm" else 1))
        self.decoder = CELLS[cell](dim + (hidden if self.first or self.feeding else 0), hidden, batch_first=True)
        options = {"window": window} if attention in ("luong_local_m", "luong_local_p") else {}
        options |= {"positions": positions} if attention == "luong_location" else {}
        self.attention = (
            None if attention is None else mechanism(attention, query_dim=hidden, key_dim=hidden, **options)
        )
        self.attentional = None if isinstance(self.attention, LuongGlobalAttention) else Attentional(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, target_size)

    def begin(self, source: Tensor, lengths: Tensor) -> Decoding:
        """Read the source, (batch, S) and (batch,)."""
        checked(source, lengths)
        states, last = self.encoder(self.dropout(self.source(source)), lengths)
        mask = lengths_mask(lengths, source.shape[1])
        memory = Memory(states, states)
        if isinstance(self.attention, Attention | LuongLocalAttention):
            memory = self.attention.precompute(states, mask=mask)
        start = torch.tanh(self.start(last))
        size = last.shape[-1]
        return Decoding(
            memory,
            mask,
            last,
            start[:, None, :size],
            start[:, size:].reshape(len(start), -1, size),
            torch.zeros_like(last),
            torch.zeros_like(lengths),
        )

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """From source (batch, S), its lengths (batch,) and target (batch, T) to logits (batch, T, V)."""
        state = self.begin(source, lengths)
        if self.first or self.feeding:
            said = []
            for tokens in target.unbind(1):
                now, state, _ = self.step(tokens, state)
                said.append(now)
            return torch.stack(said, 1)
        states, _ = self._decode(self.dropout(self.target(target)), state)
        read, _ = self._read(states, state)
        logits: Tensor = self.out(self.dropout(read))
        return logits

    def step(self, tokens: Tensor, state: Decoding) -> Said:
        """From tokens (batch,) to logits (batch, V); weights (batch, S), None without attention."""
        y = self.dropout(self.target(tokens))[:, None]
        if isinstance(self.attention, BahdanauAttention):
            result = self.attention(state.hidden, state.memory, mask=state.mask)
            states, following = self._decode(torch.cat([y, result.context], -1), state)
            read, weights = self._joined(result.context, states), result.weights
        else:
            y = torch.cat([y, state.fed[:, None]], -1) if self.feeding else y
            states, following = self._decode(y, state)
            read, weights = self._read(states, state)
        read = self.dropout(read)
        following = following._replace(fed=read[:, 0], place=state.place + 1)
        return Said(self.out(read)[:, 0], following, None if weights is None else weights[:, 0])

    def _decode(self, x: Tensor, state: Decoding) -> tuple[Tensor, Decoding]:
        """Some steps of the decoder, from x (batch, T, ·) to s (batch, T, hidden)."""
        hidden = state.hidden.transpose(0, 1).contiguous()
        if state.cell.shape[1]:
            states, (hidden, cell) = self.decoder(x, (hidden, state.cell.transpose(0, 1).contiguous()))
            return states, state._replace(hidden=hidden.transpose(0, 1), cell=cell.transpose(0, 1))
        states, hidden = self.decoder(x, hidden)
        return states, state._replace(hidden=hidden.transpose(0, 1))

    def _read(self, states: Tensor, state: Decoding) -> tuple[Tensor, Tensor | None]:
        """h̃ (batch, T, hidden) and the weights (batch, T, S) of steps that look after they moved."""
        need_weights = not self.training
        if isinstance(self.attention, LuongGlobalAttention):
            result = self.attention(states, state.memory, mask=state.mask, need_weights=need_weights)
            assert result.state is not None
            return result.state, result.weights
        if isinstance(self.attention, LuongLocalAttention):
            result = self.attention(states, state.memory, mask=state.mask, state=state.place, need_weights=need_weights)
            return self._joined(result.context, states), result.weights
        return self._joined(state.summary[:, None], states), None

    def _joined(self, context: Tensor, states: Tensor) -> Tensor:
        """h̃, where the mechanism does not make it."""
        assert self.attentional is not None
        joined: Tensor = self.attentional(context, states)
        return joined
