"""Documents laid end to end, so that there is nothing to pad and nothing to mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tokens:
    """The tokens of many documents as numbers of a vocabulary.

    Attributes
    ----------
    ids : (tokens,)
        The word at each place; -1 is a word that the vocabulary does not know.
    starts : (documents + 1,)
        Document ``d`` is ``ids[starts[d]:starts[d + 1]]``.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, document: int) -> NDArray[np.int32]:
        return self.ids[self.starts[document] : self.starts[document + 1]]
