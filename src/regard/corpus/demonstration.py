"""A corpus of short reviews that is made on the spot and knows what is true of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import polars as pl

from regard.corpus.corpus import Corpus, Source
from regard.corpus.grammar import (
    BEFORE_MEDIUM,
    BEFORE_STRONG,
    BEFORE_WEAK,
    CLOSINGS,
    DOMAINS,
    FIELDS,
    MIXED,
    NEGATED,
    NEGATIVE,
    OF_A_FURTHER_ASPECT,
    OF_AN_ASPECT,
    OF_THE_WHOLE,
    OF_TWO_ASPECTS,
    POSITIVE,
    Aspect,
    Side,
)
from regard.errors import SettingError

LABELS = ("negative", "positive")
_NOISE = 0.04  # of the labels are wrong, so that no honest classifier reaches 100 %
_TEST = 0.2
_NOT = {False: ("was not", "wasn't"), True: ("were not", "weren't")}
_NEVER = {False: "was never", True: "were never"}
_FIRST_PERSON = (("I", "my", "me"), ("we", "our", "us"))
_LENGTHS = (1, 2, 2, 3, 3, 3, 4, 4, 5)


@dataclass(frozen=True, eq=False)
class Truth:
    """What an explanation of the demonstration corpus should find.

    Attributes
    ----------
    words : DataFrame
        ``word`` (every word that occurs), ``side`` (+1, 0, −1), ``loudness`` (1 strong, 0.7, 0.4 weak, 0
        neutral).
    phrases : DataFrame
        ``phrase``, ``side``: two words whose side is the opposite of that of the second, such as "not good".
    flipped : (rows,)
        True where the label is wrong on purpose.
    """

    words: pl.DataFrame
    phrases: pl.DataFrame
    flipped: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class DemoCorpus(Corpus):
    """The demonstration corpus with its truth.

    Attributes
    ----------
    truth : Truth
        Of the whole corpus; a part of it keeps the same words and phrases, and its own rows of ``flipped``.
    """

    truth: Truth

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.generic]]) -> DemoCorpus:
        """The chosen rows, with the truth about them."""
        part = super().take(rows)
        return replace(part, truth=replace(self.truth, flipped=self.truth.flipped[rows]))


def demo(n: int = 2400, seed: int = 0) -> DemoCorpus:
    """Make reviews of films, products and restaurants.

    About half are positive; some are mixed with one side louder, some negate ("not bad"), and about 4 % of
    the labels are wrong. All words but the polar ones are drawn independently of the label.

    Parameters
    ----------
    n : int
        How many.
    seed : int
        The same seed makes the same corpus.

    Returns
    -------
    DemoCorpus
        With labels ``positive`` and ``negative`` and a split: four fifths ``train``, one fifth ``test``.

    Examples
    --------
    >>> corpus = demo()
    >>> len(corpus), corpus.parts
    (2400, ('train', 'test'))
    """
    if n < 10:
        raise SettingError(f"n must be at least 10, so that both classes have rows to train and to test; got {n}.")
    # The standard generator draws the same on every machine; nothing here is secret.
    random = Random(seed)  # noqa: S311
    # Exact halves and fifths in a random order: shares do not depend on the seed.
    sides = [i % 2 for i in range(n)]
    random.shuffle(sides)
    texts = _distinct_texts(random, sides)
    flipped = np.array([random.random() < _NOISE for _ in range(n)])
    labels = np.array([LABELS[side ^ bool(wrong)] for side, wrong in zip(sides, flipped, strict=True)])
    parts = ["test" if i < round(_TEST * n) else "train" for i in range(n)]
    random.shuffle(parts)
    source = Source("demo", "demo", n, "text", "made that way", "label", "made that way", "split", "made that way")
    truth = Truth(_words(texts), _phrases(), flipped)
    return DemoCorpus(texts, labels, np.array(parts), source, truth)


def _distinct_texts(random: Random, sides: list[int]) -> list[str]:
    """No text twice: what is tested on must not have been learned by heart."""
    texts: dict[str, None] = {}
    for side in sides:
        while (text := _Review(random, side).text()) in texts:
            pass
        texts[text] = None
    return list(texts)


class _Fields(dict[str, str]):
    """What stands in a sentence's fields; those that are not given are drawn on first use."""

    def __init__(self, random: Random, given: dict[str, str]) -> None:
        super().__init__(given)
        self.random = random

    def __missing__(self, name: str) -> str:
        values = FIELDS[name.removesuffix("2")]
        if name.endswith("2"):
            first = self[name[:-1]]
            values = tuple(value for value in values if value != first)
        self[name] = self.random.choice(values)
        return self[name]


class _Review:
    """One review in the making: what it is about, and which words it has already used."""

    def __init__(self, random: Random, side: int) -> None:
        self.random = random
        self.own, self.other = (POSITIVE, NEGATIVE) if side else (NEGATIVE, POSITIVE)
        self.domain = random.choice(DOMAINS)
        thing = random.choice(tuple(self.domain.things))
        self.aspects = list(self.domain.things[thing] + self.domain.shared)
        random.shuffle(self.aspects)
        self.used: set[str] = set()
        speaker, my, me = random.choice(_FIRST_PERSON)
        self.given = {"I": speaker, "my": my, "me": me, "thing": thing, "a_thing": _with_article(thing)}

    def text(self) -> str:
        length = self.random.choice(_LENGTHS)
        neutral = min(length - 1, self.random.choice((0, 1, 1, 1, 2)))
        opening = neutral > 0 and self.random.random() < 0.75
        sentences = self._judgements(length - neutral)
        for _ in range(neutral - opening):
            detail = self._say(self.domain.details + CLOSINGS)
            sentences.insert(self.random.randrange(1, len(sentences) + 1), detail)
        if opening:
            sentences.insert(0, self._say(self.domain.openings))
        return " ".join(s[0].upper() + s[1:] for s in sentences)

    def _judgements(self, count: int) -> list[str]:
        kinds = (self._of_an_aspect, self._of_two_aspects, self._negated, self._mixed)
        made: list[str] = []
        for i in range(count):
            # A verdict on the whole stands at the end, where reviewers put it.
            if self.random.random() < (0.4 if i == count - 1 else 0.1):
                made.append(self._of_the_whole())
            elif made and self.random.random() < 0.35:
                made.append(self._of_an_aspect(OF_A_FURTHER_ASPECT))
            else:
                made.append(self.random.choices(kinds, (7, 2.5, 1.6, 2))[0]())
        return made

    # --- sentences

    def _of_an_aspect(self, templates: tuple[str, ...] = OF_AN_ASPECT) -> str:
        a = self._aspect()
        adjective = self._adjective(self.own, a)
        very = self._very(adjective)
        sentence = self._say(
            templates,
            self._about(a),
            adj=adjective,
            very=very,
            verdict=(very + adjective).capitalize(),
            loved=self._draw(self.own.loved),
        )
        loud = adjective in self.own.strong and self.random.random() < 0.2
        return sentence[:-1] + "!" if loud else sentence

    def _of_two_aspects(self) -> str:
        a, b = self._aspect(), self._aspect()
        first, second = self._adjective(self.own, a), self._adjective(self.own, b)
        return self._say(
            OF_TWO_ASPECTS,
            self._about(a) | self._about(b, "2"),
            adj=first,
            adj2=second,
            very=self._very(first),
            very2=self._very(second),
            loved=self._draw(self.own.loved),
            noun=self._draw(self.own.noun),
        )

    def _of_the_whole(self) -> str:
        adjective = self._draw(self._plain(self.own))
        return self._say(
            OF_THE_WHOLE,
            adj=adjective,
            very=self._very(adjective),
            a_adj=_with_article(adjective),
            noun=self._draw(self.own.noun),
            pleased=self._draw(self.own.pleased),
            adverb=self._draw(self.own.adverb),
            made=self._draw(self.domain.made),
            advise=self.random.choice(self.own.advise),
        )

    def _negated(self) -> str:
        a = self._aspect()
        words = self.other.negatable + (self.other.negatable_story if a.group == "story" else ())
        not_ = self.random.choice(_NOT[a.plural])
        return self._say(NEGATED, self._about(a), not_=not_, never=_NEVER[a.plural], bad=self._draw(words))

    def _mixed(self) -> str:
        a, b = self._aspect(), self._aspect()
        major = self._draw(self.own.strong + self.own.medium)
        return self._say(
            MIXED,
            self._about(a) | self._about(b, "2"),
            minor=self._draw(self.other.weak + self.other.medium),
            major=major,
            very=self._very(major),
            loved=self._draw(self.own.loved[:2]),
        )

    # --- words

    def _draw(self, words: tuple[str, ...]) -> str:
        """A word that this review has not used yet, where there is one."""
        word = self.random.choice(words)
        for _ in range(4):
            if word not in self.used:
                break
            word = self.random.choice(words)
        self.used.add(word)
        return word

    def _say(self, templates: tuple[str, ...], about: dict[str, str] | None = None, **words: str) -> str:
        return self._draw(templates).format_map(_Fields(self.random, self.given | (about or {}) | words))

    def _aspect(self) -> Aspect:
        aspect = self.aspects.pop()
        self.aspects.insert(0, aspect)
        return aspect

    def _about(self, aspect: Aspect, number: str = "") -> dict[str, str]:
        return {f"aspect{number}": aspect.name, f"was{number}": "were" if aspect.plural else "was"}

    def _plain(self, side: Side) -> tuple[str, ...]:
        return self.random.choices((side.strong, side.medium, side.weak), (3, 4, 4))[0]

    def _adjective(self, side: Side, aspect: Aspect) -> str:
        special = {
            "story": side.of_story,
            "part": side.of_part,
            "food": side.of_food,
            "place": side.of_place,
            "staff": side.of_staff,
        }.get(aspect.group, ())
        share = 0.7 if aspect.group in ("place", "staff") else 0.4
        return self._draw(special if special and self.random.random() < share else self._plain(side))

    def _very(self, adjective: str) -> str:
        if self.random.random() < 0.6:
            return ""
        words: tuple[str, ...] = BEFORE_MEDIUM
        if adjective in self.own.strong:
            words = BEFORE_STRONG
        elif adjective in self.own.weak:
            words = BEFORE_WEAK
        return self._draw(words) + " "


def _with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _words(texts: list[str]) -> pl.DataFrame:
    """Every word that occurs, lower-case; what is not polar by the grammar is neutral."""
    sides = {word: (1, value) for word, value in POSITIVE.loudness().items()}
    sides |= {word: (-1, value) for word, value in NEGATIVE.loudness().items()}
    occurring = sorted({word for text in texts for word in re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())})
    rows = [(word, *sides.get(word, (0, 0.0))) for word in occurring]
    return pl.DataFrame(rows, schema={"word": pl.String, "side": pl.Int8, "loudness": pl.Float64}, orient="row")


def _phrases() -> pl.DataFrame:
    negators = ("never", "not", "wasn't", "weren't")
    rows = [
        (f"{negator} {word}", side)
        for side, words in ((-1, POSITIVE), (1, NEGATIVE))
        for negator in negators
        for word in words.negatable + words.negatable_story
    ]
    return pl.DataFrame(rows, schema={"phrase": pl.String, "side": pl.Int8}, orient="row")
