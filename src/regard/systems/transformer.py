"""Vaswani et al. 2017: the Transformer, encoder and decoder, with a cache for decoding."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.attention import Memory
from regard.nn.masks import lengths_mask
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.result import AttentionResult
from regard.nn.weigh import Weigh
from regard.systems.decoding import Said
from regard.systems.sequence import SequenceToSequence, checked
from regard.systems.without import flat


def positions(size: int, dim: int, *, first: int = 0, device: torch.device | str | None = None) -> Tensor:
    """Where each position is, in waves.

        p[t, 2i] = sin(t / 10000^(2i / dim)),   p[t, 2i + 1] = cos(t / 10000^(2i / dim))

    Parameters
    ----------
    size : int
        How many positions.
    dim : int
        Even.
    first : int
        The first of them.

    Returns
    -------
    p : (size, dim)
    """
    rates = torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))
    angles = torch.arange(first, first + size, device=device)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


class Block(nn.Module):
    """Positions read from each other, from a source if there is one, and then each thinks for itself.

        x <- x + attend(norm(x), norm(x)),   x <- x + attend(norm(x), source),   x <- x + W2 relu(W1 norm(x))

    The norms come first, so that training needs no long warm-up; the paper has them last.

    Parameters
    ----------
    dim, heads, inner : int
        Sizes of x and of W1 x, and how many heads.
    reads_source : bool
    attention : bool
        Without, every average is over all positions alike.
    dropout : float
        Of what is added to x.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        inner: int,
        *,
        reads_source: bool = False,
        attention: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        weigh: str | Weigh = "softmax" if attention else flat
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3 if reads_source else 2))
        self.itself = MultiHeadAttention(dim, heads, weigh=weigh)
        self.source = MultiHeadAttention(dim, heads, weigh=weigh) if reads_source else None
        self.alone = nn.Sequential(nn.Linear(dim, inner), nn.ReLU(), nn.Linear(inner, dim))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        source: Memory | None = None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """From x (batch, T, dim) to as many; ``source`` is what ``remember`` made of one."""
        normed = self.norms[0](x)
        x = x + self.dropout(self.itself(normed, mask=mask, causal=causal, need_weights=False).context)
        return self._rest(x, source, source_mask, need_weights=False)[0]

    def remember(self, source: Tensor, mask: Tensor) -> Memory:
        """The keys and values of a source (batch, S, dim)."""
        assert self.source is not None
        return self.source.precompute(source, mask=mask)

    def step(self, x: Tensor, cache: Memory, source: Memory, source_mask: Tensor) -> tuple[Tensor, Memory, Tensor]:
        """One position more, x (batch, 1, dim), with the keys and values of all before it in the cache.

        Returns x, the cache with this position added, and what each head attended to in the source, (batch, H, S).
        """
        normed = self.norms[0](x)
        new = self.itself.precompute(normed)
        cache = Memory(torch.cat([cache.keys, new.keys], -2), torch.cat([cache.value, new.value], -2))
        x = x + self.dropout(self.itself(normed, cache, need_weights=False).context)
        x, result = self._rest(x, source, source_mask, need_weights=True)
        assert result is not None
        assert result.weights is not None
        return x, cache, result.weights[..., 0, :]

    def _rest(
        self, x: Tensor, source: Memory | None, source_mask: Tensor | None, *, need_weights: bool
    ) -> tuple[Tensor, AttentionResult | None]:
        """All after positions have read from each other."""
        result = None
        if self.source is not None:
            result = self.source(self.norms[1](x), source, mask=source_mask, need_weights=need_weights)
            x = x + self.dropout(result.context)
        return x + self.dropout(self.alone(self.norms[-1](x))), result


class Decoding(NamedTuple):
    """Where decoding is: the source for each layer, its mask, the cache of each layer, and the step."""

    sources: list[Memory]
    mask: Tensor
    caches: list[Memory]
    place: Tensor


class Transformer(SequenceToSequence):
    """Attention alone: each symbol reads the others, the target reads the source, nothing is recurrent.

        encoder: blocks of self-attention over x + p
        decoder: blocks of self-attention over what was said, and attention over the encoder's last states
        P(y[t]) = softmax(W norm(decoder)[t] + b)

    Decoding keeps the keys and values of what was said, so a step costs one position; the answers are those of
    ``forward`` over all positions. Without attention every average is over all positions alike, and nothing else
    changes. Deviations: the norms come first, in a block and once more at the end; W is not the embedding.

    Parameters
    ----------
    source_size, target_size : int
        How many symbols there are on each side.
    dim, heads, inner : int
        Sizes of a position and inside a block, and how many heads; ``inner`` is 2 ``dim``, if not given.
    layers : int
        Blocks of the encoder, and of the decoder.
    attention : bool
    dropout : float
        Of the embeddings and of what each block adds, in training.
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        dim: int = 64,
        heads: int = 4,
        inner: int | None = None,
        layers: int = 2,
        attention: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            source_size=source_size,
            target_size=target_size,
            dim=dim,
            heads=heads,
            inner=inner,
            layers=layers,
            attention=attention,
            dropout=dropout,
        )
        if dim % 2 or dim % heads:
            raise SettingError(f"`dim` must be even, and `heads` divide it; got dim={dim}, heads={heads}.")
        inner = inner or 2 * dim
        self.dim, self.heads = dim, heads
        self.source, self.target = nn.Embedding(source_size, dim), nn.Embedding(target_size, dim)
        for embedding in (self.source, self.target):
            nn.init.normal_(embedding.weight, std=dim**-0.5)
        self.encoder = nn.ModuleList(
            Block(dim, heads, inner, attention=attention, dropout=dropout) for _ in range(layers)
        )
        self.decoder = nn.ModuleList(
            Block(dim, heads, inner, reads_source=True, attention=attention, dropout=dropout) for _ in range(layers)
        )
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(dim, target_size)

    def begin(self, source: Tensor, lengths: Tensor) -> Decoding:
        """Read the source, (batch, S) and (batch,)."""
        checked(source, lengths)
        mask = lengths_mask(lengths, source.shape[1])
        x = self._placed(self.source(source), 0)
        for block in self.encoder:
            x = block(x, mask=mask)
        x = self.norms[0](x)
        sources = [block.remember(x, mask) for block in self._decoder()]
        empty = x.new_empty(len(x), self.heads, 0, self.dim // self.heads)
        return Decoding(sources, mask, [Memory(empty, empty) for _ in sources], torch.zeros_like(lengths))

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """From source (batch, S), its lengths (batch,) and target (batch, T) to logits (batch, T, V)."""
        state = self.begin(source, lengths)
        x = self._placed(self.target(target), 0)
        for block, memory in zip(self.decoder, state.sources, strict=True):
            x = block(x, causal=True, source=memory, source_mask=state.mask)
        logits: Tensor = self.out(self.norms[1](x))
        return logits

    def step(self, tokens: Tensor, state: Decoding) -> Said:
        """From tokens (batch,) to logits (batch, V); weights (batch, S) are the mean of the last block's heads."""
        x = self._placed(self.target(tokens)[:, None], int(state.place[0]) if len(tokens) else 0)
        caches, weights = [], None
        for block, memory, cache in zip(self._decoder(), state.sources, state.caches, strict=True):
            x, cache, weights = block.step(x, cache, memory, state.mask)
            caches.append(cache)
        assert weights is not None
        following = state._replace(caches=caches, place=state.place + 1)
        return Said(self.out(self.norms[1](x))[:, 0], following, weights.mean(1))

    def _placed(self, x: Tensor, first: int) -> Tensor:
        """√dim times the embeddings, with where they are."""
        where = positions(x.shape[1], self.dim, first=first, device=x.device).to(x.dtype)
        placed: Tensor = self.dropout(x * math.sqrt(self.dim) + where)
        return placed

    def _decoder(self) -> list[Block]:
        """The decoder's blocks."""
        return [block for block in self.decoder if isinstance(block, Block)]
