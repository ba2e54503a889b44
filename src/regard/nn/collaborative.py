"""Chen et al. 2017: Attentive Collaborative Filtering, with item- and component-level attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.nn.combine import average
from regard.nn.masks import silence, source_mask
from regard.nn.result import AttentionResult, register_result
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class ReluScore(nn.Module):
    """score = w' relu(W1 x1 + W2 x2 + ... + b) + c, the inputs broadcast to one another."""

    def __init__(self, dims: tuple[int, ...], hidden_dim: int) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(nn.Linear(dim, hidden_dim, bias=not i) for i, dim in enumerate(dims))
        self.out = nn.Linear(hidden_dim, 1)

    def forward(self, *inputs: Tensor) -> Tensor:
        """From inputs (..., S, dim) to scores (..., S)."""
        hidden = sum((linear(x) for linear, x in zip(self.inputs, inputs, strict=True)), torch.zeros(()).to(inputs[0]))
        scores: Tensor = self.out(torch.relu(hidden))
        return scores[..., 0]


class ComponentAttention(nn.Module):
    """Which parts of an item a user looks at.

        b[m] = w2' relu(W2u u + W2x x[m] + b2) + c2,   β = softmax(b),   x̄ = Σₘ β[m] x[m]

    Parameters
    ----------
    user_dim, component_dim, hidden_dim : int
    weigh : str or callable
    """

    def __init__(self, user_dim: int, component_dim: int, hidden_dim: int, *, weigh: str | Weigh = "softmax") -> None:
        super().__init__()
        self.score, self.weigh = ReluScore((component_dim, user_dim), hidden_dim), resolve_weigh(weigh)

    def forward(
        self, user: Tensor, components: Tensor, *, mask: Tensor | None = None, need_weights: bool = True
    ) -> AttentionResult:
        """From users (..., user_dim) and their items' parts (..., L, M, component_dim) to items (..., L,
        component_dim).

        The mask and the weights are (..., L, M).
        """
        return _read(self.score, self.weigh, (user[..., None, None, :],), components, components, mask, need_weights)


class ItemAttention(nn.Module):
    """Which items of a user's history speak for the user.

        a[l] = w1' relu(W1u u + W1v v[l] + W1p p[l] + W1x x̄[l] + b1) + c1,   α = softmax(a),   c = Σₗ α[l]
        p[l]

    Parameters
    ----------
    user_dim, item_dim, component_dim, hidden_dim : int
        ``item_dim`` is the size of the item vectors v and of the auxiliary item vectors p.
    weigh : str or callable
    """

    def __init__(
        self,
        user_dim: int,
        item_dim: int,
        component_dim: int,
        hidden_dim: int,
        *,
        weigh: str | Weigh = "softmax",
    ) -> None:
        super().__init__()
        self.score = ReluScore((item_dim + item_dim + component_dim, user_dim), hidden_dim)
        self.weigh = resolve_weigh(weigh)

    def forward(
        self,
        user: Tensor,
        items: Tensor,
        auxiliary: Tensor,
        content: Tensor,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> AttentionResult:
        """From users (..., user_dim), v and p (..., L, item_dim), x̄ (..., L, component_dim) to (...,
        item_dim).

        The mask and the weights are (..., L).
        """
        about = torch.cat([items, auxiliary, content], -1)
        return _read(self.score, self.weigh, (user[..., None, :],), about, auxiliary, mask, need_weights)


@register_result
@dataclass(frozen=True)
class CollaborativeResult:
    """What came of attending on two levels.

    Attributes
    ----------
    context : (..., item_dim)
        The history's part of the user: the paper's user is u + context.
    weights : (..., L), optional
        How much each item counts.
    components, items : AttentionResult
        Both levels; weights (..., L, M) and (..., L).
    """

    context: Tensor
    weights: Tensor | None
    components: AttentionResult
    items: AttentionResult


class AttentiveCollaborativeFiltering(nn.Module):
    """A user is what the parts of the items of their history say.

        β = softmax(component score),   x̄[l] = Σₘ β[l, m] x[l, m]
        α = softmax(item score),        c = Σₗ α[l] p[l];    predict (u + c) · v

    The paper prints a(i, l, n) in the denominator of β; read as b, the component score itself.

    Parameters
    ----------
    user_dim, item_dim, component_dim : int
        To add c to u, ``user_dim`` is ``item_dim``.
    hidden_dim : int, optional
        Of both scores; ``user_dim``, if not given.
    weigh : str or callable
    """

    def __init__(
        self,
        user_dim: int,
        item_dim: int,
        component_dim: int,
        hidden_dim: int | None = None,
        *,
        weigh: str | Weigh = "softmax",
    ) -> None:
        super().__init__()
        hidden_dim = hidden_dim or user_dim
        self.components = ComponentAttention(user_dim, component_dim, hidden_dim, weigh=weigh)
        self.items = ItemAttention(user_dim, item_dim, component_dim, hidden_dim, weigh=weigh)

    def forward(
        self,
        user: Tensor,
        items: Tensor,
        auxiliary: Tensor,
        components: Tensor,
        *,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> CollaborativeResult:
        """Read a history.

        Parameters
        ----------
        user : (..., user_dim)
        items, auxiliary : (..., L, item_dim)
            v and p of the items of the history.
        components : (..., L, M, component_dim)
        mask : bool (..., L, M), optional
            Which components are real; an item without any is not attended to.
        """
        lower = self.components(user, components, mask=mask, need_weights=need_weights)
        if mask is None and not components.shape[-2]:
            mask = torch.zeros(0, dtype=torch.bool, device=components.device)
        there = mask if mask is None else mask.expand(components.shape[:-1]).any(-1)
        upper = self.items(user, items, auxiliary, lower.context, mask=there, need_weights=need_weights)
        return CollaborativeResult(upper.context, upper.weights, lower, upper)


def _read(
    score: nn.Module,
    weigh: Weigh,
    asked: tuple[Tensor, ...],
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    need_weights: bool,
) -> AttentionResult:
    """Scores (..., S) of keys for one query, and the average of the values: there is no axis of queries."""
    mask = source_mask(mask, key.shape[-2], key.device)
    rows = mask if mask is None else mask[..., None, :]
    key, value = silence(rows, key), silence(rows, value)
    scores = score(key, *asked)
    weights = weigh(scores, mask).to(value.dtype)
    context = average(weights[..., None, :], value)[..., 0, :]
    return AttentionResult(context, weights, scores) if need_weights else AttentionResult(context)
