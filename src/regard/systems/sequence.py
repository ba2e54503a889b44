"""What models from sequences to sequences share: a loss, greedy decoding, beam search, a count of exact answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.systems import decoding
from regard.systems.data.symbols import END, PAD, START, Pairs, padded
from regard.systems.decoding import Decoded, Said
from regard.systems.saving import System


class SequenceToSequence(System):
    """Reads a source and says a target, symbol by symbol.

    Numbers of symbols are those of ``regard.systems.data.symbols``: 0 fills up, 1 starts, 2 ends.
    """

    @abstractmethod
    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """How probable each next symbol is, given the right ones before it.

        Parameters
        ----------
        source : (batch, S)
            Filled up with anything beyond ``lengths``.
        lengths : (batch,)
            From 1 to S.
        target : (batch, T)
            The start, then the symbols said so far.

        Returns
        -------
        logits : (batch, T, V)
        """

    @abstractmethod
    def begin(self, source: Tensor, lengths: Tensor) -> Any:
        """Read the source: the state of the first step of decoding."""

    @abstractmethod
    def step(self, tokens: Tensor, state: Any) -> Said:
        """From the last symbols (batch,) and the state to logits (batch, V), the next state, weights (batch, S)."""

    def loss(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Tensor:
        """The mean of -log P over the symbols of the targets, their ends included."""
        source, lengths = padded(sources, self.device)
        said, _ = padded([[START, *one] for one in targets], self.device)
        wanted, _ = padded([[*one, END] for one in targets], self.device)
        return F.cross_entropy(self(source, lengths, said).flatten(0, 1), wanted.flatten(), ignore_index=PAD)

    def greedy(self, source: Tensor, lengths: Tensor, *, longest: int = 100) -> Decoded:
        """The most probable symbol at each step; at most ``longest``."""
        return decoding.greedy(self.step, self.begin(source, lengths), self._starts(source), end=END, longest=longest)

    def beam(
        self, source: Tensor, lengths: Tensor, *, width: int = 5, longest: int = 100, length_penalty: float = 0.0
    ) -> Decoded:
        """The best of what the ``width`` most probable beginnings become: see ``decoding.beam``."""
        state = self.begin(source, lengths)
        return decoding.beam(
            self.step,
            state,
            self._starts(source),
            end=END,
            longest=longest,
            width=width,
            length_penalty=length_penalty,
        )

    def _starts(self, source: Tensor) -> Tensor:
        return torch.full((len(source),), START, device=source.device)


@torch.no_grad()
def exact(model: SequenceToSequence, pairs: Pairs, *, width: int = 1, batch_size: int = 256) -> list[bool]:
    """Whether the whole answer to each source is right, symbol by symbol and in its length.

    Parameters
    ----------
    width : int
        Of the beam; 1 decodes greedily.
    """
    model.eval()
    right = [False] * len(pairs)
    for batch in _alike([len(one) for one in pairs.sources], batch_size):
        source, lengths = padded([pairs.sources[i] for i in batch], model.device)
        longest = max(len(pairs.targets[i]) for i in batch) + 5
        if width == 1:
            found = model.greedy(source, lengths, longest=longest)
        else:
            found = model.beam(source, lengths, longest=longest, width=width)
        for i, said in zip(batch, found.sequences(), strict=True):
            right[i] = said == pairs.targets[i]
    return right


def checked(source: Tensor, lengths: Tensor) -> Tensor:
    """The lengths, each of a sequence that there is."""
    if source.ndim != 2 or lengths.shape != source.shape[:1]:
        raise SettingError(
            f"`source` must be (batch, S) with a length for each, (batch,); got {tuple(source.shape)} and "
            f"{tuple(lengths.shape)}."
        )
    if len(lengths) and not 1 <= int(lengths.min()) <= int(lengths.max()) <= source.shape[1]:
        raise SettingError(
            f"`lengths` must be from 1 to S = {source.shape[1]}; got {int(lengths.min())} to {int(lengths.max())}."
        )
    return lengths


def _alike(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Indices in batches of like length."""
    order = np.argsort(lengths, kind="stable").tolist()
    for first in range(0, len(order), size):
        yield order[first : first + size]
