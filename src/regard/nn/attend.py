"""The core: score, weigh, combine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.combine import average
from regard.nn.fused import scaled_dot_product
from regard.nn.masks import Causal, join, silence_all
from regard.nn.result import AttentionResult
from regard.nn.score import Custom, DotFamily, Kernel, Score
from regard.nn.score import resolve as resolve_score
from regard.nn.shapes import broadcast
from regard.nn.weigh import Weigh, softmax_temperature
from regard.nn.weigh import resolve as resolve_weigh


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    score: str | Score | Callable[[Tensor, Tensor], Tensor] = "scaled_dot",
    weigh: str | Weigh = "softmax",
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: Causal = False,
    dropout: float = 0.0,
    need_weights: bool = True,
    block: int | None = None,
) -> AttentionResult:
    """Attend: how well each key matches, how much each gets, what they say together.

        x[t, s] = score(q[t], k[s]) + bias[t, s]
        w[t, :] = weigh(x[t, :])  over the s that the mask allows
        c[t]    = Σₛ w[t, s] v[s]

    Parameters
    ----------
    query : (..., T, Q)
    key : (..., S, K)
    value : (..., S, D), optional
        The keys, if not given.
    score : str, Score or callable
        "scaled_dot", "dot", "cosine", "squared_distance", "distance", one with parameters from
        ``regard.nn.score``, or a function of query and key, which masks what it sets to -inf.
    weigh : str or callable
        "softmax", "hardmax", "sparsemax", ..., or a function of scores and mask.
    mask : bool, broadcast to (..., T, S), optional
        True = may attend.
    bias : broadcast to (..., T, S), optional
        Added to the scores; a slot with -inf is masked.
    causal : bool, "top-left" or "bottom-right"
        Forbid looking ahead; True needs T = S.
    dropout : float
        The share of weights to drop, for training.
    need_weights : bool
        Without weights, dot products under softmax run in a fused kernel that keeps no tensor of shape (T,
        S). Context and gradients are the same either way.
    block : int, optional
        Work on so many queries at a time, to bound the memory.

    Returns
    -------
    AttentionResult
        A row with nothing to attend to has weights 0, context 0 and gradient 0.

    Examples
    --------
    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> attend(query, key, score="dot", weigh="hardmax").weights
    tensor([[1., 0.]])
    """
    score, weigh = resolve_score(score), resolve_weigh(weigh)
    value = key if value is None else value
    mask = join(mask, causal, query.shape[-2], key.shape[-2], query.device)
    mask = allowed(mask, bias)
    query, key, value = silence_all(mask, query, key, value)
    return compare_and_read(
        score.queries(query),
        score.keys(key),
        value,
        score=score,
        weigh=weigh,
        mask=mask,
        bias=bias,
        dropout=dropout,
        need_weights=need_weights,
        block=block,
    )


def allowed(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """The mask, less the slots that a bias of -inf forbids."""
    if bias is None:
        return mask
    if not bias.is_floating_point():
        raise SettingError(
            f"`bias` is added to the scores and must be floating; got {bias.dtype}. Masks go to `mask=`."
        )
    open_: Tensor = torch.atleast_2d(bias > -torch.inf)  # type: ignore[no-untyped-call]
    return open_ if mask is None else mask & open_


def compare_and_read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Score,
    weigh: Weigh,
    mask: Tensor | None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    need_weights: bool = True,
    block: int | None = None,
) -> AttentionResult:
    """``attend`` after ``score.queries`` and ``score.keys``, with all masks in one."""
    temperature = softmax_temperature(weigh)
    if not need_weights and not dropout and temperature is not None and isinstance(score, DotFamily):
        return AttentionResult(fused(score, query, key, value, mask=mask, bias=bias, temperature=temperature))
    if block is not None and query.shape[-2] > block:
        work = partial(
            compare_and_read,
            key=key,
            value=value,
            score=score,
            weigh=weigh,
            dropout=dropout,
            need_weights=need_weights,
        )
        return _in_blocks(query, mask, bias, block, work)

    scores = score.compare(query, key)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if isinstance(score, Custom | Kernel):  # what a function of the user's sets to -inf is masked
        mask = allowed(mask, scores)
    weights = weigh(scores, mask).to(value.dtype)
    kept = F.dropout(weights, dropout) if dropout else weights
    context = average(kept, value)
    return AttentionResult(context, weights, scores) if need_weights else AttentionResult(context)


def fused(
    score: DotFamily,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    bias: Tensor | None = None,
    temperature: float = 1.0,
) -> Tensor:
    """The context of a dot product under softmax, by PyTorch's fused kernel."""
    dtype = value.dtype
    query, key, scale, _ = score.factors(query, key)
    wide = torch.promote_types(query.dtype, key.dtype)  # under autocast they may differ
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    if bias is not None:
        mask = torch.where(bias > -torch.inf if mask is None else mask, bias.to(query.dtype), -torch.inf)

    lead = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    lead = lead if mask is None else broadcast(lead, mask.shape[:-2])
    query, key, value = (_four_axes(x, lead) for x in (query, key, value))
    mask = mask if mask is None else _four_axes(mask, lead)
    context = scaled_dot_product(query, key, value, mask, scale / temperature)
    return context.reshape(*lead, *context.shape[-2:]).to(dtype)


def _four_axes(x: Tensor, lead: torch.Size) -> Tensor:
    """From (..., T, D) to (batch, heads, T, D), the one shape that the fused kernel takes on every device."""
    x = x.expand(*lead, *x.shape[-2:])
    if len(lead) == 2:
        return x
    return x.reshape(math.prod(lead), 1, *x.shape[-2:]) if len(lead) < 2 else x.flatten(0, -4)


def _in_blocks(
    query: Tensor, mask: Tensor | None, bias: Tensor | None, block: int, work: Callable[..., AttentionResult]
) -> AttentionResult:
    """Some queries at a time: every weighing works row by row."""

    def rows(x: Tensor | None, start: int) -> Tensor | None:
        return x if x is None or x.ndim < 2 or x.shape[-2] == 1 else x[..., start : start + block, :]

    parts = [
        work(query[..., start : start + block, :], mask=rows(mask, start), bias=rows(bias, start))
        for start in range(0, query.shape[-2], block)
    ]
    context = torch.cat([part.context for part in parts], -2)
    if parts[0].weights is None or parts[0].scores is None:
        return AttentionResult(context)
    weights = torch.cat([part.weights for part in parts if part.weights is not None], -2)
    scores = torch.cat([part.scores for part in parts if part.scores is not None], -2)
    return AttentionResult(context, weights, scores)
