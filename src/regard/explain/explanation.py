"""What an explanation holds: every part of a prediction, adding up to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.errors import SettingError

if TYPE_CHECKING:
    from rich.text import Text

    from regard.models.model import Model


@dataclass(frozen=True)
class Part:
    """One occurrence of a row of the table, word or phrase.

    Attributes
    ----------
    text : str
        The row's words in normal form.
    first, last : int
        It covers the words ``first`` to ``last - 1`` of the explanation.
    start, end : int
        It covers the characters ``text[start:end]`` of the document.
    attention : float
        How loudly it speaks.
    weight : float
        Its share of the attention of this text.
    polarity : float
        Which side it takes.
    contribution : float
        weight · polarity.
    """

    text: str
    first: int
    last: int
    start: int
    end: int
    attention: float
    weight: float
    polarity: float
    contribution: float


@dataclass(frozen=True)
class Word:
    """A word of the text, with its equal share of every part that covers it.

    ``attention`` and ``polarity`` are those of the word's own row, and nothing where the word has no row.
    """

    text: str
    start: int
    end: int
    attention: float | None
    weight: float
    polarity: float | None
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """A prediction taken apart: score = bias + the sum of the contributions.

    Attributes
    ----------
    text : str
        The document.
    prediction
        The label.
    probability : float
        Of the prediction.
    probabilities : dict
        Of every label.
    label
        Whose score is explained: contributions above zero speak for it. The second of two classes; with more
        classes, the prediction unless another was asked for.
    score, bias : float
        The score of ``label`` (its log odds, for two classes) and what it would be without any word.
    parts : tuple of Part
        The exact parts, one for each occurrence of a row.
    words : tuple of Word
        The same, shared among words.
    residual : float
        score − bias − Σ contributions: rounding, and nothing else.
    """

    text: str
    prediction: Any
    probability: float
    probabilities: dict[Any, float]
    label: Any
    score: float
    bias: float
    parts: tuple[Part, ...]
    words: tuple[Word, ...]
    residual: float
    _model: Model
    _masked: frozenset[int] = frozenset()

    def without(self, words: Iterable[int], how: Literal["mask", "delete"] = "mask") -> Explanation:
        """Explain the text without some of its words.

        Parameters
        ----------
        words
            Places in ``self.words``.
        how
            ``"mask"`` takes away every row that contains such a word and leaves the gap: nothing new appears.
            ``"delete"`` cuts the words out of the text, so that their neighbours meet and may form a new phrase.
        """
        from regard.explain.explaining import explain_one

        places = frozenset(words)
        if unknown := [i for i in places if not 0 <= i < len(self.words)]:
            raise SettingError(f"`words` must be places from 0 to {len(self.words) - 1}; got {min(unknown)}.")
        if how == "mask":
            return explain_one(self._model, self.text, self.label, self._masked | places)
        if how == "delete":
            if self._masked:
                raise SettingError("Words are masked here already; delete from the explanation of the whole text.")
            text, at = [], 0
            for i in sorted(places):
                text.append(self.text[at : self.words[i].start])
                at = self.words[i].end
            return explain_one(self._model, "".join([*text, self.text[at:]]), self.label)
        raise SettingError(f"`how` must be 'mask' or 'delete'; got {how!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "text": self.text,
            "prediction": self.prediction,
            "probability": self.probability,
            "probabilities": {str(label): p for label, p in self.probabilities.items()},
            "label": self.label,
            "score": self.score,
            "bias": self.bias,
            "residual": self.residual,
            "words": [asdict(word) for word in self.words],
            "parts": [asdict(part) for part in self.parts],
        }

    @property
    def other(self) -> str:
        """What contributions below zero speak for."""
        rest = [label for label in self.probabilities if label != self.label]
        return str(rest[0]) if len(rest) == 1 else "the others"

    def to_rich(self) -> Text:
        """The text in colour for a terminal."""
        from regard.explain.show import to_rich

        return to_rich(self)

    def to_html(self) -> str:
        """The text in colour for a page, with a table of its loudest parts."""
        from regard.explain.show import to_html

        return to_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_rich().plain


class Explanations(Sequence[Explanation]):
    """Explanations of several texts; a notebook shows them below one another."""

    def __init__(self, items: Iterable[Explanation]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self._items[index])
        return self._items[index]

    def __repr__(self) -> str:
        return "\n\n".join(str(item) for item in self._items)

    def _repr_html_(self) -> str:
        return "\n".join(item.to_html() for item in self._items)


def add_up(score: float, bias: float, parts: Iterable[Part]) -> float:
    """The residual: what the parts leave unexplained of a score."""
    return math.fsum([score, -bias, *(-part.contribution for part in parts)])
