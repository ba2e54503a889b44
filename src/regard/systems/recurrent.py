"""A recurrent network that reads sequences both ways, each within its own length."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import SettingError

CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}
Cell = Literal["gru", "lstm"]


class Recurrent(nn.Module):
    """What was read up to each position, and from the end down to it.

        h[j] = [forwards over x[0..j]; backwards over x[S-1..j]]

    The backward network reads each sequence turned around within its length, so padding comes after everything that
    counts and both run over plain tensors, which is several times as fast as packed sequences.

    Parameters
    ----------
    dim, hidden : int
        Sizes of x and of h.
    cell : "gru" or "lstm"
    bidirectional : bool
        Whether half of h reads backwards; otherwise all of it reads forwards.
    """

    def __init__(self, dim: int, hidden: int, *, cell: Cell = "gru", bidirectional: bool = True) -> None:
        super().__init__()
        if cell not in CELLS:
            raise SettingError(f"`cell` must be 'gru' or 'lstm'; got {cell!r}.")
        if bidirectional and hidden % 2:
            raise SettingError(f"`hidden` must be even, half of it for each direction; got {hidden}.")
        each = hidden // 2 if bidirectional else hidden
        self.forwards = CELLS[cell](dim, each, batch_first=True)
        self.backwards = CELLS[cell](dim, each, batch_first=True) if bidirectional else None

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Read.

        Parameters
        ----------
        x : (batch, S, dim)
        lengths : (batch,)
            From 1 to S.

        Returns
        -------
        h : (batch, S, hidden)
            Beyond a sequence's length it means nothing: mask it.
        last : (batch, hidden)
            What each direction remembers at its end.
        """
        states: Tensor = self.forwards(x)[0]
        last = (lengths - 1)[:, None]
        end = states.gather(1, last[..., None].expand(-1, 1, states.shape[-1]))[:, 0]
        if self.backwards is None:
            return states, end
        place = torch.arange(x.shape[1], device=x.device)
        turned = torch.where(place <= last, last - place, place)[..., None]
        back = self.backwards(x.gather(1, turned.expand_as(x)))[0].gather(1, turned.expand(-1, -1, states.shape[-1]))
        return torch.cat([states, back], -1), torch.cat([end, back[:, 0]], -1)
