"""From scores to weights.

Every function here takes scores (..., T, S) and a boolean mask broadcast to them (True = may attend),
works row by row, and keeps three promises: a masked slot gets exactly zero; a row with nothing to attend
to is zero throughout and so are its gradients; nothing is ever NaN. Half precision is weighed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError, nearest
from regard.nn.simplex import project

Weigh: TypeAlias = Callable[[Tensor, Tensor | None], Tensor]


def softmax(scores: Tensor, mask: Tensor | None = None, *, temperature: float = 1.0) -> Tensor:
    """Weights that sum to one, all of them positive.

    w[s] = exp(x[s] / τ) / Σⱼ exp(x[j] / τ)
    """
    scores = scores if temperature == 1.0 else scores / temperature
    dtype = torch.float32 if scores.dtype in (torch.float16, torch.bfloat16) else scores.dtype
    weights = torch.softmax(_lowest(scores, mask), -1, dtype=dtype)
    return _zero(weights, mask)


def log_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """The logarithm of ``softmax``, for a loss on the weights; the lowest float where the mask forbids."""
    return _lowest(torch.log_softmax(_lowest(scores, mask), -1), mask)


def hardmax(scores: Tensor, mask: Tensor | None = None, *, tolerance: float = 0.0) -> Tensor:
    """All attention on the highest score; ties share it.

        w[s] = 1 / |C|  for s in C = {s: x[s] >= max x - tolerance · max(1, |max x|)},  otherwise 0

    Constant in the scores almost everywhere, so they get no gradient; the values get theirs.
    """
    scores = _lowest(scores.detach(), mask)
    if not scores.shape[-1]:
        return scores
    best = scores.amax(-1, keepdim=True)
    return _share(scores >= best - tolerance * best.abs().clamp_min(1), mask, scores.dtype)


def top_k(scores: Tensor, mask: Tensor | None = None, *, k: int) -> Tensor:
    """Equal attention to the k highest scores: the k nearest neighbours.

        w[s] = 1 / |C|  for s in C = {s: x[s] >= the k-th highest x},  otherwise 0

    Scores that tie with the k-th come in with it, so that the order of the sources does not matter. Where
    fewer than k may be attended to, they share. No gradient for the scores.
    """
    if k < 1:
        raise SettingError(f"`k` must be at least 1; got {k}.")
    scores = _lowest(scores.detach(), mask)
    if not scores.shape[-1]:
        return scores
    last = scores.topk(min(k, scores.shape[-1]), -1).values[..., -1:]
    return _share(scores >= last, mask, scores.dtype)


def sparsemax(scores: Tensor, mask: Tensor | None = None, *, temperature: float = 1.0) -> Tensor:
    """The distribution nearest to the scores; many weights are exactly zero (Martins and Astudillo 2016).

    w[s] = max(x[s] / τ - θ, 0),   θ such that Σ w = 1
    """
    return _project(scores, mask, temperature, power=1)


def entmax15(scores: Tensor, mask: Tensor | None = None, *, temperature: float = 1.0) -> Tensor:
    """Half way between softmax and sparsemax (Peters, Niculae and Martins 2019, α = 1.5).

    w[s] = max(x[s] / 2τ - θ, 0)²,   θ such that Σ w = 1
    """
    return _project(scores, mask, temperature, power=2)


def _project(scores: Tensor, mask: Tensor | None, temperature: float, *, power: int) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores = scores if temperature == 1.0 else scores / temperature
    return _zero(project(_lowest(scores, mask), power=power), mask)


def smooth(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sigmoids that share: flatter than softmax (Chorowski 2015, "smoothing").

    w[s] = σ(x[s]) / Σⱼ σ(x[j])  =  softmax(log σ(x))[s]
    """
    return softmax(F.logsigmoid(_full(scores, mask, 0.0)), mask)


def gate(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Each slot for itself; a row need not sum to one.

    w[s] = σ(x[s])
    """
    return _zero(torch.sigmoid(_full(scores, mask, 0.0)), mask)


def ratio(scores: Tensor, mask: Tensor | None = None, *, of: Callable[[Tensor], Tensor] = torch.exp) -> Tensor:
    """Shares of any non-negative function of the score.

        w[s] = F(x[s]) / Σⱼ F(x[j])

    Zero throughout where every F is zero, or so small that dividing by it would overflow. ``exp`` is the
    only increasing F whose weights do not move when all scores rise together, and so is computed as
    ``softmax``, which never overflows; another F counts as the largest float where it does.
    """
    if of is torch.exp:
        return softmax(scores, mask)
    scores = _full(scores, mask, 1.0)
    over = of(scores.detach()).isinf()
    most = torch.finfo(scores.dtype).max / max(1, scores.shape[-1])
    return _shares(_zero(of(scores.masked_fill(over, 1.0)).masked_fill(over, most), mask))


def literal(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """The scores themselves as shares (Ji 2017, as printed); they may be negative.

        w[s] = x[s] / Σⱼ x[j]

    Zero throughout where the scores cancel, to half of the digits that they have: |Σ x| <= √eps Σ |x|.
    """
    scores = _zero(scores, mask)
    total, size = scores.sum(-1, keepdim=True), scores.abs().sum(-1, keepdim=True)
    cancelled = total.abs() <= torch.finfo(scores.dtype).eps ** 0.5 * size
    return torch.where(cancelled, 0, scores / torch.where(cancelled, 1, total))


def gaussian(weights: Tensor, positions: Tensor, centre: Tensor, sigma: float) -> Tensor:
    """Favour positions near a centre, without renormalising (Luong 2015, equation 10).

    w'[s] = w[s] exp(-(s - p)² / 2σ²)
    """
    return weights * torch.exp(-(positions - centre).square() / (2 * sigma * sigma)).to(weights.dtype)


def windowed(
    scores: Tensor,
    mask: Tensor | None = None,
    *,
    centre: Tensor,
    reach: float,
    sigma: float | None = None,
    weigh: Weigh = softmax,
) -> Tensor:
    """Weights within reach of a position; with a deviation, favouring those near to it (Luong 2015, local).

        w[s] = weigh(x)[s] over s in [p - D, p + D],   times exp(-(s - p)² / 2σ²) where there is a σ

    Of use with any score: ``attend(q, k, weigh=partial(windowed, centre=p, reach=D))``.
    ``LuongLocalAttention`` computes the same without the scores outside.

    Parameters
    ----------
    centre : (..., T)
        p for each query.
    reach : float
        D.
    sigma : float, optional
    weigh : callable
    """
    at = torch.arange(scores.shape[-1], device=scores.device)
    near = (at - centre[..., None]).abs() <= reach
    weights = weigh(scores, near if mask is None else mask & near)
    return weights if sigma is None else gaussian(weights, at, centre[..., None], sigma)


def resolve(weigh: str | Weigh, **options: Any) -> Weigh:
    """A weighing by its name, or the function itself."""
    if callable(weigh):
        return partial(weigh, **options) if options else weigh
    if weigh not in WEIGHINGS:
        raise SettingError(
            f"Unknown weighing {weigh!r}.{nearest(weigh, WEIGHINGS)} Known: {', '.join(sorted(WEIGHINGS))}."
        )
    return partial(WEIGHINGS[weigh], **options) if options else WEIGHINGS[weigh]


def softmax_temperature(weigh: Weigh) -> float | None:
    """The temperature where a weighing is softmax, otherwise None: what a fused kernel needs to know."""
    if weigh is softmax:
        return 1.0
    if isinstance(weigh, partial) and weigh.func is softmax and not weigh.args:
        return float(weigh.keywords.get("temperature", 1.0))
    return None


def _lowest(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Masked scores at the lowest float: finite, so that an empty row makes no NaN on its way to zero."""
    return scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def _full(scores: Tensor, mask: Tensor | None, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _zero(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def _share(chosen: Tensor, mask: Tensor | None, dtype: torch.dtype) -> Tensor:
    chosen = chosen if mask is None else chosen & mask
    return _shares(chosen.to(dtype))


def _shares(amounts: Tensor) -> Tensor:
    total, limits = amounts.sum(-1, keepdim=True), torch.finfo(amounts.dtype)
    nothing = total <= limits.tiny / limits.eps
    return torch.where(nothing, 0, amounts / torch.where(nothing, 1, total))


WEIGHINGS: dict[str, Callable[..., Tensor]] = {
    "softmax": softmax,
    "hardmax": hardmax,
    "top_k": top_k,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "smooth": smooth,
    "gate": gate,
    "ratio": ratio,
    "literal": literal,
}
