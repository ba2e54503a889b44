"""Luong 2015: Effective Approaches to Attention-based Neural Machine Translation; global attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from torch import Tensor

from regard.errors import SettingError, nearest
from regard.nn.additive import Additive
from regard.nn.attention import Attention, Memory
from regard.nn.combine import Attentional
from regard.nn.masks import Causal
from regard.nn.result import AttentionResult
from regard.nn.score import SCORES, Dot, General, Location, Score, resolve
from regard.nn.weigh import Weigh

LuongScore = Literal["dot", "general", "concat", "location"]
AnyScore = LuongScore | str | Score | Callable[[Tensor, Tensor], Tensor]


def luong_score(score: AnyScore, query_dim: int, key_dim: int, positions: int | None, *, bias: bool = False) -> Score:
    """The four scores of the paper by name, and any other.

    dot:       h·s
    general:   h' W s
    concat:    v' tanh(W [h; s])
    location:  (W h)[j]
    """
    match score:
        case "dot" if query_dim != key_dim:
            raise SettingError(
                f"The score 'dot' needs queries and keys of one size; got {query_dim} and {key_dim}. "
                "'general' takes any two."
            )
        case "dot":
            return Dot()
        case "general":
            return General(query_dim, key_dim)
        case "concat":
            return Additive(query_dim, key_dim, bias=bias)
        case "location" if positions is None:
            raise SettingError("The score 'location' needs `positions`, the length of the longest source.")
        case "location":
            assert positions is not None
            return Location(query_dim, positions)
        case str() if score not in SCORES:
            known = ("dot", "general", "concat", "location", *SCORES)
            raise SettingError(
                f"Unknown score {score!r}.{nearest(score, known)} Known: {', '.join(dict.fromkeys(known))}."
            )
    return resolve(score)


class LuongGlobalAttention(Attention):
    """All source states, weighed by one of four scores.

        a[t, :] = softmax(score(h[t], s)),   c[t] = Σⱼ a[t, j] s[j],   h̃[t] = tanh(Wc [c[t]; h[t]])

    The result's ``context`` is c; its ``state`` is h̃, the attentional vector, which input feeding hands
    to the next step.

    Parameters
    ----------
    query_dim, key_dim : int
        Sizes of the decoder states h and of the source states s.
    score : "dot", "general", "concat" or "location", or as in ``attend``
    value_dim : int, optional
        Size of what is read; ``key_dim``, if not given.
    attentional_dim : int, optional
        Size of h̃; ``query_dim``, if not given.
    positions : int, optional
        The longest source, for "location".
    bias : bool
        Whether the maps of "concat" and of h̃ have one; the paper's have none.
    tanh : bool
        Whether h̃ has a tanh.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        score: AnyScore = "general",
        value_dim: int | None = None,
        attentional_dim: int | None = None,
        positions: int | None = None,
        bias: bool = False,
        tanh: bool = True,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(luong_score(score, query_dim, key_dim, positions, bias=bias), weigh, dropout=dropout)
        self.attentional = Attentional(value_dim or key_dim, query_dim, attentional_dim, bias=bias, tanh=tanh)

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
        """Attend; the state of the result is the attentional vector (..., T, attentional_dim)."""
        result = super().forward(query, key, value, mask=mask, bias=bias, causal=causal, need_weights=need_weights)
        return replace(result, state=self.attentional(result.context, query))
