"""Ji et al. 2017: A Nested Attention Neural Hybrid Model for Grammatical Error Correction."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.masks import check_mask
from regard.nn.result import AttentionResult
from regard.nn.score import DotFamily
from regard.nn.weigh import Weigh


class FeedForwardDot(DotFamily):
    """score = φ1(q) · φ2(k), each φ a linear map and a tanh."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(query_dim, hidden_dim), nn.Linear(key_dim, hidden_dim)

    def queries(self, query: Tensor) -> Tensor:
        """The map φ1."""
        return torch.tanh(self.query(query))

    def keys(self, key: Tensor) -> Tensor:
        """The map φ2."""
        return torch.tanh(self.key(key))


class NestedAttention(Attention):
    """Attention over words; and, to spell a word, over the characters of the word attended to most.

        u[s, k] = φ1(d[s]) · φ2(h[k]),   α = weigh(u),   c[s] = Σₖ α[s, k] h[k]
        to spell:  the same over the characters of the source word  z[s] = argmaxₖ α[s, k]

    Parameters
    ----------
    query_dim, key_dim : int
        Sizes of decoder states d and of source words h.
    hidden_dim : int, optional
        Size of φ; ``query_dim``, if not given.
    char_dim, char_query_dim : int, optional
        Sizes of the characters and of the states of the character decoder; ``key_dim`` and ``query_dim``,
        if not given.
    weigh : str or callable
        "softmax", unless told otherwise; "literal" is u / Σ u as printed, whose weights may be negative.
    dropout : float
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        char_dim: int | None = None,
        char_query_dim: int | None = None,
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        hidden_dim = hidden_dim or query_dim
        super().__init__(FeedForwardDot(query_dim, key_dim, hidden_dim), weigh, dropout=dropout)
        self.characters = Attention(
            FeedForwardDot(char_query_dim or query_dim, char_dim or key_dim, hidden_dim),
            weigh,
            dropout=dropout,
        )

    def spell(
        self,
        query: Tensor,
        weights: Tensor,
        characters: Tensor,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> AttentionResult:
        """Attend to the characters of one source word for each word to be spelt.

        Parameters
        ----------
        query : (..., T, C, char_query_dim)
            States of the character decoder: C for each of the T words.
        weights : (..., T, S)
            The word weights, from ``forward``.
        characters : (..., S, M, char_dim)
            The characters of the source words.
        mask : bool (..., S, M), optional
            Which of them are real.

        Returns
        -------
        AttentionResult
            Context (..., T, C, char_dim), weights (..., T, C, M).
        """
        word = weights.detach().argmax(-1)
        chosen = torch.take_along_dim(characters, word[..., None, None], -3)
        mask = check_mask(mask)
        if mask is not None:
            mask = mask.expand(characters.shape[:-1])
            mask = torch.take_along_dim(mask, word[..., None], -2)[..., None, :]
        result: AttentionResult = self.characters(query, chosen, mask=mask, need_weights=need_weights)
        return result
