"""People who like items for some of their parts: implicit feedback with planted tastes, and items taken by accident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Feedback:
    """Which items people took.

    Attributes
    ----------
    components : (items, M, dim) float
        The parts of items, as a camera would see them: the direction of their theme, and noise.
    themes : (items, M) int
        What each part is about; a model never sees it.
    tastes : (people, tastes) int
        The themes that each person looks for; a model never sees it.
    history : (people, L) int
        Items to learn from, each once.
    by_taste : bool (people, L)
        Which of them were taken because a part of them is to the person's taste; the others are accidents.
    validation, test : (people,) int
        An item of each person that is left out: by taste, and not in the history.
    """

    components: Floats
    themes: Integers
    tastes: Integers
    history: Integers
    by_taste: NDArray[np.bool_]
    validation: Integers
    test: Integers

    @property
    def people(self) -> int:
        """How many."""
        return len(self.history)

    @property
    def items(self) -> int:
        """How many."""
        return len(self.components)


def make(
    seed: int | Sequence[int],
    *,
    people: int = 2000,
    items: int = 300,
    themes: int = 24,
    parts: int = 3,
    dim: int = 16,
    tastes: int = 1,
    history: int = 10,
    accidents: float = 0.5,
    noise: float = 0.5,
    tilt: float = 0.3,
) -> Feedback:
    """Draw items, people and what they took.

    An item has ``parts`` different themes and a popularity ~ rank^-tilt. A person with a taste takes items one of
    whose parts is to it, in the share 1 - ``accidents``; the others are any items. Both favour popular items.

    Parameters
    ----------
    seed : int, or several
    people, items, themes : int
    parts, dim : int
        M, and the size of a part.
    tastes : int
        Themes that each person looks for.
    history : int
        Items of each person to learn from, beside the two that are left out.
    accidents : float
        Between 0 and 1.
    noise : float
        The length of the noise of a part, about; that of its theme is 1.
    tilt : float
        How much more popular the first items are: 0 is not at all.
    """
    if not 0 <= accidents < 1:
        raise SettingError(f"`accidents` must be a share of at least 0 and less than 1; got {accidents}.")
    if parts > themes or tastes > themes:
        raise SettingError(
            f"`parts` and `tastes` can be at most the number of themes, {themes}; got {parts}, {tastes}."
        )
    rng = np.random.default_rng(seed)
    of_items = np.argsort(rng.random((items, themes)), axis=1)[:, :parts]
    directions = rng.normal(size=(themes, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    seen = directions[of_items] + noise / np.sqrt(dim) * rng.normal(size=(items, parts, dim))
    popularity = rng.permutation(np.arange(1, items + 1) ** -tilt)
    of_people = np.argsort(rng.random((people, themes)), axis=1)[:, :tastes]

    taken = np.zeros((people, history + 2), dtype=np.int64)
    by_taste = np.zeros((people, history + 2), dtype=bool)
    for person in range(people):
        liked = np.isin(of_items, of_people[person]).any(1)
        by_taste[person] = rng.random(history + 2) >= accidents
        by_taste[person, -2:] = True
        free = np.ones(items, dtype=bool)
        for place, taste in enumerate(by_taste[person]):
            chance = popularity * free * (liked if taste else 1.0)
            item = rng.choice(items, p=chance / chance.sum())
            taken[person, place], free[item] = item, False
    by_taste |= (of_items[taken][..., None] == of_people[:, None, None]).any((-2, -1))  # an accident may please
    return Feedback(
        seen.astype(np.float32),
        of_items,
        of_people,
        taken[:, :-2],
        by_taste[:, :-2],
        taken[:, -2],
        taken[:, -1],
    )
