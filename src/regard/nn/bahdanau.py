"""Bahdanau, Cho and Bengio 2014: Neural Machine Translation by Jointly Learning to Align and Translate."""

from __future__ import annotations

from regard.nn.additive import Additive
from regard.nn.attention import Attention
from regard.nn.weigh import Weigh


class BahdanauAttention(Attention):
    """What the decoder is about to say, matched with each source state by a small network.

        e[t, j] = v' tanh(W s[t-1] + U h[j] + b),   a = softmax(e),   c[t] = Σⱼ a[t, j] h[j]

    Parameters
    ----------
    query_dim, key_dim : int
        Sizes of the decoder state s and of the source states h.
    hidden_dim : int, optional
        Size of v; ``query_dim``, if not given.
    bias : bool
        Whether there is a b; the paper has none.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        bias: bool = False,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(Additive(query_dim, key_dim, hidden_dim, bias=bias), weigh, dropout=dropout)
