"""From weights and values to what was read."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.shapes import broadcast


def average(weights: Tensor, value: Tensor) -> Tensor:
    """The weighted sum of the values.

        c[t] = Σₛ w[t, s] v[s]

    Parameters
    ----------
    weights : (..., T, S)
    value : (..., S, D)

    Returns
    -------
    context : (..., T, D)
    """
    return weights.to(value.dtype) @ value


def gated(weights: Tensor, value: Tensor) -> Tensor:
    """Each value turned down or up, the length kept.

        x'[s] = w[s] v[s]

    Parameters
    ----------
    weights : (..., S)
    value : (..., S, D)
    """
    return weights[..., None].to(value.dtype) * value


class Attentional(nn.Module):
    """What was read and what was asked, in one vector (Luong 2015, equation 5).

        h̃[t] = tanh(W [c[t]; h[t]])

    The paper has no bias; ``bias`` adds one, and ``tanh=False`` leaves out the tanh.
    """

    def __init__(
        self, context_dim: int, query_dim: int, out_dim: int | None = None, *, bias: bool = False, tanh: bool = True
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(context_dim + query_dim, out_dim or query_dim, bias=bias)
        self.tanh = tanh

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """From context (..., T, C) and query (..., T, Q) to (..., T, out)."""
        lead = broadcast(context.shape[:-1], query.shape[:-1])
        both = torch.cat([context.expand(*lead, -1), query.expand(*lead, -1)], -1)
        joined: Tensor = self.linear(both)
        return torch.tanh(joined) if self.tanh else joined
