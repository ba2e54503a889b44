"""Chorowski et al. 2015: Attention-Based Models for Speech Recognition."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.additive import additive_score
from regard.nn.attend import allowed
from regard.nn.attention import Memory
from regard.nn.masks import Causal, join, silence, silence_queries
from regard.nn.result import AttentionResult
from regard.nn.shapes import broadcast
from regard.nn.state import UPDATES, LocationFeatures, step_mask, uniform
from regard.nn.weigh import Weigh, top_k
from regard.nn.weigh import resolve as resolve_weigh


class LocationSensitiveAttention(nn.Module):
    """Where the last step looked tells where the next one should.

        f = F * a[i-1]
        content:   e[i, j] = w' tanh(W s[i-1] + V h[j] + b)
        location:  e[i, j] = w' tanh(V h[j] + U f[j] + b)
        hybrid:    e[i, j] = w' tanh(W s[i-1] + V h[j] + U f[j] + b)
        a[i] = weigh(β e[i]),   c[i] = Σⱼ a[i, j] h[j]

    ``keep`` and ``window`` are the paper's cures for long inputs; its window is one shorter on the right.

    Several queries are several steps: the weights of each feed the next. The result's ``state`` is what
    the step after the last needs, (..., S); hand it in to go on. The first is uniform over the true
    length. Gradients flow through it; detach it to cut them, as SpeechBrain does.

    Parameters
    ----------
    query_dim, key_dim : int
    hidden_dim : int, optional
        Size of w; ``query_dim``, if not given.
    mode : "content", "location" or "hybrid"
    filters, width : int
        Of the convolution F; the width is odd.
    remember : "previous" or "cumulative"
        The last weights, or the sum of all so far.
    sharpening : float
        β, above 1 for sharper weights.
    weigh, dropout
        See ``Attention``; "smooth" is the paper's smoothing.
    keep : int, optional
        Weigh only so many of the highest scores.
    window : int, optional
        Attend only to so many positions on either side of the median of the previous weights.
    value_dim, out_dim : int, optional
        Sizes of what is read (``key_dim``, if not given) and of an affine map of the context, which the
        paper has not; zero where nothing was read. None: no map.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        mode: Literal["content", "location", "hybrid"] = "hybrid",
        filters: int = 10,
        width: int = 31,
        remember: Literal["previous", "cumulative"] = "previous",
        sharpening: float = 1.0,
        weigh: str | Weigh = "softmax",
        keep: int | None = None,
        window: int | None = None,
        value_dim: int | None = None,
        out_dim: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if mode not in ("content", "location", "hybrid"):
            raise SettingError(f"`mode` must be 'content', 'location' or 'hybrid'; got {mode!r}.")
        if width % 2 == 0:
            raise SettingError(f"`width` must be odd, so that features have a middle; got {width}.")
        if remember not in UPDATES:
            raise SettingError(f"`remember` must be 'previous' or 'cumulative'; got {remember!r}.")
        hidden_dim = hidden_dim or query_dim
        self.mode, self.remember, self.sharpening = mode, remember, sharpening
        self.keep, self.window, self.dropout = keep, window, dropout
        self.weigh = resolve_weigh(weigh)
        self.key = nn.Linear(key_dim, hidden_dim)
        self.query = None if mode == "location" else nn.Linear(query_dim, hidden_dim, bias=False)
        self.features = None if mode == "content" else LocationFeatures(filters, width)
        self.location = None if mode == "content" else nn.Linear(filters, hidden_dim, bias=False)
        self.out = None if out_dim is None else nn.Linear(value_dim or key_dim, out_dim)
        self.w = nn.Parameter(torch.empty(hidden_dim).uniform_(-1, 1) / hidden_dim**0.5)

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """V h + b and what is read, for calls a step at a time."""
        value = key if value is None else value
        return Memory(self.key(silence(mask, key)), silence(mask, value))

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
        """Attend, one step after another; ``state`` (..., S) is what the last call returned."""
        steps, size = query.shape[-2], (key.keys if isinstance(key, Memory) else key).shape[-2]
        mask = allowed(join(mask, causal, steps, size, query.device), bias)
        if not isinstance(key, Memory):
            key = self.precompute(key, value, mask=mask)
        query, keys, value = silence_queries(mask, query), key.keys, key.value
        lead = broadcast(query.shape[:-2], keys.shape[:-2])
        may = step_mask(mask, lead, steps, size, query.device)
        queries = keys.new_zeros(*query.shape[:-1], keys.shape[-1]) if self.query is None else self.query(query)
        wide = torch.float32 if keys.dtype in (torch.float16, torch.bfloat16) else keys.dtype
        state = uniform(may.any(-2)).to(wide) if state is None else state

        scored, weighed = [], []
        for step in range(steps):
            near = may[..., step, :] & self._near(state, size)
            moved = keys
            if self.features is not None and self.location is not None:
                moved = keys + self.location(self.features(state.to(keys.dtype)))
            scores = additive_score(queries[..., step : step + 1, :], moved, self.w)[..., 0, :] * self.sharpening
            if bias is not None:
                scores = scores + bias.expand(*lead, steps, size)[..., step, :].to(scores.dtype)
            if self.keep is not None:
                near = near & (top_k(scores, near, k=self.keep) > 0)
            weights = self.weigh(scores, near).to(state.dtype)
            state = UPDATES[self.remember](state, weights)
            scored.append(scores)
            weighed.append(weights)
        if not steps:
            nothing = state.new_zeros(*lead, 0, size)
            context = nothing.to(value.dtype) @ value
            context = context if self.out is None else self.out(context)
            asked = nothing if need_weights else None
            return AttentionResult(context, asked, asked, state)
        weights = torch.stack(weighed, -2).to(value.dtype)
        kept = F.dropout(weights, self.dropout) if self.dropout and self.training else weights
        context = kept @ value
        if self.out is not None:
            context = torch.where(may.any(-1, keepdim=True), self.out(context), 0)
        if not need_weights:
            return AttentionResult(context, state=state)
        return AttentionResult(context, weights, torch.stack(scored, -2), state)

    def _near(self, state: Tensor, size: int) -> Tensor:
        """Whether each position is within the window around the median of the weights so far."""
        positions = torch.arange(size, device=state.device)
        if self.window is None:
            return positions >= 0
        share = state.detach().cumsum(-1)
        median = (share < share[..., -1:] / 2).sum(-1, keepdim=True)
        return (positions - median).abs() <= self.window
