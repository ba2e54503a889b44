"""The module that most mechanisms are: a score, a weighing, an average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from regard.nn.attend import allowed, compare_and_read
from regard.nn.masks import Causal, join, silence, silence_all, silence_queries
from regard.nn.result import AttentionResult, register_result
from regard.nn.score import Score
from regard.nn.score import resolve as resolve_score
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


@register_result
@dataclass(frozen=True)
class Memory:
    """A source prepared once for many queries: what ``precompute`` returns and ``key`` may be.

    Attributes
    ----------
    keys : (..., S, K')
        What the score needs of the keys.
    value : (..., S, D)
        What is read.
    """

    keys: Tensor
    value: Tensor


class Attention(nn.Module):
    """Any score with any weighing.

        x[t, s] = score(q[t], k[s]) + bias[t, s],   w = weigh(x),   c[t] = Σₛ w[t, s] v[s]

    Parameters
    ----------
    score : str, Score or callable
        See ``attend``.
    weigh : str or callable
        See ``attend``.
    dropout : float
        The share of weights to drop in training.

    Examples
    --------
    >>> attention = Attention("cosine", "sparsemax")
    >>> attention(torch.rand(2, 3, 8), torch.rand(2, 5, 8)).weights.shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self,
        score: str | Score | Callable[[Tensor, Tensor], Tensor] = "scaled_dot",
        weigh: str | Weigh = "softmax",
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = resolve_score(score)
        self.weigh = resolve_weigh(weigh)
        self.dropout = dropout

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """What depends on the source alone, for calls with many queries: ``attention(query, memory)``."""
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
    ) -> AttentionResult:
        """Attend; the arguments are those of ``attend``."""
        sources = (key.keys if isinstance(key, Memory) else key).shape[-2]
        mask = allowed(join(mask, causal, query.shape[-2], sources, query.device), bias)
        if isinstance(key, Memory):
            query, keys, value = silence_queries(mask, query), key.keys, key.value
        else:
            query, key, value = silence_all(mask, query, key, key if value is None else value)
            keys = self.score.keys(key)
        return compare_and_read(
            self.score.queries(query),
            keys,
            value,
            score=self.score,
            weigh=self.weigh,
            mask=mask,
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
