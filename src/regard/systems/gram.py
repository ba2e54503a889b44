"""Choi et al. 2017, GRAM: codes are mixtures of themselves and of what they are kinds of."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.graph import GraphAttention, ancestors_of
from regard.nn.result import AttentionResult
from regard.systems.data.ontology import NOTHING
from regard.systems.saving import System
from regard.systems.without import flat


class Gram(System):
    """Predicts the codes of the next visit from the visits before it.

        g[i] = Σⱼ a[i, j] e[j],   a[i, :] = softmax over j in A(i) of u' tanh(W [e[i]; e[j]] + b)
        v[t] = tanh(Σ g[i] over the codes i of visit t),   h = GRU(v),   p(code | visits 1..t) = softmax(W h[t] + b)

    A(i) is the code and all its ancestors. Where no node has a parent, A(i) is the code alone and this is a model with
    plain embeddings. Chosen beside the paper: e is drawn at random, not fitted to counts of codes that come together
    first.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of each node; the codes come first.
    codes : int
        How many of the nodes are codes.
    dim, hidden : int
        Sizes of e and of h.
    attention : bool
        False weighs a code and its ancestors alike.
    spread : float
        The standard deviation of e at first.

    Examples
    --------
    >>> model = Gram([[3], [3], [4], [4], []], codes=3, dim=8, hidden=8)
    >>> model(torch.tensor([[[0, 2], [1, -1]]])).shape
    torch.Size([1, 2, 3])
    """

    def __init__(
        self,
        parents: Sequence[Sequence[int]],
        codes: int,
        dim: int = 32,
        hidden: int = 32,
        *,
        attention: bool = True,
        spread: float = 0.1,
    ) -> None:
        nodes = [[int(parent) for parent in above] for above in parents]
        super().__init__(parents=nodes, codes=codes, dim=dim, hidden=hidden, attention=attention, spread=spread)
        if not 1 <= codes <= len(nodes):
            raise SettingError(f"`codes` must be the first of {len(nodes)} nodes, one at least; got {codes}.")
        self.codes = codes
        self.attention = GraphAttention(ancestors_of(nodes), dim, weigh="softmax" if attention else flat)
        nn.init.normal_(self.attention.embedding.weight, std=spread)
        self.recurrent = nn.GRU(dim, hidden, batch_first=True)
        self.output = nn.Linear(hidden, codes)

    def represent(self) -> AttentionResult:
        """All codes: g (codes, dim), and what each attends to, (codes, most ancestors), itself first."""
        return self.attention(torch.arange(self.codes, device=self.device))  # type: ignore[no-any-return]

    def forward(self, visits: Tensor) -> Tensor:
        """What may come after each visit.

        Parameters
        ----------
        visits : (batch, T, K) int64
            The codes of each visit, filled up with -1; visits after the last have none.

        Returns
        -------
        scores : (batch, T, codes)
            Of the codes of the visit after each.
        """
        self._check(visits)
        there = visits != NOTHING
        g = self.represent().context
        v = torch.tanh(torch.where(there[..., None], F.embedding(visits.clamp_min(0), g), 0).sum(-2))
        h, _ = self.recurrent(v)
        scores: Tensor = self.output(h)
        return scores

    def loss(self, visits: Tensor) -> Tensor:
        """The mean of -log p over all codes of all visits but the first."""
        coming = visits[:, 1:]
        scores: Tensor = self(visits[:, :-1])
        log_p = scores.log_softmax(-1).gather(-1, coming.clamp_min(0))
        return -log_p[coming != NOTHING].mean()

    @torch.no_grad()
    def hits(self, visits: Tensor, best: int = 20) -> Tensor:
        """Whether each code of each visit but the first was among the ``best``, bool (batch, T - 1, K)."""
        scores: Tensor = self(visits[:, :-1])
        chosen = scores.topk(min(best, self.codes), -1).indices
        return (visits[:, 1:, :, None] == chosen[:, :, None]).any(-1)

    def _check(self, visits: Tensor) -> None:
        if visits.ndim != 3 or visits.is_floating_point() or visits.dtype == torch.bool:
            raise SettingError(
                f"`visits` must hold whole numbers (batch, T, K); got {tuple(visits.shape)} of {visits.dtype}."
            )
        if visits.numel() and not NOTHING <= int(visits.min()) <= int(visits.max()) < self.codes:
            raise SettingError(f"Codes must be from 0 to {self.codes - 1}, or -1 for none; got others.")
