"""Chen et al. 2017, Attentive Collaborative Filtering: what a person takes says what the person likes, some of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.collaborative import AttentiveCollaborativeFiltering, CollaborativeResult
from regard.systems.saving import System
from regard.systems.without import flat

NOTHING = -1  # fills up histories


class CollaborativeFilter(System):
    """Scores items for people, from who they are and from what they took.

        score(i, j) = (u[i] + c[i]) · v[j] + b[j]
        c[i] = Σₗ α[i, l] p[l] over the items l of the history,   α = softmax(item score of u[i], v[l], p[l], x̄[l])
        x̄[l] = Σₘ β[i, l, m] x[l, m] over the parts m of an item,   β = softmax(component score of u[i], x[l, m])

    Without ``history`` c is zero: matrix factorisation. Without ``attention`` all items of a history and all their
    parts are weighed alike, as in SVD++. Chosen beside the paper: a bias b of each item; in training an item of the
    history does not speak for itself, or else it would recommend itself alone.

    Parameters
    ----------
    people, items : int
    parts, component_dim : int
        The most parts of an item, and the size of a part; ``see`` takes the parts themselves.
    dim, hidden : int
        Sizes of u, v, p, and of the scores' hidden layers.
    history, attention : bool

    Examples
    --------
    >>> model = CollaborativeFilter(people=2, items=5, parts=3, component_dim=4).see(torch.rand(5, 3, 4))
    >>> model(torch.tensor([0, 1]), torch.tensor([[2, 3], [0, 4]])).shape
    torch.Size([2, 5])
    """

    components: Tensor
    real: Tensor

    def __init__(
        self,
        people: int,
        items: int,
        parts: int,
        component_dim: int,
        dim: int = 16,
        hidden: int = 16,
        *,
        history: bool = True,
        attention: bool = True,
    ) -> None:
        settings: dict[str, Any] = {"people": people, "items": items, "parts": parts, "component_dim": component_dim}
        super().__init__(**settings, dim=dim, hidden=hidden, history=history, attention=attention)
        for name, size in {**settings, "dim": dim, "hidden": hidden}.items():
            if size < 1:
                raise SettingError(f"`{name}` must be at least 1; got {size}.")
        self.items, self.history = items, history
        self.user, self.item = nn.Embedding(people, dim), nn.Embedding(items, dim)
        self.bias = nn.Parameter(torch.zeros(items))
        self.register_buffer("components", torch.zeros(items, parts, component_dim))
        self.register_buffer("real", torch.ones(items, parts, dtype=torch.bool))
        if history:
            self.auxiliary = nn.Embedding(items, dim)
            weigh = "softmax" if attention else flat
            self.reader = AttentiveCollaborativeFiltering(dim, dim, component_dim, hidden, weigh=weigh)
        for module in self.children():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.1)

    def see(self, components: Tensor, counts: Tensor | None = None) -> CollaborativeFilter:
        """Take in the parts of all items.

        Parameters
        ----------
        components : (items, parts, component_dim)
        counts : (items,) int64, optional
            How many parts each item has; all, if not given.
        """
        if components.shape != self.components.shape:
            raise SettingError(f"`components` must be {tuple(self.components.shape)}; got {tuple(components.shape)}.")
        places = torch.arange(components.shape[1], device=components.device)
        self.real.copy_(places < (components.shape[1] if counts is None else counts[:, None]))
        self.components.copy_(torch.where(self.real[..., None], components, 0))
        return self

    def read(self, people: Tensor, history: Tensor) -> CollaborativeResult:
        """What histories say: ``items.weights`` (batch, L) and ``components.weights`` (batch, L, parts).

        Parameters
        ----------
        people : (batch,) int64
        history : (batch, L) int64
            Items, filled up with -1.
        """
        if not self.history:
            raise SettingError("This model was built without `history`; it reads none.")
        self._check("people", people, self.user.num_embeddings, 1, lowest=0)
        self._check("history", history, self.items, 2, lowest=NOTHING)
        index = history.clamp_min(0)
        there = (history != NOTHING)[..., None] & self.real[index]
        read: CollaborativeResult = self.reader(
            self.user(people), self.item(index), self.auxiliary(index), self.components[index], mask=there
        )
        return read

    def taste(self, people: Tensor, history: Tensor) -> Tensor:
        """The vector u + c of each person, (batch, dim)."""
        self._check("people", people, self.user.num_embeddings, 1, lowest=0)
        u: Tensor = self.user(people)
        return u + self.read(people, history).context if self.history else u

    def forward(self, people: Tensor, history: Tensor) -> Tensor:
        """The score of every item, (batch, items)."""
        return self.taste(people, history) @ self.item.weight.T + self.bias

    def loss(self, people: Tensor, taken: Tensor, others: Tensor, history: Tensor) -> Tensor:
        """The mean loss of Bayesian personalised ranking.

        Parameters
        ----------
        people, taken, others : (batch,) int64
            A person, an item of the history, and an item that the person did not take.
        history : (batch, L) int64
        """
        taste = self.taste(people, torch.where(history == taken[:, None], NOTHING, history))
        better, worse = ((taste * self.item(item)).sum(-1) + self.bias[item] for item in (taken, others))
        return bpr_loss(better, worse)

    @torch.no_grad()
    def recommend(self, people: Tensor, history: Tensor, best: int = 10) -> Tensor:
        """The best items that are not in the history, (batch, best), the best first."""
        if not 1 <= best <= self.items - history.shape[1]:
            raise SettingError(f"`best` must be 1 to {self.items - history.shape[1]}, what is left; got {best}.")
        scores: Tensor = self(people, history)
        seen = F.pad(torch.zeros_like(scores, dtype=torch.bool), (0, 1)).scatter(1, history % (self.items + 1), True)
        return scores.masked_fill(seen[:, :-1], -torch.inf).topk(best, -1).indices

    @staticmethod
    def _check(name: str, ids: Tensor, end: int, ndim: int, *, lowest: int) -> None:
        if ids.ndim != ndim or ids.is_floating_point() or ids.dtype == torch.bool:
            raise SettingError(f"`{name}` must be whole numbers on {ndim} axes; got {tuple(ids.shape)} of {ids.dtype}.")
        if ids.numel() and not lowest <= int(ids.min()) <= int(ids.max()) < end:
            raise SettingError(
                f"`{name}` must be from {lowest} to {end - 1}; got {int(ids.min())} to {int(ids.max())}."
            )


def bpr_loss(better: Tensor, worse: Tensor) -> Tensor:
    """How often the order is wrong, smoothly (Rendle et al. 2009).

    loss = mean of -log σ(better - worse)
    """
    return -F.logsigmoid(better - worse).mean()
