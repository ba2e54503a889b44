"""Attention with one learned query: a sequence becomes a vector."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.attend import compare_and_read
from regard.nn.masks import silence, source_mask
from regard.nn.result import AttentionResult
from regard.nn.score import ScaledDot
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class PoolAttention(nn.Module):
    """Which positions matter, whatever the question (one level of Yang 2016; FLAN of Serrano and Smith 2019).

        u[s] = tanh(W h[s] + b),   a = softmax(u · q / λ),   c = Σₛ a[s] h[s],   q learned

    and with ``score="dot"`` u = h (Sun and Lu 2020).

    Parameters
    ----------
    key_dim : int
        Size of h.
    hidden_dim : int, optional
        Size of u and q; ``key_dim``, if not given.
    score : "additive" or "dot"
    scale : float
        λ.
    bias : bool
        Whether there is a b.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        score: Literal["additive", "dot"] = "additive",
        scale: float = 1.0,
        bias: bool = True,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_dim = hidden_dim or key_dim
        if score not in ("additive", "dot"):
            raise SettingError(f"`score` must be 'additive' or 'dot'; got {score!r}.")
        if score == "dot" and hidden_dim != key_dim:
            raise SettingError(f"`hidden_dim` must be `key_dim` ({key_dim}) with score='dot'; got {hidden_dim}.")
        self.key = nn.Linear(key_dim, hidden_dim, bias=bias) if score == "additive" else None
        self.query = nn.Parameter(torch.randn(hidden_dim) / hidden_dim**0.5)
        self.score, self.weigh, self.dropout = ScaledDot(divisor=scale), resolve_weigh(weigh), dropout

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
        key, value = silence(rows, key), None if value is None else silence(rows, value)
        result = compare_and_read(
            self.query[None].expand(*key.shape[:-2], 1, -1),
            key if self.key is None else torch.tanh(self.key(key)),
            key if value is None else value,
            score=self.score,
            weigh=self.weigh,
            mask=rows,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if result.weights is None or result.scores is None:
            return AttentionResult(result.context[..., 0, :])
        return AttentionResult(result.context[..., 0, :], result.weights[..., 0, :], result.scores[..., 0, :])
