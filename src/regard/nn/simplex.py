"""Sparse weights: sparsemax (Martins 2016) and entmax with α = 1.5 (Peters 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.nn.kernels import entmax15_rows, sparsemax_rows
from regard.nn.shapes import array, by_rows


def project(scores: Tensor, *, power: int) -> Tensor:
    """The rows' weights: ``power`` 1 is sparsemax, 2 is entmax-1.5.

        w[s] = max(x[s] / power - τ, 0)^power,   τ such that Σ w = 1

    Parameters
    ----------
    scores : (..., S)
        Finite; S at least one.
    """
    half = scores.dtype in (torch.float16, torch.bfloat16)
    rows = (scores.float() if half else scores).reshape(-1, scores.shape[-1])
    weights: Tensor = _Project.apply(rows, power)  # type: ignore[no-untyped-call]
    return weights.reshape(scores.shape)


def sorted_project(scores: Tensor, power: int) -> Tensor:
    """``project`` by sorting, in PyTorch: for devices without a kernel, and to compare with.

    With the scores in falling order, τ(k) is the threshold if the first k were the support; it is those k
    whose smallest still lies above τ(k).
    """
    x = (scores - scores.amax(-1, keepdim=True)) / power
    falling = x.sort(-1, descending=True).values
    rank = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    mean = falling.cumsum(-1) / rank
    if power == 1:
        tau = mean - 1 / rank
    else:
        spread = falling.square().cumsum(-1) - rank * mean.square()
        tau = mean - ((1 - spread) / rank).clamp_min(0).sqrt()
    support = (falling > tau).sum(-1, keepdim=True)
    return (x - tau.gather(-1, support - 1)).clamp_min(0) ** power


@torch.library.custom_op("regard::project", mutates_args=())
def _project(scores: Tensor, power: int) -> Tensor:
    if scores.device.type != "cpu" or not scores.numel():
        return sorted_project(scores, power) if scores.numel() else scores.clone()
    x, best = array(scores), array(scores.amax(-1))
    out = np.empty_like(x)
    kernel = sparsemax_rows if power == 1 else entmax15_rows
    by_rows(lambda i, j: kernel(x, best, i, j, out), len(x), x.size)
    return torch.from_numpy(out)


@_project.register_fake
def _(scores: Tensor, power: int) -> Tensor:
    return scores.new_empty(scores.shape)


class _Project(torch.autograd.Function):
    """The gradient of the projection.

    d_x = h ⊙ (g - Σ h g / Σ h),   h = 1 on the support for sparsemax, √w for entmax-1.5
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, power: int) -> Any:
        return _project(scores, power)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (weights,) = ctx.saved_tensors
        h = (weights > 0).to(weights.dtype) if ctx.power == 1 else weights.sqrt()
        dot = torch.linalg.vecdot(h, grad)[..., None]
        return h * (grad - dot / h.sum(-1, keepdim=True)), None


@_project.register_vmap
def _(info: Any, dims: tuple[int | None, ...], scores: Tensor, power: int) -> tuple[Tensor, int]:
    scores = scores.movedim(dims[0] or 0, 0)
    return _project(scores.flatten(0, 1), power).reshape(scores.shape), 0
