"""Clean sentences from a small grammar, and the mistakes of learners put into them, one edit each.

    agreement     the old teacher (like → likes) a green apple
    article       the girls see (an → a) river;  the boy is proud of (→ a) song
    preposition   the teachers depend (of → on) a plan
    order         the (dog big → big dog) often waits for a train
    spelling      the boy draws a (latnern → lantern)

Subjects have "the", objects that are one have "a" or "an", adjectives come before nouns and adverbs before verbs, and
every verb and adjective has its preposition: so for each mistake there is one correction. Most words are common and
belong to the vocabulary. Objects may be rare words, which do not: they are ``RARE``, of which ``UNSEEN`` never occur
in training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import SettingError

NOUNS = (
    *("dog", "teacher", "boy", "girl", "farmer", "artist", "engineer", "uncle", "doctor", "student"),
    *("apple", "book", "song", "river", "train", "plan", "idea", "island", "orange", "letter"),
)
ADJECTIVES = ("big", "old", "green", "young", "honest", "quiet", "empty", "red", "ugly", "clever")
ADVERBS = ("often", "always", "never", "sometimes", "usually", "rarely")
VERBS = ("like", "see", "want", "draw", "find", "need", "carry", "paint")
VERBS_WITH = (("depend", "on"), ("wait", "for"), ("look", "at"), ("think", "about"), ("listen", "to"), ("dream", "of"))
ADJECTIVES_WITH = (("proud", "of"), ("good", "at"), ("famous", "for"), ("similar", "to"), ("angry", "about"))
PREPOSITIONS = ("on", "for", "at", "about", "to", "of", "in", "with")
_RARE = (
    *("lantern", "harbour", "violin", "cathedral", "umbrella", "octopus", "compass", "blanket", "carnival", "emerald"),
    *(
        "pumpkin",
        "telescope",
        "avalanche",
        "basket",
        "cinnamon",
        "dolphin",
        "envelope",
        "feather",
        "glacier",
        "hammock",
    ),
    *("igloo", "jacket", "kettle", "ladder", "magnet", "necklace", "orchard", "parachute", "quilt", "raccoon"),
    *("saddle", "tambourine", "urchin", "volcano", "walnut", "yoghurt", "zeppelin", "anchor", "bracelet", "cushion"),
    *("dungeon", "elephant", "fountain", "gazelle", "hedgehog", "icicle", "jigsaw", "kangaroo", "lemonade", "mustard"),
    *("notebook", "ointment", "penguin", "quarry", "ribbon", "scarecrow", "trumpet", "vineyard", "whistle", "acorn"),
)
UNSEEN = _RARE[-10:]
RARE = _RARE[:-10]
KINDS = ("agreement", "article", "preposition", "order", "spelling")

Words = list[str]


@dataclass(frozen=True)
class Corrected:
    """A sentence with its mistakes, and without.

    Attributes
    ----------
    source, target : list of str
    kinds : tuple of str
        The mistakes that were put in, of ``KINDS``.
    """

    source: Words
    target: Words
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class _Clean:
    """A sentence, and where in it mistakes can be made."""

    words: Words
    verb: int
    plural: bool
    articles: tuple[int, ...]
    preposition: int | None
    pairs: tuple[int, ...]  # first words of pairs whose order is fixed
    rare: int | None


def common_words() -> tuple[str, ...]:
    """The vocabulary: all words that are not rare, and all that a mistake may make of them."""
    nouns = [form for noun in NOUNS for form in (noun, noun + "s")]
    verbs = [form for verb in (*VERBS, *(verb for verb, _ in VERBS_WITH)) for form in (verb, _singular(verb))]
    others = ("the", "a", "an", "is", "are", *ADJECTIVES, *ADVERBS, *(a for a, _ in ADJECTIVES_WITH), *PREPOSITIONS)
    return (*others, *nouns, *verbs)


def _singular(verb: str) -> str:
    return verb[:-1] + "ies" if verb.endswith("ry") else verb + "s"


def _article(following: str) -> str:
    """By sound: of these words only "honest" begins with a vowel that is not written."""
    return "an" if following[0] in "aeiou" or following == "honest" else "a"


def clean_sentence(rng: np.random.Generator, rare: Sequence[str] = RARE, share: float = 0.5) -> _Clean:
    """One sentence of the grammar.

    Parameters
    ----------
    rare : sequence of str
        What an object may be, as often as ``share`` says.
    """
    words: Words = ["the"]
    pairs: list[int] = []
    plural = bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        pairs.append(1)
        words.append(_one(ADJECTIVES, rng))
    words.append(_one(NOUNS[:10], rng) + "s" * plural)
    kind = rng.random()
    preposition = None
    if kind < 0.3:
        adjective, goes_with = ADJECTIVES_WITH[int(rng.integers(len(ADJECTIVES_WITH)))]
        verb = len(words)
        words += ["are" if plural else "is", adjective, goes_with]
        preposition = len(words) - 1
    else:
        if rng.random() < 0.5:
            pairs.append(len(words))
            words.append(_one(ADVERBS, rng))
        verb = len(words)
        if kind < 0.65:
            base = _one(VERBS, rng)
        else:
            base, goes_with = VERBS_WITH[int(rng.integers(len(VERBS_WITH)))]
            preposition = verb + 1
        words.append(base if plural else _singular(base))
        if preposition is not None:
            words.append(goes_with)
    article = len(words)
    rare_place = None
    if rng.random() < share and len(rare):
        words += ["", _one(rare, rng)]
        rare_place = len(words) - 1
    else:
        words.append("")
        if rng.random() < 0.4:
            pairs.append(len(words))
            words.append(_one(ADJECTIVES, rng))
        words.append(_one(NOUNS, rng))
    words[article] = _article(words[article + 1])
    return _Clean(words, verb, plural, (0, article), preposition, tuple(pairs), rare_place)


def _one(of: Sequence[str], rng: np.random.Generator) -> str:
    return of[int(rng.integers(len(of)))]


def misspelt(word: str, rng: np.random.Generator) -> str:
    """A word with one slip: a letter left out, doubled, exchanged with the next, or another letter in its place.

    The first letter stays, as it mostly does.
    """
    if len(word) < 3:
        raise SettingError(f"A word must have three letters to be misspelt; got {word!r}.")
    while True:
        i = int(rng.integers(1, len(word) - 1))
        way = int(rng.integers(4))
        letter = chr(ord("a") + int(rng.integers(26)))
        slip = (
            word[:i] + word[i + 1 :],
            word[: i + 1] + word[i:],
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[:i] + letter + word[i + 1 :],
        )[way]
        if slip != word:
            return slip


def with_errors(clean: _Clean, rng: np.random.Generator, *, rate: float = 0.5, spelling: float = 0.5) -> Corrected:
    """Put mistakes into a sentence, none of which touches another.

    Parameters
    ----------
    rate : float
        How likely there is a mistake in the words; another follows half as likely.
    spelling : float
        How likely a rare word is misspelt.
    """
    target, source = clean.words, list(clean.words)
    kinds: list[str] = []
    edits: dict[str, Callable[[], None]] = {}

    def agree() -> None:
        source[clean.verb] = _other_number(source[clean.verb])

    def article() -> None:
        place = clean.articles[int(rng.integers(len(clean.articles)))]
        wrong = {"a": "an", "an": "a"}.get(target[place], "")
        source[place] = wrong if wrong and rng.random() < 0.5 else ""

    def preposition() -> None:
        assert clean.preposition is not None, "asked for where there is one"
        others = [word for word in (*PREPOSITIONS, "") if word != target[clean.preposition]]
        source[clean.preposition] = _one(others, rng)

    def order() -> None:
        i = clean.pairs[int(rng.integers(len(clean.pairs)))]
        source[i], source[i + 1] = source[i + 1], source[i]

    edits = {"agreement": agree, "article": article}
    if clean.preposition is not None:
        edits["preposition"] = preposition
    if clean.pairs:
        edits["order"] = order
    chance = rate
    while edits and rng.random() < chance:
        kind = _one(list(edits), rng)
        edits.pop(kind)()
        kinds.append(kind)
        chance = rate / 2
        if kind in ("agreement", "order"):  # the two could meet in one word
            edits.pop("agreement" if kind == "order" else "order", None)
    if clean.rare is not None and rng.random() < spelling:
        source[clean.rare] = misspelt(source[clean.rare], rng)
        kinds.append("spelling")
    return Corrected([word for word in source if word], list(target), tuple(kinds))


def _other_number(verb: str) -> str:
    if verb in ("is", "are"):
        return "are" if verb == "is" else "is"
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-1] if verb.endswith("s") else _singular(verb)


def make_corrections(
    count: int, seed: int | Sequence[int], *, rare: Sequence[str] = RARE, share: float = 0.5
) -> list[Corrected]:
    """Sentences with mistakes, and without: a quarter or so have none."""
    rng = np.random.default_rng(seed)
    return [with_errors(clean_sentence(rng, rare, share), rng) for _ in range(count)]
