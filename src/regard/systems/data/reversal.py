"""Say a sequence backwards."""

from __future__ import annotations

import numpy as np

from regard.errors import SettingError
from regard.systems.data.symbols import Pairs, Symbols

LETTERS = Symbols(tuple("abcdefghij"))


def reversal(n: int, seed: int, *, shortest: int = 1, longest: int = 24) -> Pairs:
    """Random letters, and the same from the last to the first.

    Parameters
    ----------
    n : int
    seed : int
    shortest, longest : int
        The lengths, all as frequent.

    Examples
    --------
    >>> pairs = reversal(1, seed=0, longest=5)
    >>> LETTERS.decode(pairs.sources[0]), LETTERS.decode(pairs.targets[0])
    (['g', 'f', 'c', 'd', 'a'], ['a', 'd', 'c', 'f', 'g'])
    """
    if not 1 <= shortest <= longest:
        raise SettingError(f"Lengths must be from 1 and in order; got {shortest} to {longest}.")
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest + 1, size=n)
    sources = [(rng.integers(len(LETTERS.names), size=length) + 3).tolist() for length in lengths]
    return Pairs(sources, [source[::-1] for source in sources], LETTERS, LETTERS)
