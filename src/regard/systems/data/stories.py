"""Stories to be asked about: people go to places and take bags, in which there are things.

A question needs one, two or three sentences of its story, one found through the other:

    where is mary       mary went to the garden
    where is the box    mary took the box; mary went to the garden
    where is the ring   the ring is in the box; mary took the box; mary went to the garden

Only the latest sentence about anybody or anything holds, so age matters, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.errors import SettingError

PEOPLE = ("mary", "john", "anna", "peter")
PLACES = ("kitchen", "garden", "office", "cellar", "bedroom")
BAGS = ("box", "basket", "suitcase")
THINGS = ("ring", "coin", "key", "letter")
WORDS = ("", *PEOPLE, *PLACES, *BAGS, *THINGS, "went", "to", "the", "took", "is", "in", "where")  # "" fills up
FACTS = (1, 2, 3)
_ID = {word: i for i, word in enumerate(WORDS)}
_LONGEST = 6  # words in a sentence


@dataclass(frozen=True)
class Story:
    """Sentences, a question about them, its answer, and the sentences that give it, the first to be found first."""

    sentences: tuple[str, ...]
    question: str
    answer: str
    supports: tuple[int, ...]


@dataclass(frozen=True)
class StoryBatch:
    """Stories as numbers of words.

    Attributes
    ----------
    sentences : (stories, S, W)
        Zero where there is no word.
    question : (stories, W)
    answer : (stories,)
    supports : bool (stories, S)
        The sentences that give the answer.
    """

    sentences: Tensor
    question: Tensor
    answer: Tensor
    supports: Tensor

    def __len__(self) -> int:
        return len(self.answer)


def make_story(facts: int, rng: np.random.Generator, *, shortest: int = 6, longest: int = 12) -> Story:
    """Tell a story of ``shortest`` to ``longest`` sentences, and ask what takes so many ``facts``."""
    if facts not in FACTS:
        raise SettingError(f"`facts` must be 1, 2 or 3; got {facts!r}.")
    if not 2 * facts <= shortest <= longest:
        raise SettingError(
            f"A story must have from {2 * facts} sentences; got `shortest` {shortest}, {longest} at most."
        )
    length = int(rng.integers(shortest, longest + 1))
    while True:
        sentences, known = _tell(length, rng)
        chains = [chain for chain in (_chain(each, known) for each in known) if _leads(chain, facts)]
        if chains:
            chain = chains[int(rng.integers(len(chains)))]
            asked = chain[0] if chain[0] in PEOPLE else f"the {chain[0]}"
            supports = tuple(known[each][1] for each in chain[:-1])
            return Story(tuple(sentences), f"where is {asked}", chain[-1], supports)


_State = dict[str, tuple[str, int]]  # who or what: where it is, and the sentence that says so


def _chain(asked: str, known: _State) -> list[str]:
    """From what is asked for to what has it, and on, as far as is known."""
    chain = [asked]
    while chain[-1] in known:
        chain.append(known[chain[-1]][0])
    return chain


def _leads(chain: Sequence[str], facts: int) -> bool:
    """Whether so many facts lead to a place."""
    return len(chain) == facts + 1 and chain[-1] in PLACES


def _tell(length: int, rng: np.random.Generator) -> tuple[list[str], _State]:
    def one(of: Sequence[str]) -> str:
        return of[int(rng.integers(len(of)))]

    sentences: list[str] = []
    known: _State = {}
    for i in range(length):
        kind = rng.random()
        if kind < 0.5:
            person, where = one(PEOPLE), one(PLACES)
            known[person] = where, i
            sentences.append(f"{person} went to the {where}")
        elif kind < 0.75:
            person, bag = one(PEOPLE), one(BAGS)
            known[bag] = person, i
            sentences.append(f"{person} took the {bag}")
        else:
            thing, bag = one(THINGS), one(BAGS)
            known[thing] = bag, i
            sentences.append(f"the {thing} is in the {bag}")
    return sentences, known


def make_stories(
    count: int, seed: int | Sequence[int], facts: Sequence[int] = FACTS, *, shortest: int = 6, longest: int = 12
) -> list[Story]:
    """Stories, each kind of question as often as the others."""
    rng = np.random.default_rng(seed)
    return [make_story(facts[i % len(facts)], rng, shortest=shortest, longest=longest) for i in range(count)]


def batch_of(stories: Sequence[Story]) -> StoryBatch:
    """Stories side by side, the shorter ones filled up at the end."""
    longest = max(len(story.sentences) for story in stories)
    sentences = torch.zeros(len(stories), longest, _LONGEST, dtype=torch.int64)
    question = torch.zeros(len(stories), _LONGEST, dtype=torch.int64)
    answer = torch.zeros(len(stories), dtype=torch.int64)
    supports = torch.zeros(len(stories), longest, dtype=torch.bool)
    for i, story in enumerate(stories):
        for j, sentence in enumerate(story.sentences):
            ids = encode(sentence)
            sentences[i, j, : len(ids)] = ids
        ids = encode(story.question)
        question[i, : len(ids)] = ids
        answer[i] = _ID[story.answer]
        supports[i, list(story.supports)] = True
    return StoryBatch(sentences, question, answer, supports)


def encode(sentence: str) -> Tensor:
    """The numbers of the words of a sentence or a question."""
    words = sentence.split()
    unknown = [word for word in words if word not in _ID]
    if unknown or len(words) > _LONGEST:
        raise SettingError(
            f"A sentence must have at most {_LONGEST} words of the stories, such as {', '.join(WORDS[1:6])}; got "
            f"{sentence!r}."
        )
    return torch.tensor([_ID[word] for word in words])
