"""The additive score without a tensor of shape (B, T, S, D).

    x[t, s] = Σd v[d] tanh(q[t, d] + k[s, d])

The plain formula keeps a number for every query, source and dimension. Here only q, k and v are kept and
the rest is computed again on the way back. Because tanh(q + k) = 1 - 2 / (1 + e^{2q} e^{2k}), the
exponentials are taken once per position, and what remains per number is a product, a sum and a division.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.kernels import additive_backward_rows, additive_rows
from regard.nn.score import Score
from regard.nn.shapes import array, broadcast, by_rows, fold_vmap, one_axis, shards
from regard.tokens.threads import in_threads

# Beyond these e^{2q} leaves the range of the type, and 0 · ∞ would be NaN.
LIMITS = {torch.float32: 40.0, torch.float64: 340.0}
CHUNK = 1 << 20  # numbers at a time on the way without exponentials


def additive_score(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """x[t, s] = Σd v[d] tanh(q[t, d] + k[s, d]).

    Parameters
    ----------
    query : (..., T, D)
    key : (..., S, D)
    v : (D,)

    Returns
    -------
    scores : (..., T, S)
        In float32 for half inputs.
    """
    half = query.dtype in (torch.float16, torch.bfloat16)
    dtype = torch.float32 if half else torch.promote_types(query.dtype, key.dtype)
    lead = broadcast(query.shape[:-2], key.shape[:-2])
    query, key, v = query.to(dtype), key.to(dtype), v.to(dtype)
    args = one_axis(lead, query), one_axis(lead, key), v
    scores: Tensor = _Additive.apply(*args)  # type: ignore[no-untyped-call]
    return scores.reshape(*lead, *scores.shape[-2:])


class Additive(Score):
    """score = v' tanh(W q + U k + b)  (Bahdanau 2014; Luong 2015 "concat", whose W is [W U]).

    Parameters
    ----------
    query_dim, key_dim : int
    hidden_dim : int, optional
        The size of v; ``query_dim``, if not given.
    bias : bool
        Whether there is a b.
    project : bool
        Whether there are W, U and b; without, v' tanh(q + k) of queries and keys of one size.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int | None = None,
        *,
        bias: bool = True,
        project: bool = True,
    ) -> None:
        super().__init__()
        hidden_dim = hidden_dim or query_dim
        if not project and not query_dim == key_dim == hidden_dim:
            raise SettingError(
                f"Without projections, queries, keys and v have one size; got {query_dim}, {key_dim} and {hidden_dim}."
            )
        self.query = nn.Linear(query_dim, hidden_dim, bias=bias) if project else nn.Identity()
        self.key = nn.Linear(key_dim, hidden_dim, bias=False) if project else nn.Identity()
        self.v = nn.Parameter(torch.empty(hidden_dim).uniform_(-1, 1) / hidden_dim**0.5)

    def queries(self, query: Tensor) -> Tensor:
        """W q + b."""
        projected: Tensor = self.query(query)
        return projected

    def keys(self, key: Tensor) -> Tensor:
        """U k."""
        projected: Tensor = self.key(key)
        return projected

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """The product of v and tanh(q + k)."""
        return additive_score(query, key, self.v)


@torch.library.custom_op("regard::additive_score", mutates_args=())
def _additive(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    if _factors(query, key):
        a, b, weights = array((2 * query).exp_()), array((2 * key).exp_()), array(v)
        out = np.empty((*a.shape[:2], b.shape[1]), a.dtype)
        by_rows(
            lambda i, j: additive_rows(a, b, weights, i, j, out),
            a.shape[0] * a.shape[1],
            out.size * v.numel(),
        )
        return torch.from_numpy(out)
    return torch.cat([torch.tanh(q[:, :, None] + key[:, None]) @ v for q in _chunks(query, key)], 1)


@torch.library.custom_op("regard::additive_score_backward", mutates_args=())
def _additive_backward(grad: Tensor, query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if _factors(query, key):
        return _factored_backward(grad, query, key, v)
    runs = zip(_chunks(grad, key), _chunks(query, key), strict=True)
    parts = [_plain_gradient(g, q, key, v) for g, q in runs]
    d_query, d_key, d_v = zip(*parts, strict=True)
    return torch.cat(d_query, 1), torch.stack(d_key).sum(0), torch.stack(d_v).sum(0)


def _factored_backward(grad: Tensor, query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a, b, g = array((2 * query).exp_()), array((2 * key).exp_()), array(grad)
    batches, steps, depth = a.shape
    d_a = np.zeros_like(a)

    def share(rows: tuple[int, int]) -> tuple[int, Any, Any]:
        first, stop = rows
        batch = first // steps
        d_b, d_v = np.zeros((-(-stop // steps) - batch, *b.shape[1:]), b.dtype), np.zeros(depth, b.dtype)
        additive_backward_rows(a, b, g, first, stop, d_a, d_b, d_v)
        return batch, d_b, d_v

    shares = shards(batches * steps, torch.get_num_threads() if g.size * depth > 1 << 16 else 1)
    parts = in_threads(share, shares, len(shares))
    if len(parts) == 1:
        d_b = parts[0][1]
    else:
        d_b = np.zeros_like(b)
        for batch, part, _ in parts:
            d_b[batch : batch + len(part)] += part
    d_v = grad.sum() - 2 * torch.from_numpy(sum(part for *_, part in parts))
    return torch.from_numpy(d_a).mul_(4 * v), torch.from_numpy(d_b).mul_(4 * v), d_v


def _factors(query: Tensor, key: Tensor) -> bool:
    """Whether e^{2q} and e^{2k} stay in range, on the device for which there is a kernel."""
    if query.device.type != "cpu" or not query.numel() or not key.numel():
        return False
    limit = LIMITS[query.dtype]
    return bool(query.abs().amax() <= limit) and bool(key.abs().amax() <= limit)


def _chunks(rows: Tensor, key: Tensor) -> tuple[Tensor, ...]:
    """Runs of queries small enough for a number per query, source and dimension."""
    return torch.split(rows, max(1, CHUNK // max(1, key.numel())), 1)


@_additive.register_fake
def _(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    return query.new_empty(query.shape[0], query.shape[1], key.shape[1])


@_additive_backward.register_fake
def _(grad: Tensor, query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), v.new_empty(v.shape)


class _Additive(torch.autograd.Function):
    """The gradient of the score, computed again from q, k and v."""

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, v: Tensor) -> Any:
        return _additive(query, key, v)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AdditiveBackward.apply(grad.contiguous(), *ctx.saved_tensors)  # type: ignore[no-untyped-call]


class _AdditiveBackward(torch.autograd.Function):
    """Its own gradient, for those who differentiate twice, is that of the plain formula."""

    generate_vmap_rule = True

    @staticmethod
    def forward(grad: Tensor, query: Tensor, key: Tensor, v: Tensor) -> Any:
        return _additive_backward(grad, query, key, v)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        pull = torch.func.vjp(_plain_gradient, *ctx.saved_tensors)[1]
        return pull(grads)


def _plain_gradient(grad: Tensor, query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    t, g = torch.tanh(query[:, :, None] + key[:, None]), grad[..., None]
    slope = g * (1 - t * t) * v
    return slope.sum(2), slope.sum(1), (g * t).sum((0, 1, 2))


@_additive.register_vmap
def _(info: Any, dims: tuple[int | None, ...], query: Tensor, key: Tensor, v: Tensor) -> tuple[Tensor, int]:
    if dims[2] is not None:
        each = [_pick(i, dims, (query, key, v)) for i in range(info.batch_size)]
        return torch.stack([_additive(*args) for args in each]), 0
    query, key = fold_vmap(info.batch_size, dims[:2], (query, key))
    return _additive(query, key, v).reshape(info.batch_size, -1, query.shape[1], key.shape[1]), 0


@_additive_backward.register_vmap
def _(info: Any, dims: tuple[int | None, ...], *args: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, int, int]]:
    each = [_additive_backward(*_pick(i, dims, args)) for i in range(info.batch_size)]
    return tuple(torch.stack(parts) for parts in zip(*each, strict=True)), (0, 0, 0)


def _pick(i: int, dims: tuple[int | None, ...], args: tuple[Tensor, ...]) -> list[Tensor]:
    return [x if dim is None else x.select(dim, i) for dim, x in zip(dims, args, strict=True)]
