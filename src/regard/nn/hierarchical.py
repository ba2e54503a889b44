"""Yang et al. 2016: Hierarchical Attention Networks for Document Classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from regard.nn.masks import check_mask
from regard.nn.pool import PoolAttention
from regard.nn.result import AttentionResult, register_result
from regard.nn.weigh import Weigh


@register_result
@dataclass(frozen=True)
class HierarchicalResult:
    """What came of attending on two levels.

    Attributes
    ----------
    context : (..., D)
        The document.
    weights : (..., sentences, words), optional
        Each word's share of the document: its weight in the sentence times the weight of the sentence.
    words : AttentionResult
        Context (..., sentences, D), weights (..., sentences, words).
    sentences : AttentionResult
        Context (..., D), weights (..., sentences).
    """

    context: Tensor
    weights: Tensor | None
    words: AttentionResult
    sentences: AttentionResult


class HierarchicalAttention(nn.Module):
    """Words make sentences, sentences make the document.

        u[i, t] = tanh(Ww h[i, t] + bw),   α[i, :] = softmax(u[i, :] · uw),   s[i] = Σₜ α[i, t] h[i, t]
        u[i] = tanh(Ws h[i] + bs),         α = softmax(u · us),               v = Σᵢ α[i] h[i]

    Parameters
    ----------
    key_dim : int
        Size of the word annotations h[i, t].
    hidden_dim : int, optional
        Size of u; ``key_dim``, if not given.
    sentence_dim : int, optional
        Size of the sentence annotations h[i]; ``key_dim``, if not given.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        sentence_dim: int | None = None,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.words = PoolAttention(key_dim, hidden_dim, weigh=weigh, dropout=dropout)
        self.sentences = PoolAttention(sentence_dim or key_dim, hidden_dim, weigh=weigh, dropout=dropout)

    def forward(
        self,
        words: Tensor,
        *,
        mask: Tensor | None = None,
        encode: Callable[[Tensor], Tensor] | None = None,
        need_weights: bool = True,
    ) -> HierarchicalResult:
        """Read a document.

        Parameters
        ----------
        words : (..., sentences, words, key_dim)
        mask : bool (..., sentences, words), optional
            True = may attend. A sentence without words is not attended to.
        encode : callable, optional
            From sentence vectors s (..., sentences, D) to annotations h: the paper's second GRU. None is
            the identity.
        """
        mask = check_mask(mask)
        lower = self.words(words, mask=mask, need_weights=need_weights)
        there = mask if mask is None else mask.expand(words.shape[:-1]).any(-1)
        upper = self.sentences(
            lower.context if encode is None else encode(lower.context), mask=there, need_weights=need_weights
        )
        weights = lower.weights * upper.weights[..., None] if need_weights else None
        return HierarchicalResult(upper.context, weights, lower, upper)
