"""From a model that says what comes next to a whole sequence: greedily, or by beam search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from regard.errors import SettingError

State = Any


class Said(NamedTuple):
    """What a decoder says in one step.

    Attributes
    ----------
    logits : (batch, V)
        -inf where a symbol cannot come.
    state
        What the next step needs: tensors in tuples, lists, dictionaries or results, each with the batch first.
    weights : (batch, S), optional
        What it attended to.
    """

    logits: Tensor
    state: State
    weights: Tensor | None = None


Step = Callable[[Tensor, State], Said]


@dataclass(frozen=True)
class Decoded:
    """Sequences.

    Attributes
    ----------
    tokens : (batch, T)
        The symbols; the end, and after it the end again.
    score : (batch,)
        The log probability of the sequence, its end included.
    weights : (batch, T, S), optional
        What each symbol attended to.
    end : int
    """

    tokens: Tensor
    score: Tensor
    weights: Tensor | None
    end: int

    def sequences(self) -> list[list[int]]:
        """Each up to its end, which is left out."""
        rows: list[list[int]] = self.tokens.tolist()
        return [row[: row.index(self.end)] if self.end in row else row for row in rows]


@torch.no_grad()
def greedy(step: Step, state: State, start: Tensor, *, end: int, longest: int) -> Decoded:
    """Say what is most probable, and go on from there.

    Parameters
    ----------
    step : callable
        From the last symbols (batch,) and the state to what is said next.
    state
        Of the first step.
    start : (batch,)
        The symbol before the first.
    end : int
        The symbol that ends a sequence.
    longest : int
        Stop after so many steps, ended or not.
    """
    tokens, ended = start, torch.zeros_like(start, dtype=torch.bool)
    score = torch.zeros(len(start), device=start.device)
    said, attended = [], []
    for _ in range(_positive(longest, "longest")):
        logits, state, weights = step(tokens, state)
        best = logits.float().log_softmax(-1).max(-1)
        tokens = torch.where(ended, end, best.indices)
        score = score + torch.where(ended, 0.0, best.values)
        said.append(tokens)
        attended.append(weights)
        ended = ended | (tokens == end)
        if bool(ended.all()):
            break
    seen = [weights for weights in attended if weights is not None]
    return Decoded(torch.stack(said, 1), score, torch.stack(seen, 1) if seen else None, end)


@torch.no_grad()
def beam(
    step: Step, state: State, start: Tensor, *, end: int, longest: int, width: int = 5, length_penalty: float = 0.0
) -> Decoded:
    """Keep the ``width`` most probable beginnings at every step; of what they became, the best.

        best = argmax  log P(y) / |y|^length_penalty

    With width 1 this is ``greedy``. A beginning that has ended stays in the beam with the score it has.

    Parameters
    ----------
    step, state, start, end, longest
        See ``greedy``.
    width : int
    length_penalty : float
        0 compares probabilities, 1 the probability per symbol; more favours longer sequences.
    """
    batch, device = len(start), start.device
    _positive(width, "width")
    first = torch.arange(batch, device=device).repeat_interleave(width)  # which source a row of the beam belongs to
    state, tokens = rows_of(state, first), start[first]
    # All beginnings are the same at first: only one of them counts.
    score = torch.full((batch, width), -torch.inf, device=device)
    score[:, 0] = 0.0
    said = torch.empty(batch * width, 0, dtype=start.dtype, device=device)
    attended: Tensor | None = None
    ended = torch.zeros(batch * width, dtype=torch.bool, device=device)
    for _ in range(_positive(longest, "longest")):
        logits, state, weights = step(tokens, state)
        size = logits.shape[-1]
        gains = logits.float().log_softmax(-1)
        stay = torch.full_like(gains, -torch.inf)
        stay[:, end] = 0.0
        gains = torch.where(ended[:, None], stay, gains)
        total = (score.view(-1, 1) + gains).view(batch, width * size)
        score, place = total.topk(width, -1)
        rows = (place // size + width * torch.arange(batch, device=device)[:, None]).view(-1)
        tokens = (place % size).view(-1)
        state, ended = rows_of(state, rows), ended[rows] | (tokens == end)
        said = torch.cat([said[rows], tokens[:, None]], 1)
        if weights is not None:
            now = weights[:, None] if attended is None else torch.cat([attended, weights[:, None]], 1)
            attended = now[rows]
        if bool(ended.all()):
            break
    lengths = ((said != end).sum(1) + ended).view(batch, width)
    chosen = (score / lengths.clamp_min(1) ** length_penalty).argmax(1)
    rows = chosen + width * torch.arange(batch, device=device)
    found = score.view(-1)[rows]
    return Decoded(said[rows], found, None if attended is None else attended[rows], end)


def rows_of(state: State, rows: Tensor) -> State:
    """The same state for other rows of the batch."""
    return pytree.tree_map(lambda x: x.index_select(0, rows) if isinstance(x, Tensor) else x, state)


def _positive(number: int, name: str) -> int:
    if number < 1:
        raise SettingError(f"`{name}` must be at least 1; got {number}.")
    return number
