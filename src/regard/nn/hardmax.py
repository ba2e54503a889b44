"""Alcalde, Fantuzzi and Zuazua 2024: clustering in pure-attention hardmax transformers."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from regard.nn.attend import allowed
from regard.nn.combine import average
from regard.nn.masks import Causal, join, silence_all
from regard.nn.result import AttentionResult
from regard.nn.weigh import Weigh, hardmax
from regard.nn.weigh import resolve as resolve_weigh


class HardmaxAttention(nn.Module):
    """Each point moves toward those that it likes best.

        C[i] = {j : <A x[i], x[j]> is largest},   x[i] ← x[i] + α / (1 + α) · (mean of x over C[i] - x[i])

    A = B'B is symmetric and positive definite; ties share the mean. The choice C is constant almost
    everywhere, so the gradient flows through the points that are averaged and A gets none. Scores are
    compared in double precision: equal points need not tie under products in single.

    Parameters
    ----------
    dim : int
    alpha : float
        The step, positive.
    matrix : Tensor (dim, dim), optional
        B; the identity, if not given. Kept as a buffer.
    weigh : str or callable
        "hardmax", unless told otherwise.
    """

    def __init__(
        self,
        dim: int,
        *,
        alpha: float = 1.0,
        matrix: Tensor | None = None,
        weigh: str | Weigh = "hardmax",
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.register_buffer("matrix", torch.eye(dim) if matrix is None else matrix)
        resolved = resolve_weigh(weigh)
        self.weigh = partial(hardmax, tolerance=1e-12) if resolved is hardmax else resolved

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: Causal = False,
        need_weights: bool = True,
    ) -> AttentionResult:
        """One layer: ``context`` are the points after the step, zero for points with nothing to attend to.

        Without a key, the points attend to themselves.
        """
        key = query if key is None else key
        value = key if value is None else value
        mask = allowed(join(mask, causal, query.shape[-2], key.shape[-2], query.device), bias)
        query, key, value = silence_all(mask, query, key, value)
        matrix = torch.as_tensor(self.matrix).double()
        scores = (query.double() @ matrix.T) @ (key.double() @ matrix.T).mT
        if bias is not None:
            scores = scores + bias.double()
        weights = self.weigh(scores, mask).to(value.dtype)
        context = query + self.alpha / (1 + self.alpha) * (average(weights, value) - query)
        if mask is not None:
            context = torch.where(mask.any(-1, keepdim=True), context, 0)
        if not need_weights:
            return AttentionResult(context)
        return AttentionResult(context, weights, scores.to(torch.promote_types(value.dtype, torch.float32)))
