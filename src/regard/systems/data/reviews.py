"""Reviews by people of known tastes: what they like and dislike, what items offer, and the ratings that follow.

Everybody likes two themes and dislikes two; an item offers three. The rating is 3, and one more for each theme on offer
that is liked, one less for each that is disliked, with some noise. A review has words of the writer's own taste ("I
like music" in a word that only those who like music use), words for the themes of the item, and many that say nothing.
So what somebody likes can be told from all that she or he wrote, what an item offers from all that was written about
it, and a rating only from both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import SettingError

THEMES = ("music", "crime", "love", "travel", "space", "food")
WORDS_EACH = 4  # for liking a theme, for disliking it, and for its being there
FILLERS = 200

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def _lexicon() -> tuple[str, ...]:
    planted = (
        f"{kind}-{theme}-{i}" for kind in ("like", "dislike", "has") for theme in THEMES for i in range(WORDS_EACH)
    )
    return ("", *planted, *(f"word{i}" for i in range(FILLERS)))


WORDS = _lexicon()  # "" fills up
_KINDS = len(THEMES) * WORDS_EACH


def word(kind: str, theme: int, which: int) -> int:
    """The number of a planted word; ``kind`` is "like", "dislike" or "has"."""
    return 1 + ("like", "dislike", "has").index(kind) * _KINDS + theme * WORDS_EACH + which


@dataclass(frozen=True)
class Reviews:
    """Ratings, and what was written by whom about what.

    Attributes
    ----------
    users, items : (reviews,)
        Who wrote, and about what.
    ratings : (reviews,)
        From 1 to 5.
    part : (reviews,)
        0 for training, 1 for validation, 2 for test. Documents have the words of training reviews alone.
    user_documents, item_documents : list of (words,)
        All that somebody wrote, and all that was written about something.
    taste_words, theme_words : list of frozenset of int
        The planted words of each user's tastes and of each item's themes; a model never sees which they are.
    """

    users: Integers
    items: Integers
    ratings: Floats
    part: Integers
    user_documents: list[Integers]
    item_documents: list[Integers]
    taste_words: list[frozenset[int]]
    theme_words: list[frozenset[int]]

    def rows(self, part: int) -> Integers:
        """The reviews of a part."""
        return np.flatnonzero(self.part == part)


def make_reviews(
    seed: int | Sequence[int],
    *,
    users: int = 400,
    items: int = 200,
    each: int = 15,
    planted: int = 2,
    fillers: int = 6,
    noise: float = 0.4,
) -> Reviews:
    """Let everybody review ``each`` items, 70 % of them for training and 15 % each for validation and test.

    Parameters
    ----------
    planted : int
        Words of taste, and as many of the item's themes, in a review.
    fillers : int
        Words that say nothing, as many at most from one as from another: their frequencies fall off as in texts.
    noise : float
        Spread of what is added to ratings, before they are cut to 1..5.
    """
    if each > items or min(users, items, each, planted) < 1:
        raise SettingError(f"`each` must be from 1 to `items` ({items}), and all sizes at least 1; got {each}.")
    rng = np.random.default_rng(seed)
    tastes = np.zeros((users, len(THEMES)))
    for user in range(users):
        four = rng.permutation(len(THEMES))[:4]
        tastes[user, four[:2]], tastes[user, four[2:]] = 1, -1
    offers = np.zeros((items, len(THEMES)))
    for item in range(items):
        offers[item, rng.permutation(len(THEMES))[:3]] = 1
    frequency = 1 / np.arange(1, FILLERS + 1)
    frequency /= frequency.sum()

    who = np.repeat(np.arange(users), each)
    what = np.concatenate([rng.permutation(items)[:each] for _ in range(users)])
    ratings = np.clip(3 + (tastes[who] * offers[what]).sum(1) + noise * rng.standard_normal(len(who)), 1, 5)
    part = np.select([(draw := rng.random(len(who))) < 0.7, draw < 0.85], [0, 1], 2)

    by_user: list[list[int]] = [[] for _ in range(users)]
    by_item: list[list[int]] = [[] for _ in range(items)]
    for user, item in zip(who[part == 0], what[part == 0], strict=True):
        said = [_taste(tastes[user], rng) for _ in range(planted)]
        said += [word("has", int(rng.choice(np.flatnonzero(offers[item]))), _any(rng)) for _ in range(planted)]
        said += (len(WORDS) - FILLERS + rng.choice(FILLERS, fillers, p=frequency)).tolist()
        review = rng.permutation(said).tolist()
        by_user[user] += review
        by_item[item] += review
    return Reviews(
        who,
        what,
        ratings,
        part,
        [np.array(words, np.int64) for words in by_user],
        [np.array(words, np.int64) for words in by_item],
        [_words(taste, {"like": 1, "dislike": -1}) for taste in tastes],
        [_words(offer, {"has": 1}) for offer in offers],
    )


def _any(rng: np.random.Generator) -> int:
    return int(rng.integers(WORDS_EACH))


def _taste(taste: Floats, rng: np.random.Generator) -> int:
    theme = int(rng.choice(np.flatnonzero(taste)))
    return word("like" if taste[theme] > 0 else "dislike", theme, _any(rng))


def _words(themes: Floats, kinds: dict[str, int]) -> frozenset[int]:
    return frozenset(
        word(kind, int(theme), i)
        for kind, sign in kinds.items()
        for theme in np.flatnonzero(themes == sign)
        for i in range(WORDS_EACH)
    )


def documents(of: Sequence[Integers], longest: int | None = None) -> Tensor:
    """Documents side by side, (documents, T), cut after ``longest`` words and filled up with 0."""
    size = max((len(words) for words in of), default=0)
    size = size if longest is None else min(size, longest)
    ids = torch.zeros(len(of), size, dtype=torch.int64)
    for row, words in zip(ids, of, strict=True):
        row[: min(len(words), size)] = torch.from_numpy(words[:size])
    return ids


def counts(of: Sequence[Integers]) -> Floats:
    """How often each word occurs in each document: a bag of words."""
    return np.stack([np.bincount(words, minlength=len(WORDS)) for words in of]).astype(np.float64)
