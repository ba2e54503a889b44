"""Symbols and their numbers, and sequences of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.errors import DataError

PAD, START, END = 0, 1, 2
_RESERVED = 3


@dataclass(frozen=True)
class Symbols:
    """Names and their numbers; 0, 1 and 2 are padding, start and end.

    Attributes
    ----------
    names : tuple of str

    Examples
    --------
    >>> Symbols(("a", "b")).encode("abba")
    [3, 4, 4, 3]
    """

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names) + _RESERVED

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names, _RESERVED)}

    def encode(self, names: Iterable[str]) -> list[int]:
        """The number of each."""
        try:
            return [self._numbers[name] for name in names]
        except KeyError as error:
            raise DataError(f"{error.args[0]!r} is not among the {len(self.names)} symbols: leave it out.") from None

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The name of each; padding, start and end have none."""
        return [self.names[number - _RESERVED] for number in numbers if number >= _RESERVED]


@dataclass(frozen=True)
class Pairs:
    """Sequences, and what they should become.

    Attributes
    ----------
    sources, targets : list of list of int
        Numbers of symbols, without start and end.
    source, target : Symbols
    """

    sources: list[list[int]]
    targets: list[list[int]]
    source: Symbols
    target: Symbols

    def __len__(self) -> int:
        return len(self.sources)


def padded(sequences: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Sequences side by side, filled up with ``PAD``: numbers (n, T), and how long each is (n,)."""
    lengths = torch.tensor([len(one) for one in sequences])
    longest = int(lengths.max()) if len(sequences) else 0
    numbers = torch.tensor([[*one, *[PAD] * (longest - len(one))] for one in sequences], dtype=torch.long)
    return numbers.to(device), lengths.to(device)
