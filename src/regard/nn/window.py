"""Attention in a window around each query's position: cost grows with the window, not with the source.

Three operations, each other's gradients: score the keys of the window, read its values, spread to its
sources.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.nn.kernels import window_read_rows, window_score_rows, window_spread_rows
from regard.nn.shapes import array, broadcast, by_rows, fold_vmap, one_axis, shards
from regard.tokens.threads import in_threads


def window_scores(query: Tensor, key: Tensor, start: Tensor, width: int) -> Tensor:
    """x[t, o] = q[t] · k[start[t] + o], zero beyond the ends of the source.

    Parameters
    ----------
    query : (..., T, D)
    key : (..., S, D)
    start : (..., T)
        Where each window starts; integers, possibly outside the source.
    width : int

    Returns
    -------
    scores : (..., T, width)
    """
    lead = broadcast(query.shape[:-2], key.shape[:-2], start.shape[:-1])
    args = one_axis(lead, query), one_axis(lead, key), one_axis(lead, start, 1), width
    scores: Tensor = _Score.apply(*args)  # type: ignore[no-untyped-call]
    return scores.reshape(*lead, *scores.shape[-2:])


def window_read(weights: Tensor, value: Tensor, start: Tensor) -> Tensor:
    """c[t] = Σₒ w[t, o] v[start[t] + o].

    Parameters
    ----------
    weights : (..., T, width)
    value : (..., S, D)
    start : (..., T)

    Returns
    -------
    context : (..., T, D)
    """
    lead = broadcast(weights.shape[:-2], value.shape[:-2], start.shape[:-1])
    args = one_axis(lead, weights), one_axis(lead, value), one_axis(lead, start, 1)
    context: Tensor = _Read.apply(*args)  # type: ignore[no-untyped-call]
    return context.reshape(*lead, *context.shape[-2:])


def window_dense(weights: Tensor, start: Tensor, size: int) -> Tensor:
    """The weights of windows (..., T, width) as rows over the whole source, (..., T, size)."""
    at, there = positions(start, weights.shape[-1], size)
    out = weights.new_zeros(*weights.shape[:-1], size)
    if not size:
        return out
    at, there = at.expand(weights.shape), there.expand(weights.shape)
    return out.scatter_add(-1, at, torch.where(there, weights, 0))


def positions(start: Tensor, width: int, size: int) -> tuple[Tensor, Tensor]:
    """The source positions of windows, clamped, and which of them are inside the source: (..., T, width)."""
    at = start[..., None] + torch.arange(width, device=start.device)
    return at.clamp(0, max(size - 1, 0)), (at >= 0) & (at < size)


def gathered(source: Tensor, start: Tensor, width: int) -> Tensor:
    """The windows themselves, (..., T, width, D); zeros beyond the ends of the source (..., S, D)."""
    at, there = positions(start, width, source.shape[-2])
    lead = broadcast(source.shape[:-2], start.shape[:-1])
    source = source.expand(*lead, *source.shape[-2:])
    if not source.shape[-2]:
        return source.new_zeros(*lead, *at.shape[-2:], source.shape[-1])
    at, there = at.expand(*lead, *at.shape[-2:]), there.expand(*lead, *there.shape[-2:])
    flat = source.gather(-2, at.flatten(-2)[..., None].expand(*lead, -1, source.shape[-1]))
    return torch.where(there[..., None], flat.reshape(*lead, *at.shape[-2:], -1), 0)


@torch.library.custom_op("regard::window_score", mutates_args=())
def _score(query: Tensor, key: Tensor, start: Tensor, width: int) -> Tensor:
    if not _has_kernel(query):
        return (gathered(key, start, width) @ query[..., None])[..., 0]
    q, k, at = array(query), array(key), array(start)
    out = np.empty((*q.shape[:2], width), q.dtype)
    by_rows(lambda i, j: window_score_rows(q, k, at, i, j, out), at.size, out.size * q.shape[2])
    return torch.from_numpy(out)


@torch.library.custom_op("regard::window_read", mutates_args=())
def _read(weights: Tensor, value: Tensor, start: Tensor) -> Tensor:
    if not _has_kernel(weights):
        return (weights[..., None, :] @ gathered(value, start, weights.shape[-1]))[..., 0, :]
    w, v, at = array(weights), array(value), array(start)
    out = np.empty((*w.shape[:2], v.shape[2]), w.dtype)
    by_rows(lambda i, j: window_read_rows(w, v, at, i, j, out), at.size, w.size * v.shape[2])
    return torch.from_numpy(out)


@torch.library.custom_op("regard::window_spread", mutates_args=())
def _spread(weights: Tensor, given: Tensor, start: Tensor, size: int) -> Tensor:
    if not _has_kernel(weights):
        at, there = positions(start, weights.shape[-1], size)
        parts = torch.where(there, weights, 0)[..., None] * given[..., None, :]
        out = given.new_zeros(given.shape[0], size, given.shape[2])
        index = at.flatten(-2)[..., None].expand(-1, -1, given.shape[2])
        return out.scatter_add_(1, index, parts.flatten(1, 2))
    w, g, at_ = array(weights), array(given), array(start)
    out_ = np.zeros((len(w), size, g.shape[2]), w.dtype)
    # Windows overlap, so threads share out batches and columns, not queries.
    columns = shards(g.shape[2], -(-torch.get_num_threads() // max(1, len(w))) if w.size > 1 << 12 else 1)
    shares = [(batch, *share) for batch in range(len(w)) for share in columns]
    threads = min(torch.get_num_threads(), len(shares)) if w.size > 1 << 12 else 1
    in_threads(lambda share: window_spread_rows(w, g, at_, *share, out_), shares, threads)
    return torch.from_numpy(out_)


def _has_kernel(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)


@_score.register_fake
def _(query: Tensor, key: Tensor, start: Tensor, width: int) -> Tensor:
    return query.new_empty(query.shape[0], query.shape[1], width)


@_read.register_fake
def _(weights: Tensor, value: Tensor, start: Tensor) -> Tensor:
    return weights.new_empty(weights.shape[0], weights.shape[1], value.shape[2])


@_spread.register_fake
def _(weights: Tensor, given: Tensor, start: Tensor, size: int) -> Tensor:
    return given.new_empty(given.shape[0], size, given.shape[2])


class _Score(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, start: Tensor, width: int) -> Any:
        return _score(query, key, start, width)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        query, key, start = ctx.saved_tensors
        d_key = _Spread.apply(grad, query, start, key.shape[1])  # type: ignore[no-untyped-call]
        return _Read.apply(grad, key, start), d_key, None, None  # type: ignore[no-untyped-call]


class _Read(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(weights: Tensor, value: Tensor, start: Tensor) -> Any:
        return _read(weights, value, start)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        weights, value, start = ctx.saved_tensors
        d_value = _Spread.apply(weights, grad, start, value.shape[1])  # type: ignore[no-untyped-call]
        return _Score.apply(grad, value, start, weights.shape[2]), d_value, None  # type: ignore[no-untyped-call]


class _Spread(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(weights: Tensor, given: Tensor, start: Tensor, size: int) -> Any:
        return _spread(weights, given, start, size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        weights, given, start = ctx.saved_tensors
        d_given = _Read.apply(weights, grad, start)  # type: ignore[no-untyped-call]
        return _Score.apply(given, grad, start, weights.shape[2]), d_given, None, None  # type: ignore[no-untyped-call]


def _vmap(op: Any) -> None:
    @op.register_vmap  # type: ignore[untyped-decorator]
    def _(info: Any, dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        out: Tensor = op(*fold_vmap(info.batch_size, dims, args))
        return out.reshape(info.batch_size, -1, *out.shape[1:]), 0


for _op in (_score, _read, _spread):
    _vmap(_op)
