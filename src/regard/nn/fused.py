"""PyTorch's fused softmax(Q K') V, with a faster way back on the CPU.

Its backward takes exp(x - log Σ exp(x)) again. Where scores are far apart, many of these weights lie below
1e-38, in the numbers that processors work on a hundred times more slowly: scores with a deviation of 20
take four times as long as scores with a deviation of 1. Here the weights, and with them all gradients, are
e^40 times larger on the way back where scores are far apart, and are made small again at the end.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.nn.shapes import transformed

# The kernel behind scaled_dot_product_attention, whose public face hides the sums that its way back takes.
LIFT = 40.0
FAR = 10.0
_FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001
_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward  # noqa: SLF001


def scaled_dot_product(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """The context softmax(scale · Q K' + mask) V.

    Parameters
    ----------
    query, key, value : (B, H, T, D), (B, H, S, D), (B, H, S, V)
        The kernel wants D = V: the narrower are filled with zeros.
    mask : broadcast to (B, H, T, S), optional
        Boolean, True = may attend, or numbers to add.
    """
    width, depth = value.shape[-1], max(key.shape[-1], value.shape[-1])
    query, key, value = _filled(query, depth), _filled(key, depth), _filled(value, depth)
    if not _lifts(query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)[..., :width]
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros((), dtype=query.dtype).masked_fill(~mask, -torch.inf)
    context: Tensor
    context, _ = _Lifted.apply(query, key, value, mask, scale)  # type: ignore[no-untyped-call]
    return context[..., :width]


def _filled(x: Tensor, width: int) -> Tensor:
    """Zeros beside the last axis, up to a width: in one pass over memory, where ``pad`` takes two."""
    missing = width - x.shape[-1]
    return x if missing <= 0 else torch.cat([x, x.new_zeros(()).expand(*x.shape[:-1], missing)], -1)


def _lifts(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether the way back will be taken, by the kernel whose way back this is."""
    if query.device.type != "cpu" or query.dtype != torch.float32 or (mask is not None and mask.requires_grad):
        return False
    if not torch.is_grad_enabled() or not (query.requires_grad or key.requires_grad or value.requires_grad):
        return False
    return not transformed() and bool(query.numel() and key.numel() and value.numel())


class _Lifted(torch.autograd.Function):
    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Any:
        return _FORWARD(query, key, value, attn_mask=mask, scale=scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        *tensors, ctx.scale = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> Any:
        query, key, value, mask, context, total = ctx.saved_tensors
        lift = LIFT if total.abs().amax() > FAR else 0.0  # a cheap sign of scores that are far apart
        total = total - lift if lift else total
        grads = _BACKWARD(grad, query, key, value, context, total, 0.0, False, attn_mask=mask, scale=ctx.scale)
        d_query, d_key, d_value = (x.mul_(math.exp(-lift)) if lift else x for x in grads)
        return d_query, d_key, d_value, None, None
