"""Sukhbaatar et al. 2015: End-To-End Memory Networks; Weston, Chopra and Bordes 2015: Memory Networks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.masks import check_mask
from regard.nn.memory import MemoryAttention
from regard.nn.weigh import softmax
from regard.systems.saving import System
from regard.systems.without import flat


@dataclass(frozen=True)
class Answered:
    """What a memory network says of stories.

    Attributes
    ----------
    scores : (..., words)
        Of each word as the answer.
    weights : (hops, ..., S)
        How much each hop attends to each sentence.
    """

    scores: Tensor
    weights: Tensor


class MemoryNetwork(System):
    """A question goes through the sentences of a story, hop after hop.

        k[i] = Σⱼ l[j] ∘ A x[i, j] + T(age of i),   v[i] = Σⱼ l[j] ∘ C x[i, j] + T'(age of i)
        u = Σⱼ l[j] ∘ A q[j];   per hop:  a = softmax(u · k),   u ← H u + Σᵢ a[i] v[i]
        answer = argmax W u

    with the position encoding ``l`` of the paper, and its layer-wise weights: the hops share A, C and H, and what
    differs is the question that each finds.

    Parameters
    ----------
    words : int
        Number 0 stands for no word.
    dim : int
        Of the embeddings.
    hops : int
    memories : int
        The longest story; older sentences than that share the age of the oldest.
    attention : bool
        False weighs all sentences alike: the same network without attention.

    Examples
    --------
    >>> network = MemoryNetwork(20, 8, hops=2, memories=10)
    >>> network(torch.ones(4, 7, 5, dtype=torch.long), torch.ones(4, 3, dtype=torch.long)).weights.shape
    torch.Size([2, 4, 7])
    """

    def __init__(self, words: int, dim: int = 48, *, hops: int = 3, memories: int = 20, attention: bool = True) -> None:
        super().__init__(words=words, dim=dim, hops=hops, memories=memories, attention=attention)
        for name, size in (("words", words), ("dim", dim), ("memories", memories)):
            if size < 1:
                raise SettingError(f"`{name}` must be at least 1; got {size}.")
        self.words, self.memories = words, memories
        self.key = nn.Embedding(words, dim, padding_idx=0)
        self.value = nn.Embedding(words, dim, padding_idx=0)
        self.key_age = nn.Embedding(memories, dim)
        self.value_age = nn.Embedding(memories, dim)
        self.attention = MemoryAttention(hops=hops, map=nn.Linear(dim, dim, bias=False))
        self.weigh(linear=False)
        self.answer = nn.Linear(dim, words, bias=False)
        for table in (self.key, self.value, self.key_age, self.value_age):
            nn.init.normal_(table.weight, std=0.1)
            if table.padding_idx is not None:
                nn.init.zeros_(table.weight[0:1])

    def weigh(self, *, linear: bool) -> None:
        """Take scores for weights as they are, or go back to softmax: the paper's linear start, which keeps the first
        steps of a training out of poor minima.
        """
        attention = _linear if linear else softmax
        self.attention.weigh = attention if self.settings["attention"] else flat

    def forward(self, sentences: Tensor, question: Tensor, *, mask: Tensor | None = None) -> Answered:
        """Read stories and answer.

        Parameters
        ----------
        sentences : int (..., S, W)
            The oldest first; 0 where there is no word.
        question : int (..., W')
        mask : bool (..., S), optional
            True = a sentence of the story; if not given, those with a word.
        """
        for name, ids in (("sentences", sentences), ("question", question)):
            if ids.dtype not in (torch.int64, torch.int32):
                raise SettingError(f"`{name}` must hold the numbers of words, as int64; got {ids.dtype}.")
        mask = check_mask(mask)
        there = (sentences != 0).any(-1) if mask is None else mask.expand(sentences.shape[:-1])
        age = (there.flip(-1).cumsum(-1).flip(-1) - 1).clamp(0, self.memories - 1)
        key = positioned(self.key(sentences), sentences != 0) + self.key_age(age)
        value = positioned(self.value(sentences), sentences != 0) + self.value_age(age)
        asked = positioned(self.key(question), question != 0)[..., None, :]
        found = self.attention(asked, key, value, mask=there[..., None, :], trace=True)
        assert found.weights is not None, "weights come unless told otherwise"
        return Answered(self.answer(found.state[..., 0, :]), found.weights[..., 0, :])


def _linear(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else torch.where(mask, scores, 0)


def positioned(words: Tensor, there: Tensor) -> Tensor:
    """The sum of a sentence's words, each weighted by its place, so that order is not lost.

        l[j, k] = (1 − j/J) − (k/d)(1 − 2j/J),   j = 1..J words, k = 1..d

    Parameters
    ----------
    words : (..., W, d)
    there : bool (..., W)
        Words come first, then what fills up.

    Returns
    -------
    (..., d)
    """
    size, dim = words.shape[-2:]
    length = there.sum(-1, keepdim=True).clamp_min(1).to(words.dtype)[..., None]
    j = torch.arange(1, size + 1, dtype=words.dtype, device=words.device)[:, None] / length
    k = torch.arange(1, dim + 1, dtype=words.dtype, device=words.device) / dim
    weight = (1 - j) - k * (1 - 2 * j)
    return (words * torch.where(there[..., None], weight, 0)).sum(-2)
