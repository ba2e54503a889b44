"""A small English and a made language that orders its words otherwise, both from one grammar.

English:  subject verb object,        "the old dogs that see a cat chase the small bird"
made:     subject object verb,        each noun before its adjectives, a clause before its noun, and verbs that
          end as their subject does
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.systems.data.symbols import Pairs, Symbols

NOUNS = {
    "dog": "hun",
    "cat": "kis",
    "bird": "vog",
    "child": "lap",
    "king": "rek",
    "fish": "pir",
    "tree": "dar",
    "house": "tal",
}
ADJECTIVES = {"old": "sena", "small": "mika", "red": "ruba", "wise": "sofa", "quiet": "tasa", "young": "nova"}
VERBS = {"see": "vid", "chase": "kur", "love": "am", "find": "trov", "hear": "aud", "carry": "port"}
PLURALS = {"child": "children", "fish": "fishes", "house": "houses"}
ENGLISH = Symbols(
    (
        *("the", "a", "some", "that"),
        *NOUNS,
        *(PLURALS.get(noun, noun + "s") for noun in NOUNS),
        *ADJECTIVES,
        *VERBS,
        *(verb[:-1] + "ies" if verb == "carry" else verb + "s" for verb in VERBS),
    )
)
MADE = Symbols(
    (
        *("lo", "la", "ke"),
        *(noun + ending for noun in NOUNS.values() for ending in ("o", "oj")),
        *(word + ending for word in ADJECTIVES.values() for ending in ("", "j")),
        *(verb + ending for verb in VERBS.values() for ending in ("as", "ajs")),
    )
)


@dataclass(frozen=True)
class Phrase:
    """A noun with what belongs to it.

    Attributes
    ----------
    noun : str
    many, known : bool
        Whether there are several, and whether one knows which.
    adjectives : tuple of str
    verb, object : optional
        Of a clause about it: "that chase the cat".
    """

    noun: str
    many: bool
    known: bool
    adjectives: tuple[str, ...]
    verb: str | None = None
    object: Phrase | None = None

    def english(self) -> list[str]:
        """Article, adjectives, noun, clause."""
        article = "the" if self.known else "some" if self.many else "a"
        noun = PLURALS.get(self.noun, self.noun + "s") if self.many else self.noun
        clause = [] if self.object is None else ["that", english_verb(self.verb, self.many), *self.object.english()]
        return [article, *self.adjectives, noun, *clause]

    def made(self) -> list[str]:
        """Clause, article, noun, adjectives that end as the noun does."""
        clause = [] if self.object is None else [*self.object.made(), made_verb(self.verb, self.many), "ke"]
        ending = "j" if self.many else ""
        adjectives = [ADJECTIVES[word] + ending for word in self.adjectives]
        return [*clause, "la" if self.known else "lo", NOUNS[self.noun] + "o" + ending, *adjectives]

    def plain(self) -> list[str]:
        """The made words in the English order."""
        ending = "j" if self.many else ""
        adjectives = [ADJECTIVES[word] + ending for word in self.adjectives]
        clause = [] if self.object is None else ["ke", made_verb(self.verb, self.many), *self.object.plain()]
        return ["la" if self.known else "lo", *adjectives, NOUNS[self.noun] + "o" + ending, *clause]


def english_verb(verb: str | None, many: bool) -> str:
    """The verb as English has it after one or several."""
    assert verb is not None
    return verb if many else "carries" if verb == "carry" else verb + "s"


def made_verb(verb: str | None, many: bool) -> str:
    """The verb as the made language has it."""
    assert verb is not None
    return VERBS[verb] + ("ajs" if many else "as")


def translation(n: int, seed: int, *, reorder: bool = True) -> Pairs:
    """English sentences and their translations, 5 words to 24 or more.

    Parameters
    ----------
    n : int
    seed : int
    reorder : bool
        Whether the made language has its own order of words; otherwise word stands by word.

    Examples
    --------
    >>> pairs = translation(1, seed=3)
    >>> " ".join(ENGLISH.decode(pairs.sources[0]))
    'the small old cats find some children'
    >>> " ".join(MADE.decode(pairs.targets[0]))
    'la kisoj mikaj senaj lo lapoj trovajs'
    """
    rng = np.random.default_rng(seed)
    sources, targets = [], []
    for _ in range(n):
        subject, verb, thing = _phrase(rng, 2), _one(rng, VERBS), _phrase(rng, 2)
        sources.append(ENGLISH.encode([*subject.english(), english_verb(verb, subject.many), *thing.english()]))
        said = made_verb(verb, subject.many)
        words = [*subject.made(), *thing.made(), said] if reorder else [*subject.plain(), said, *thing.plain()]
        targets.append(MADE.encode(words))
    return Pairs(sources, targets, ENGLISH, MADE)


def _phrase(rng: np.random.Generator, deeper: int) -> Phrase:
    """A noun with up to two adjectives and, ``deeper`` times at most, a clause."""
    some = tuple(rng.choice(list(ADJECTIVES), size=int(rng.integers(3)), replace=False).tolist())
    noun, many, known = _one(rng, NOUNS), bool(rng.integers(2)), bool(rng.integers(2))
    if not deeper or rng.random() < 0.6:
        return Phrase(noun, many, known, some)
    return Phrase(noun, many, known, some, _one(rng, VERBS), _phrase(rng, deeper - 1))


def _one(rng: np.random.Generator, words: dict[str, str]) -> str:
    return list(words)[int(rng.integers(len(words)))]
