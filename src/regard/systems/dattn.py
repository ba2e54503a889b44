"""Seo et al. 2017: Interpretable Convolutional Neural Networks with Dual Local and Global Attention (D-Attn)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.dual import DualAttention, DualResult
from regard.systems.saving import System


@dataclass(frozen=True)
class Rated:
    """What D-Attn says.

    Attributes
    ----------
    ratings : (...)
    user, item : DualResult
        What was attended to in either document: ``weights`` are the gates of the words, (..., T).
    """

    ratings: Tensor
    user: DualResult
    item: DualResult


class Reader(nn.Module):
    """From a document to a point in the space in which users and items meet.

        x = embedding,  features = DualAttention(x),  out = W2 dropout(relu(W1 features + b1)) + b2

    Parameters
    ----------
    words, dim, length, filters, hidden, size : int
        How many words there are; sizes of x, of the longest document, of the features of each width (twice as many of
        single words), of the layer between, and of the point.
    window : int
        Of the local gate.
    widths : sequence of int
        Of the filters that look for phrases, after the global gate.
    dropout, word_dropout : float
        Of the layer between, and of whole words: in training.
    attention : bool
        False opens both gates fully: the same convolutions without attention.
    """

    def __init__(
        self,
        words: int,
        dim: int,
        length: int,
        *,
        window: int,
        filters: int,
        widths: Sequence[int],
        hidden: int,
        size: int,
        dropout: float,
        word_dropout: float,
        attention: bool,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, dim, padding_idx=0)
        nn.init.normal_(
            self.embedding.weight, std=0.3
        )  # larger ones would saturate tanh, of which the highest is taken
        nn.init.zeros_(self.embedding.weight[:1])
        self.attention = DualAttention(
            dim, length, window=window, local_filters=2 * filters, filters=filters, widths=tuple(widths)
        )
        self.between = nn.Sequential(
            nn.Linear((2 + len(widths)) * filters, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, size)
        )
        self.word_dropout = word_dropout
        self.open = not attention
        if self.open:
            for gates in (self.attention.local.convolve, self.attention.whole.convolve):
                assert gates.bias is not None, "gates have a bias"
                nn.init.zeros_(gates.weight)
                nn.init.constant_(gates.bias, 30.0)  # σ(30) is one in single precision
                gates.requires_grad_(requires_grad=False)

    def forward(self, document: Tensor, mask: Tensor) -> tuple[Tensor, DualResult]:
        """From words (..., T) to a point (..., size), and what was attended to."""
        if self.training and self.word_dropout:
            mask = mask & (torch.rand(mask.shape, device=mask.device) >= self.word_dropout)
        found: DualResult = self.attention(self.embedding(document), mask=mask)
        point: Tensor = self.between(found.context)
        return point, found


class DAttn(System):
    """Rates an item for a user from all that the user wrote and all that was written about the item.

        rating = user point · item point + user bias + item bias + mean

    where either point comes of local and global attention over a document, convolutions, and two layers (``Reader``),
    and the biases are read off the documents too, so that a new user needs no more than words.

    Parameters
    ----------
    words : int
        Number 0 stands for no word.
    length : int
        The longest document: the size of the global filter.
    mean : float
        What a rating is before anything is known.
    dim, window, filters, widths, hidden, size
        See ``Reader``; the paper has dim 100, filters 200 and 100, hidden 500 and size 50.
    dropout, word_dropout : float
        The share of numbers left out between the two layers, and of words left out of documents, in training.
    attention : bool
        False is the same network with both gates open.

    Examples
    --------
    >>> model = DAttn(30, 12, filters=4)
    >>> model(torch.ones(2, 12, dtype=torch.long), torch.ones(2, 7, dtype=torch.long)).ratings.shape
    torch.Size([2])
    """

    def __init__(
        self,
        words: int,
        length: int,
        *,
        mean: float = 3.0,
        dim: int = 24,
        window: int = 3,
        filters: int = 24,
        widths: Sequence[int] = (2, 3, 4),
        hidden: int = 48,
        size: int = 16,
        dropout: float = 0.2,
        word_dropout: float = 0.2,
        attention: bool = True,
    ) -> None:
        super().__init__(
            words=words,
            length=length,
            mean=mean,
            dim=dim,
            window=window,
            filters=filters,
            widths=list(widths),
            hidden=hidden,
            size=size,
            dropout=dropout,
            word_dropout=word_dropout,
            attention=attention,
        )
        for name, value in (("words", words), ("length", length), ("filters", filters), ("size", size)):
            if value < 1:
                raise SettingError(f"`{name}` must be at least 1; got {value}.")
        for name, share in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0 <= share < 1:
                raise SettingError(f"`{name}` must be at least 0 and below 1; got {share}.")
        self.mean, self.length = mean, length
        self.users, self.items = (
            Reader(
                words,
                dim,
                length,
                window=window,
                filters=filters,
                widths=widths,
                hidden=hidden,
                size=size + 1,
                dropout=dropout,
                word_dropout=word_dropout,
                attention=attention,
            )
            for _ in range(2)
        )

    def forward(self, user: Tensor, item: Tensor) -> Rated:
        """Rate.

        Parameters
        ----------
        user, item : int (..., T)
            The words of each document; 0 where there is none. Longer ones than ``length`` are refused.
        """
        left, right, read, seen = self._points(user, item)
        return Rated(self._rate(left, right), read, seen)

    def pairs(self, users: Tensor, items: Tensor, who: NDArray[np.int64], what: NDArray[np.int64]) -> Rated:
        """Rate many items for many users, and read each document once.

        Parameters
        ----------
        users, items : int (users, T), (items, T)
            Their documents.
        who, what : (ratings,)
            The rows of the user and of the item of each rating.
        """
        left, right, read, seen = self._points(users, items)
        return Rated(self._rate(left[torch.from_numpy(who)], right[torch.from_numpy(what)]), read, seen)

    def _points(self, user: Tensor, item: Tensor) -> tuple[Tensor, Tensor, DualResult, DualResult]:
        for name, ids in (("user", user), ("item", item)):
            if ids.dtype not in (torch.int64, torch.int32):
                raise SettingError(f"`{name}` must hold the numbers of words, as int64; got {ids.dtype}.")
        left, read = self.users(user, user != 0)
        right, seen = self.items(item, item != 0)
        return left, right, read, seen

    def _rate(self, left: Tensor, right: Tensor) -> Tensor:
        together: Tensor = (left[..., 1:] * right[..., 1:]).sum(-1)
        return self.mean + together + left[..., 0] + right[..., 0]

    def gates(self, ratings: Rated) -> Tensor:
        """The mean of all local gates, for a penalty that keeps them shut unless a word is worth it."""
        both = [each.weights for each in (ratings.user, ratings.item) if each.weights is not None]
        return torch.stack([gate.mean() for gate in both]).mean()
