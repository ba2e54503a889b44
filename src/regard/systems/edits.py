"""What was changed between two sentences, word by word, and how well one list of changes meets another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """``source[start:end]`` becomes ``words``: an insertion where start = end, a deletion where there are no words."""

    start: int
    end: int
    words: tuple[str, ...]


def edits(source: Sequence[str], target: Sequence[str]) -> list[Edit]:
    """The fewest edits from a sentence to another.

    A word put in, left out or replaced is one edit, and so are two neighbours exchanged: each mistake of a kind is
    one. Of several shortest lists, the one that keeps and replaces as early as it can.

    Examples
    --------
    >>> for edit in edits("the dog big like bone".split(), "the big dog likes a bone".split()):
    ...     print(*edit)
    1 3 ('big', 'dog')
    3 4 ('likes',)
    4 4 ('a',)
    """
    rows, columns = len(source) + 1, len(target) + 1
    # cost[i][j] is that of making target[j:] of source[i:], so that the walk goes forwards.
    cost = [[0] * columns for _ in range(rows)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            if i < rows - 1 or j < columns - 1:
                cost[i][j] = min(step[0] for step in _steps(source, target, cost, i, j))
    found: list[Edit] = []
    i = j = 0
    while i < rows - 1 or j < columns - 1:
        total = cost[i][j]
        _, di, dj = next(step for step in _steps(source, target, cost, i, j) if step[0] == total)
        if source[i : i + di] != target[j : j + dj]:
            found.append(Edit(i, i + di, tuple(target[j : j + dj])))
        i, j = i + di, j + dj
    return found


def _steps(
    source: Sequence[str], target: Sequence[str], cost: list[list[int]], i: int, j: int
) -> list[tuple[int, int, int]]:
    """What it costs from here on, by how far the first step goes in either sentence."""
    steps = []
    more, left = i < len(source), j < len(target)
    if more and left:
        steps.append((cost[i + 1][j + 1] + (source[i] != target[j]), 1, 1))
    pair = list(source[i : i + 2])
    if len(pair) == 2 and pair[0] != pair[1] and pair[::-1] == list(target[j : j + 2]):
        steps.append((cost[i + 2][j + 2] + 1, 2, 2))
    if left:
        steps.append((cost[i][j + 1] + 1, 0, 1))
    if more:
        steps.append((cost[i + 1][j] + 1, 1, 0))
    return steps


def apply(source: Sequence[str], changes: Sequence[Edit]) -> list[str]:
    """The sentence after edits, which are in order and do not overlap."""
    said: list[str] = []
    place = 0
    for edit in changes:
        said += [*source[place : edit.start], *edit.words]
        place = edit.end
    return [*said, *source[place:]]


@dataclass(frozen=True)
class Tally:
    """How many edits were wanted, made, and both.

    Examples
    --------
    >>> Tally(wanted=4, made=2, right=2).f
    0.8333333333333334
    """

    wanted: int = 0
    made: int = 0
    right: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wanted + other.wanted, self.made + other.made, self.right + other.right)

    @property
    def precision(self) -> float:
        """The share of the edits made that were wanted; 1 where none was made."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """The share of the wanted edits that were made; 1 where none was wanted."""
        return self.right / self.wanted if self.wanted else 1.0

    @property
    def f(self) -> float:
        """F₀.₅ = 1.25 P R / (0.25 P + R): precision counts twice as much as recall."""
        below = 0.25 * self.precision + self.recall
        return 1.25 * self.precision * self.recall / below if below else 0.0


def tally(wanted: Sequence[Edit], made: Sequence[Edit]) -> Tally:
    """Edits count as right where span and words agree."""
    return Tally(len(wanted), len(made), len(set(wanted) & set(made)))
