"""Luong 2015: Effective Approaches to Attention-based Neural Machine Translation; local attention."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.attend import allowed
from regard.nn.attention import Memory
from regard.nn.luong_global import AnyScore, luong_score
from regard.nn.masks import Causal, join, silence, silence_queries
from regard.nn.result import AttentionResult
from regard.nn.score import DotFamily, Location
from regard.nn.shapes import broadcast
from regard.nn.weigh import Weigh, gaussian
from regard.nn.weigh import resolve as resolve_weigh
from regard.nn.window import gathered, positions, window_dense, window_read, window_scores


class LuongLocalAttention(nn.Module):
    """A window of the source around a position: the step's own (local-m) or a predicted one (local-p).

        monotonic:   p[t] = t
        predictive:  p[t] = S σ(v' tanh(Wp h[t]))
        a[t, s] = softmax over s in [p - D, p + D] of score(h[t], s)
                  predictive: times exp(-(s - p)² / 2σ²), σ = D/2
        c[t] = Σₛ a[t, s] v[s]

    Work and memory grow with T (2D + 1), not with T S, unless weights over the whole source are asked for.
    Positions count from 0. S is the number of positions that the mask allows, so padding belongs at the end.

    The result's ``state`` is the position of the next step: hand it in to decode monotonically step by step.

    Parameters
    ----------
    query_dim, key_dim : int
    position : "monotonic" or "predictive"
    window : int
        D.
    score : "dot", "general", "concat" or "location", or as in ``attend``
    hidden_dim : int, optional
        Size of v in the prediction; ``query_dim``, if not given.
    positions : int, optional
        The longest source, for "location".
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        position: Literal["monotonic", "predictive"] = "predictive",
        window: int = 10,
        score: AnyScore = "general",
        hidden_dim: int | None = None,
        positions: int | None = None,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if position not in ("monotonic", "predictive"):
            raise SettingError(f"`position` must be 'monotonic' or 'predictive'; got {position!r}.")
        if window < 1:
            raise SettingError(f"`window` must be at least 1; got {window}.")
        self.score = luong_score(score, query_dim, key_dim, positions)
        self.weigh = resolve_weigh(weigh)
        self.window, self.dropout = window, dropout
        hidden_dim = hidden_dim or query_dim
        self.predict = (
            nn.Sequential(nn.Linear(query_dim, hidden_dim, bias=False), nn.Tanh(), nn.Linear(hidden_dim, 1, bias=False))
            if position == "predictive"
            else None
        )

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """What depends on the source alone, for calls a step at a time."""
        value = key if value is None else value
        return Memory(self.score.keys(silence(mask, key)), silence(mask, value))

    def forward(
        self,
        query: Tensor,
        key: Tensor | Memory,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: Causal = False,
        state: Tensor | None = None,
        need_weights: bool = True,
    ) -> AttentionResult:
        """Attend; ``state`` is the position of the first query, 0 if not given."""
        size = (key.keys if isinstance(key, Memory) else key).shape[-2]
        steps, width = query.shape[-2], 2 * self.window + 1
        mask = allowed(join(mask, causal, steps, size, query.device), bias)
        if not isinstance(key, Memory):
            key = self.precompute(key, value, mask=mask)
        query, keys, value = silence_queries(mask, query), key.keys, key.value
        lead = broadcast(query.shape[:-2], keys.shape[:-2])

        state = torch.zeros((), dtype=torch.int64, device=query.device) if state is None else state
        step = state[..., None] + torch.arange(steps, device=query.device)
        centre = self._centre(query, step, mask, size).expand(*lead, steps)
        start = torch.ceil(centre.detach() - self.window).long()
        at, inside = positions(start, width, size)
        inside = inside & (at <= (centre.detach() + self.window)[..., None])
        if mask is not None:
            inside = inside & _windows(mask, at)

        scores = self._scores(query, keys, start, at, width)
        if bias is not None:
            scores = scores + _windows(bias, at).to(scores.dtype)
        weights = self.weigh(scores, inside)
        if self.predict is not None:
            weights = gaussian(weights, at, centre[..., None], self.window / 2)
        weights = weights.to(value.dtype)
        kept = F.dropout(weights, self.dropout) if self.dropout and self.training else weights
        context = window_read(kept, value, start)
        following = state + steps
        if not need_weights:
            return AttentionResult(context, state=following)
        dense = window_dense(weights, start, size)
        return AttentionResult(context, dense, window_dense(scores, start, size), following)

    def _centre(self, query: Tensor, step: Tensor, mask: Tensor | None, size: int) -> Tensor:
        """Where each query looks, p: (..., T)."""
        if self.predict is None:
            return step.to(query.dtype if query.dtype == torch.float64 else torch.float32)
        share = torch.sigmoid(self.predict(query)[..., 0])
        share = share.float() if share.dtype in (torch.float16, torch.bfloat16) else share
        length = size if mask is None else mask.expand(*mask.shape[:-1], size).sum(-1).to(share.dtype)
        return length * share

    def _scores(self, query: Tensor, keys: Tensor, start: Tensor, at: Tensor, width: int) -> Tensor:
        """Scores of the windows, (..., T, width)."""
        query = self.score.queries(query)
        if isinstance(self.score, Location):
            return _windows(self.score.compare(query, keys), at)
        if isinstance(self.score, DotFamily) and keys.dtype in (torch.float32, torch.float64):
            q, k, scale, own = self.score.factors(query, keys)
            scores = window_scores(q * scale, k, start, width)
            return scores if own is None else scores + own()
        near = gathered(keys, start, width)  # (..., T, width, K)
        return self.score.compare(query[..., None, :], near)[..., 0, :]


def _windows(dense: Tensor, at: Tensor) -> Tensor:
    """The entries of (..., T, S) at the positions (..., T, width) of the windows."""
    dense = dense if dense.ndim > 1 else dense[None]
    lead = broadcast(dense.shape[:-1], at.shape[:-1])
    if not dense.shape[-1]:
        return dense.new_zeros(*lead, at.shape[-1])
    if dense.shape[-1] == 1:
        return dense.expand(*lead, at.shape[-1])
    return dense.expand(*lead, dense.shape[-1]).gather(-1, at.expand(*lead, at.shape[-1]))
