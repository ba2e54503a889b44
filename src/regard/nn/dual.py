"""Seo et al. 2017: Interpretable Convolutional Neural Networks with Dual Local and Global Attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.combine import gated
from regard.nn.masks import silence, source_mask
from regard.nn.result import AttentionResult, register_result
from regard.nn.weigh import gate


class LocalGate(nn.Module):
    """A word's gate from the words around it.

        s[i] = σ(W · (x[i - (w-1)/2], ..., x[i + (w-1)/2]) + b),   x'[i] = s[i] x[i]

    Parameters
    ----------
    dim : int
    window : int
        w, odd.
    """

    def __init__(self, dim: int, window: int = 5) -> None:
        super().__init__()
        if window % 2 == 0:
            raise SettingError(f"`window` must be odd, so that it has a middle; got {window}.")
        self.convolve = nn.Conv1d(dim, 1, window, padding=window // 2)

    def forward(self, key: Tensor, *, mask: Tensor | None = None, need_weights: bool = True) -> AttentionResult:
        """From words (..., S, dim) to gated words (..., S, dim) and gates (..., S); the mask is (..., S)."""
        key, mask = _silent(key, mask)
        return _gated(_convolve(self.convolve, key)[..., 0], key, mask, need_weights)


class GlobalGate(nn.Module):
    """A gate from the whole document.

        s = σ(Σᵢ W[i] · x[i] + b)  for the document,   or per word
        s[i] = σ(Σⱼ W[j - i] · x[j] + b)

    Parameters
    ----------
    dim : int
    length : int
        The longest document.
    per_word : bool
        Whether each word gets a gate of its own, from a filter centred on it.
    """

    def __init__(self, dim: int, length: int, *, per_word: bool = False) -> None:
        super().__init__()
        self.length, self.per_word = length, per_word
        self.convolve = nn.Conv1d(dim, 1, 2 * length - 1 if per_word else length, padding=length - 1 if per_word else 0)

    def forward(self, key: Tensor, *, mask: Tensor | None = None, need_weights: bool = True) -> AttentionResult:
        """From words (..., S, dim) to gated words (..., S, dim) and gates (..., S); the mask is (..., S)."""
        key, mask = _silent(key, mask)
        if key.shape[-2] > self.length:
            raise SettingError(
                f"`length` must cover the longest document; got {self.length} for one of {key.shape[-2]}."
            )
        if self.per_word:
            scores = _convolve(self.convolve, key)[..., 0]
        else:
            whole = F.pad(key, (0, 0, 0, self.length - key.shape[-2]))
            scores = _convolve(self.convolve, whole)[..., 0].expand(key.shape[:-1])
        return _gated(scores, key, mask, need_weights)


@register_result
@dataclass(frozen=True)
class DualResult:
    """What came of both gates.

    Attributes
    ----------
    context : (..., features)
        The document: the highest answer of each filter, those of the local gate first.
    weights : (..., S), optional
        The local gates, one for each word.
    local, whole : AttentionResult
        What each gate let through.
    """

    context: Tensor
    weights: Tensor | None
    local: AttentionResult
    whole: AttentionResult


class DualAttention(nn.Module):
    """Two gates on the words, then convolutions that look for the words let through.

        local:   s[i] = σ(window[i] * W + b),    x'[i] = s[i] x[i],   filters of width 1
        global:  s = σ(document * W + b),        x'[i] = s x[i],      filters of several widths
        feature = max over i of tanh(filter * x'[i:])

    Parameters
    ----------
    dim : int
        Size of the words.
    length : int
        The longest document: the size of the global filter.
    window : int
        Of the local gate, odd.
    local_filters, filters : int
        How many filters after the local gate, and of each width after the global one.
    widths : tuple of int
        Widths of the filters after the global gate.
    per_word : bool
        Whether the global gate is one per word instead of one per document.
    """

    def __init__(
        self,
        dim: int,
        length: int,
        *,
        window: int = 5,
        local_filters: int = 200,
        filters: int = 100,
        widths: tuple[int, ...] = (2, 3, 4),
        per_word: bool = False,
    ) -> None:
        super().__init__()
        self.local = LocalGate(dim, window)
        self.whole = GlobalGate(dim, length, per_word=per_word)
        self.words = nn.Conv1d(dim, local_filters, 1)
        self.phrases = nn.ModuleList(nn.Conv1d(dim, filters, width) for width in widths)

    def forward(self, key: Tensor, *, mask: Tensor | None = None, need_weights: bool = True) -> DualResult:
        """From words (..., S, dim) to features of the document; the mask is (..., S)."""
        local = self.local(key, mask=mask, need_weights=need_weights)
        whole = self.whole(key, mask=mask, need_weights=need_weights)
        features = [_highest(self.words, local.context, mask)]
        features += [_highest(convolve, whole.context, mask) for convolve in self.phrases]
        return DualResult(torch.cat(features, -1), local.weights, local, whole)


def _silent(key: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    mask = source_mask(mask, key.shape[-2], key.device)
    return silence(mask if mask is None else mask[..., None, :], key), mask


def _convolve(convolve: nn.Module, x: Tensor) -> Tensor:
    """A convolution over (..., S, dim) as one over (batch, dim, S)."""
    assert isinstance(convolve, nn.Conv1d)
    if not x.shape[-2]:
        return x.new_zeros(*x.shape[:-1], convolve.out_channels)
    out: Tensor = convolve(x.reshape(-1, *x.shape[-2:]).mT)
    return out.mT.reshape(*x.shape[:-2], out.shape[-1], out.shape[-2])


def _gated(scores: Tensor, key: Tensor, mask: Tensor | None, need_weights: bool) -> AttentionResult:
    weights = gate(scores, mask)
    context = gated(weights, key)
    return AttentionResult(context, weights, scores) if need_weights else AttentionResult(context)


def _highest(convolve: nn.Module, x: Tensor, mask: Tensor | None) -> Tensor:
    """The highest answer of each filter at any word, zeros beyond the end; zero where there are no words."""
    assert isinstance(convolve, nn.Conv1d)
    if not x.shape[-2]:
        return x.new_zeros(*x.shape[:-2], convolve.out_channels)
    answers = torch.tanh(_convolve(convolve, F.pad(x, (0, 0, 0, convolve.kernel_size[0] - 1))))
    if mask is None:
        return answers.amax(-2)
    mask = mask.expand(x.shape[:-1])
    answers = answers.masked_fill(~mask[..., None], -2.0)  # below every tanh
    return torch.where(mask.any(-1, keepdim=True), answers.amax(-2), 0)
