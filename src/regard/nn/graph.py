"""Choi et al. 2017: GRAM, graph-based attention for healthcare representation learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.additive import Additive
from regard.nn.attend import compare_and_read
from regard.nn.masks import check_mask
from regard.nn.result import AttentionResult
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class GraphAttention(nn.Module):
    """A code is a mixture of itself and of its ancestors: rare codes borrow from what they are kinds of.

        g[i] = Σⱼ a[i, j] e[j],   a[i, :] = softmax over j in A(i) of u' tanh(W [e[i]; e[j]] + b)

    A(i) is the code and all its ancestors, the root included.

    Parameters
    ----------
    ancestors : (nodes, most ancestors) int64
        A(i) for each node, filled with -1; ``ancestors_of`` makes it from parents.
    dim : int
        Size of the embeddings e.
    hidden_dim : int, optional
        Size of u; ``dim``, if not given.
    weigh : str or callable
    """

    ancestors: Tensor

    def __init__(
        self, ancestors: Tensor, dim: int, hidden_dim: int | None = None, *, weigh: str | Weigh = "softmax"
    ) -> None:
        super().__init__()
        self.register_buffer("ancestors", ancestors)
        self.embedding = nn.Embedding(len(ancestors), dim)
        self.score = Additive(dim, dim, hidden_dim)
        self.weigh = resolve_weigh(weigh)

    def forward(
        self, codes: Tensor | None = None, *, mask: Tensor | None = None, need_weights: bool = True
    ) -> AttentionResult:
        """Represent codes.

        Parameters
        ----------
        codes : (...) int64, optional
            Nodes; all of them, if not given.
        mask : bool (..., most ancestors), optional
            True = may attend; beside the mask of the ancestors themselves.

        Returns
        -------
        AttentionResult
            Context g (..., dim), weights (..., most ancestors) in the order of ``ancestors``.
        """
        codes = torch.arange(len(self.ancestors), device=self.ancestors.device) if codes is None else codes
        mask = check_mask(mask)
        kin = self.ancestors[codes]
        there = kin >= 0 if mask is None else (kin >= 0) & mask
        key = torch.where(there[..., None], self.embedding(kin.clamp_min(0)), 0)
        result = compare_and_read(
            self.score.queries(self.embedding(codes)[..., None, :]),
            self.score.keys(key),
            key,
            score=self.score,
            weigh=self.weigh,
            mask=there[..., None, :],
            need_weights=need_weights,
        )
        if result.weights is None or result.scores is None:
            return AttentionResult(result.context[..., 0, :])
        return AttentionResult(result.context[..., 0, :], result.weights[..., 0, :], result.scores[..., 0, :])


def ancestors_of(parents: Sequence[Sequence[int]] | Mapping[int, Sequence[int]]) -> Tensor:
    """A(i) for each node of a directed graph without cycles: the node itself first, then its ancestors,
    nearest first.

    Parameters
    ----------
    parents : sequence or mapping
        The parents of nodes 0, 1, ...; a root has none.

    Returns
    -------
    ancestors : (nodes, most ancestors) int64
        Filled with -1.

    Examples
    --------
    >>> ancestors_of([[], [0], [0], [1, 2]]).tolist()
    [[0, -1, -1, -1], [1, 0, -1, -1], [2, 0, -1, -1], [3, 1, 2, 0]]
    """
    rows = []
    for node in range(len(parents)):
        row, ahead = [node], list(parents[node])
        while ahead:
            if node in ahead:
                raise SettingError(f"The graph must have no cycles; node {node} is its own ancestor.")
            new = [kin for kin in dict.fromkeys(ahead) if kin not in row]
            row += new
            ahead = [above for kin in new for above in parents[kin]]
        rows.append(torch.tensor(row))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
