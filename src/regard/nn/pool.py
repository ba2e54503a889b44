"""Attention with one learned query: a sequence becomes a vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.attend import compare_and_read
from regard.nn.masks import silence, source_mask
from regard.nn.result import AttentionResult
from regard.nn.score import Dot
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class PoolAttention(nn.Module):
    """Which positions matter, whatever the question (one level of Yang 2016; FLAN of Serrano and Smith 2019).

        u[s] = tanh(W h[s] + b),   a = softmax(u · q),   c = Σₛ a[s] h[s],   q learned

    Parameters
    ----------
    key_dim : int
        Size of h.
    hidden_dim : int, optional
        Size of u and q; ``key_dim``, if not given.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_dim = hidden_dim or key_dim
        self.key = nn.Linear(key_dim, hidden_dim)
        self.query = nn.Parameter(torch.randn(hidden_dim) / hidden_dim**0.5)
        self.score, self.weigh, self.dropout = Dot(), resolve_weigh(weigh), dropout

    def forward(
        self,
        key: Tensor,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> AttentionResult:
        """Pool.

        Parameters
        ----------
        key : (..., S, key_dim)
        value : (..., S, D), optional
            The keys, if not given.
        mask : bool (..., S), optional
            True = may attend.

        Returns
        -------
        AttentionResult
            Context (..., D) and weights (..., S): there is no axis of queries.
        """
        mask = source_mask(mask, key.shape[-2], key.device)
        rows = mask if mask is None else mask[..., None, :]
        key, value = silence(rows, key), silence(rows, key if value is None else value)
        result = compare_and_read(
            self.query[None].expand(*key.shape[:-2], 1, -1),
            torch.tanh(self.key(key)),
            value,
            score=self.score,
            weigh=self.weigh,
            mask=rows,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if result.weights is None or result.scores is None:
            return AttentionResult(result.context[..., 0, :])
        return AttentionResult(result.context[..., 0, :], result.weights[..., 0, :], result.scores[..., 0, :])
