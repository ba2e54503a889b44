"""Vinyals, Fortunato and Jaitly 2015: Pointer Networks."""

from __future__ import annotations

from torch import Tensor

from regard.nn.additive import Additive
from regard.nn.attention import Attention, Memory
from regard.nn.weigh import Weigh, log_softmax


class PointerAttention(Attention):
    """The weights are the answer: which of the inputs comes next.

        u[i, j] = v' tanh(W1 e[j] + W2 d[i]),   p(next = j) = softmax(u[i])[j],   d'[i] = Σⱼ a[i, j] e[j]

    Parameters
    ----------
    query_dim, key_dim : int
        Sizes of decoder states d and of encoder states e.
    hidden_dim : int, optional
        Size of v; ``query_dim``, if not given.
    weigh, dropout
        See ``Attention``.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(Additive(query_dim, key_dim, hidden_dim, bias=False), weigh, dropout=dropout)

    def log_probabilities(self, query: Tensor, key: Tensor | Memory, *, mask: Tensor | None = None) -> Tensor:
        """The logarithms of softmax(u), (..., T, S), for ``nll_loss`` against the positions to point at."""
        scores = self(query, key, mask=mask).scores
        return log_softmax(scores, mask)
