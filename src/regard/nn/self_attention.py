"""Vaswani et al. 2017: Attention Is All You Need, one head."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.attend import allowed
from regard.nn.attention import Attention, Memory
from regard.nn.masks import Causal, join, silence, silence_all
from regard.nn.result import AttentionResult
from regard.nn.weigh import Weigh


class SelfAttention(Attention):
    """Each position reads from all positions.

        context = softmax(Q K' / √d) V,   Q = X Wq,  K = X Wk,  V = X Wv

    Parameters
    ----------
    dim : int
        Size of the positions x.
    hidden_dim, value_dim : int, optional
        Sizes of queries and keys, and of values; ``dim``, if not given.
    key_dim : int, optional
        Size of what is attended to, where it is another sequence.
    bias : bool
        Whether the projections have one; the paper's have none.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        dim: int,
        hidden_dim: int | None = None,
        value_dim: int | None = None,
        *,
        key_dim: int | None = None,
        bias: bool = False,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__("scaled_dot", weigh, dropout=dropout)
        hidden_dim, key_dim = hidden_dim or dim, key_dim or dim
        self.query = nn.Linear(dim, hidden_dim, bias=bias)
        self.key = nn.Linear(key_dim, hidden_dim, bias=bias)
        self.value = nn.Linear(key_dim, value_dim or dim, bias=bias)

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """Keys and values, projected."""
        value = key if value is None else value
        return Memory(self.key(silence(mask, key)), self.value(silence(mask, value)))

    def forward(
        self,
        query: Tensor,
        key: Tensor | Memory | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: Causal = False,
        need_weights: bool = True,
    ) -> AttentionResult:
        """Attend; without a key, the query attends to itself."""
        key = query if key is None else key
        if not isinstance(key, Memory):
            mask = allowed(join(mask, causal, query.shape[-2], key.shape[-2], query.device), bias)
            query, key, value = silence_all(mask, query, key, key if value is None else value)
            key = Memory(self.key(key), self.value(value))
        return super().forward(self.query(query), key, mask=mask, bias=bias, causal=causal, need_weights=need_weights)
