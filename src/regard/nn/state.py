"""What one decoding step hands to the next: the weights so far.

A state is a tensor (..., S) that the caller passes in and gets back; modules remember nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def uniform(mask: Tensor) -> Tensor:
    """Weights before anything was attended to: equal over the positions that may be.

        a[0][s] = 1 / S  over the true length S

    Parameters
    ----------
    mask : bool (..., S)
    """
    return mask / mask.sum(-1, keepdim=True).clamp_min(1)


def previous(state: Tensor, weights: Tensor) -> Tensor:  # noqa: ARG001 - the shape of all updates
    """Remember the last weights (Chorowski 2015)."""
    return weights


def cumulative(state: Tensor, weights: Tensor) -> Tensor:
    """Remember the sum of all weights so far, which tells what was already read (Tu 2016, Shen 2018)."""
    return state + weights


class LocationFeatures(nn.Module):
    """What the previous weights look like around each position.

        f[s] = (F * a)[s],   F of ``filters`` rows and ``width`` columns

    Parameters
    ----------
    filters : int
    width : int
        Odd.
    """

    def __init__(self, filters: int, width: int) -> None:
        super().__init__()
        self.convolve = nn.Conv1d(1, filters, width, padding=width // 2, bias=False)

    def forward(self, weights: Tensor) -> Tensor:
        """From weights (..., S) to features (..., S, filters)."""
        if not weights.shape[-1]:
            return weights.new_zeros(*weights.shape, self.convolve.out_channels)
        rows = weights.reshape(-1, 1, weights.shape[-1])
        features: Tensor = self.convolve(rows)
        return features.mT.reshape(*weights.shape, -1)


UPDATES = {"previous": previous, "cumulative": cumulative}


def step_mask(mask: Tensor | None, lead: torch.Size, steps: int, size: int, device: torch.device) -> Tensor:
    """A mask for each step, (..., T, S), where there was one for all or none."""
    if mask is None:
        return torch.ones((), dtype=torch.bool, device=device).expand(*lead, steps, size)
    return mask.expand(*lead, steps, size)
