"""Weston, Chopra and Bordes 2015: Memory Networks; Sukhbaatar et al. 2015: End-To-End Memory Networks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.attend import allowed, compare_and_read
from regard.nn.attention import Memory
from regard.nn.masks import Causal, join, silence, silence_queries
from regard.nn.result import AttentionResult
from regard.nn.score import Score
from regard.nn.score import resolve as resolve_score
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class MemoryAttention(nn.Module):
    """Look something up, and let what was found ask the next question.

        a = softmax(score(u, k)),   c = Σᵢ a[i] v[i],   u ← u + c     (``hops`` times)

    The result has the context c of the last hop; its ``state`` is the question after all hops, u, from
    which the paper reads the answer. Weights and scores are those of the last hop, or of all with
    ``trace=True``.

    Parameters
    ----------
    score : str, Score or callable
        a(q, k); the dot product, as in the paper.
    hops : int
    map : nn.Module, optional
        H in u ← H u + c (layer-wise weights); the identity, if not given.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        score: str | Score | Callable[[Tensor, Tensor], Tensor] = "dot",
        *,
        hops: int = 1,
        map: nn.Module | None = None,  # noqa: A002 - the word for it
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if hops < 1:
            raise SettingError(f"`hops` must be at least 1; got {hops}.")
        self.score, self.weigh = resolve_score(score), resolve_weigh(weigh)
        self.map = nn.Identity() if map is None else map
        self.hops, self.dropout = hops, dropout

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """What depends on the source alone, for calls with many queries."""
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
        need_weights: bool = True,
        trace: bool = False,
    ) -> AttentionResult:
        """Attend, hop after hop.

        Parameters
        ----------
        value : (..., S, D)
            Of the size of the query, which it is added to.
        trace : bool
            Stack the weights and scores of all hops: (hops, ..., T, S).
        """
        sources = (key.keys if isinstance(key, Memory) else key).shape[-2]
        mask = allowed(join(mask, causal, query.shape[-2], sources, query.device), bias)
        if not isinstance(key, Memory):
            key = self.precompute(key, value, mask=mask)
        query, keys, value = silence_queries(mask, query), key.keys, key.value
        if value.shape[-1] != query.shape[-1]:
            raise SettingError(f"Values are added to the query, of size {query.shape[-1]}; got {value.shape[-1]}.")
        u, results = query, []
        for _ in range(self.hops):
            result = compare_and_read(
                self.score.queries(u),
                keys,
                value,
                score=self.score,
                weigh=self.weigh,
                mask=mask,
                bias=bias,
                dropout=self.dropout if self.training else 0.0,
                need_weights=need_weights,
            )
            u = self.map(u) + result.context
            results.append(result)
        weights, scores = result.weights, result.scores
        if trace and need_weights:
            weights = torch.stack([hop.weights for hop in results if hop.weights is not None])
            scores = torch.stack([hop.scores for hop in results if hop.scores is not None])
        return AttentionResult(result.context, weights, scores, u)
