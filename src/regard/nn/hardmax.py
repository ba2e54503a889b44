"""Alcalde, Fantuzzi and Zuazua 2024: clustering in pure-attention hardmax transformers."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from regard.nn.attend import allowed
from regard.nn.attention import Memory
from regard.nn.combine import average
from regard.nn.masks import Causal, join, silence, silence_queries
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

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """B x for the points that are looked at, in double precision."""
        value = key if value is None else value
        return Memory(self._mapped(silence(mask, key)), silence(mask, value))

    def forward(
        self,
        query: Tensor,
        key: Tensor | Memory | None = None,
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
        sources = (key.keys if isinstance(key, Memory) else key).shape[-2]
        mask = allowed(join(mask, causal, query.shape[-2], sources, query.device), bias)
        if not isinstance(key, Memory):
            key = self.precompute(key, value, mask=mask)
        query, value = silence_queries(mask, query), key.value
        scores = self._mapped(query) @ key.keys.mT
        if bias is not None:
            scores = scores + bias.double()
        weights = self.weigh(scores, mask).to(value.dtype)
        context = query + self.alpha / (1 + self.alpha) * (average(weights, value) - query)
        if mask is not None:
            context = torch.where(mask.any(-1, keepdim=True), context, 0)
        if not need_weights:
            return AttentionResult(context)
        return AttentionResult(context, weights, scores.to(torch.promote_types(value.dtype, torch.float32)))

    def _mapped(self, points: Tensor) -> Tensor:
        """B x."""
        return points.double() @ torch.as_tensor(self.matrix).double().T
