"""Patients' codes, visit after visit, over a tree of codes in which siblings behave alike and most codes are rare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

NOTHING = -1  # no code
LEVELS = ("code", "group", "chapter", "root")


@dataclass(frozen=True)
class World:
    """A tree of codes, and how codes follow one another.

    The nodes are numbered codes first, then their groups, the chapters of these, and the root: a code's number is its
    node's.

        next group | code:  the consequence of its group with ``alike``, its own with ``own``, otherwise any
        code | group:       the k-th of the group's codes in a share ~ 1 / k;  groups likewise ~ k^-0.7

    Attributes
    ----------
    parents : (nodes,) int
        The root's is -1.
    codes, groups : int
    of_group : (groups,) int
        The group that follows a group.
    of_code : (codes,) int
        The group that follows a code, in its own way.
    group_shares : (groups,) float
        Of what comes without a reason.
    code_shares : (groups, codes in a group) float
        Of each code in its group.
    alike, own : float
    """

    parents: Integers
    codes: int
    groups: int
    of_group: Integers
    of_code: Integers
    group_shares: Floats
    code_shares: Floats
    alike: float
    own: float

    def graph(self) -> list[list[int]]:
        """The parents of each node, as ``regard.nn.ancestors_of`` takes them."""
        return [[] if parent == NOTHING else [int(parent)] for parent in self.parents]

    def edgeless(self) -> list[list[int]]:
        """The codes alone: nobody has a parent."""
        return [[] for _ in range(self.codes)]

    def scrambled(self, seed: int | Sequence[int]) -> list[list[int]]:
        """As many ancestors for each code as in the tree, drawn at random: they say nothing of it."""
        rng = np.random.default_rng(seed)
        above = np.arange(self.codes, len(self.parents))
        drawn = [sorted(rng.choice(above, len(LEVELS) - 1, replace=False).tolist()) for _ in range(self.codes)]
        return [*drawn, *([] for _ in above)]


def make_world(
    seed: int | Sequence[int],
    *,
    chapters: int = 8,
    groups: int = 5,
    codes: int = 10,
    alike: float = 0.7,
    own: float = 0.15,
) -> World:
    """Draw a world.

    Parameters
    ----------
    seed : int, or several
    chapters, groups, codes : int
        Chapters, groups in a chapter, codes in a group.
    alike, own : float
        How often a code is followed by what follows its group, and by what follows it alone; together at most 1.
    """
    if min(alike, own) < 0 or alike + own > 1:
        raise SettingError(f"`alike` and `own` must be shares whose sum is at most 1; got {alike} and {own}.")
    rng = np.random.default_rng(seed)
    all_groups, all_codes = chapters * groups, chapters * groups * codes
    parents = np.concatenate(
        [
            all_codes + np.arange(all_codes) // codes,
            all_codes + all_groups + np.arange(all_groups) // groups,
            np.full(chapters, all_codes + all_groups + chapters),
            [NOTHING],
        ]
    )
    of_codes = _shares(codes, 1.0)
    return World(
        parents,
        all_codes,
        all_groups,
        rng.permutation(all_groups),
        rng.integers(0, all_groups, all_codes),
        rng.permutation(_shares(all_groups, 0.7)),
        np.stack([rng.permutation(of_codes) for _ in range(all_groups)]),
        alike,
        own,
    )


def make_patients(
    world: World, patients: int, seed: int | Sequence[int], *, longest: int = 8, at_once: int = 2
) -> Integers:
    """The codes of patients, visit after visit.

    Parameters
    ----------
    longest : int
        The most visits; the fewest are 3.
    at_once : int
        The most codes in a visit; where two are the same, one is left out.

    Returns
    -------
    visits : (patients, longest, at_once)
        Filled up with -1, in both directions.
    """
    if patients < 1 or longest < 3:
        raise SettingError(f"There must be a patient with 3 visits at least; got {patients} and {longest}.")
    rng = np.random.default_rng(seed)
    siblings = world.code_shares.shape[1]
    edges = world.code_shares.cumsum(1)
    visits = np.full((patients, longest, at_once), NOTHING)
    lengths = rng.integers(3, longest + 1, patients)
    group = rng.choice(world.groups, (patients, at_once), p=world.group_shares)
    for visit in range(longest):
        place = (rng.random((patients, at_once, 1)) > edges[group]).sum(-1).clip(max=siblings - 1)
        code = group * siblings + place
        again = np.triu(code[:, :, None] == code[:, None], 1).any(1)
        visits[:, visit] = np.where(again | (visit >= lengths)[:, None], NOTHING, code)
        why = rng.random((patients, at_once))
        any_group = rng.choice(world.groups, (patients, at_once), p=world.group_shares)
        group = np.select(
            [why < world.alike, why < world.alike + world.own], [world.of_group[group], world.of_code[code]], any_group
        )
    return visits


def occurrences(visits: Integers, codes: int) -> Integers:
    """How often each code occurs, (codes,)."""
    return np.bincount(visits[visits != NOTHING], minlength=codes)


def fifths(counts: Integers) -> Integers:
    """The fifth of codes, from the rarest, 0, to the commonest, 4, that each code belongs to."""
    order = np.argsort(counts, kind="stable")
    place = np.empty(len(counts), dtype=np.int64)
    place[order] = np.arange(len(counts)) * 5 // len(counts)
    return place


def _shares(count: int, power: float) -> Floats:
    """Zipf's law: the k-th of them in a share ~ k^-power."""
    sizes = np.arange(1, count + 1, dtype=np.float64) ** -power
    shares: Floats = sizes / sizes.sum()
    return shares
