"""What a report holds, before anything is drawn: the page and the JSON form show the same data."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.explain.findings import Finding
from regard.report.assessment import Assessment

if TYPE_CHECKING:
    from regard.models.table import TableModel
    from regard.report.audited import Audited
    from regard.report.leading import Leading


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction.

    Attributes
    ----------
    row : int
        Its place in the data.
    excerpt : str
        The beginning of the text.
    label, prediction
        The truth and what the model says.
    probability : float
        Of the prediction.
    document : int or None
        Its place in ``Documents.items``.
    """

    row: int
    excerpt: str
    label: Any
    prediction: Any
    probability: float
    document: int | None


@dataclass(frozen=True)
class Epoch:
    """What the training saw after a pass over its texts; None where it did not look.

    Attributes
    ----------
    loss : float or None
        On the texts it learned from.
    log_loss, accuracy : float or None
        On texts held out.
    """

    loss: float | None = None
    log_loss: float | None = None
    accuracy: float | None = None


@dataclass(frozen=True)
class Overview:
    """What was learned from what, and how well.

    Attributes
    ----------
    name : str
        What the report is called.
    classes : tuple
        The labels.
    texts : int or None
        How many texts the model was trained on.
    data : dict
        Where they came from and how they were split.
    words, phrases : int
        Rows of the table.
    settings : dict
        Of the training.
    epochs : int or None
        Passes over the texts.
    version : str or None
        Of regard, when it was trained.
    assessments : tuple of Assessment
        What was measured, the test first.
    course : tuple of Epoch
        How the training went, where it kept that.
    mistakes : tuple of Mistake
        The most confident ones.
    """

    name: str
    classes: tuple[Any, ...]
    texts: int | None
    data: dict[str, Any]
    words: int
    phrases: int
    settings: dict[str, Any]
    epochs: int | None
    version: str | None
    assessments: tuple[Assessment, ...]
    course: tuple[Epoch, ...] = ()
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True)
class Map:
    """Every word at (attention, polarity): Figure 2 of the paper, for one's own data.

    Attributes
    ----------
    word : (points,)
        Words first, then phrases; of each at most ``limit``, the most frequent ones, in the order of the table.
    attention : (points,)
        How loudly it speaks.
    polarity : (points, sides)
        Which side it takes.
    count : (points,)
        How often it occurs in the training texts.
    kind : (points,)
        A place in ``kinds``.
    kinds : list of str
        none, neutral, and a name for every class.
    limit : int
        How many points the page draws at a time.
    """

    word: list[str]
    attention: NDArray[np.float32]
    polarity: NDArray[np.float32]
    count: NDArray[np.int64]
    kind: NDArray[np.intp]
    kinds: list[str]
    limit: int

    def __len__(self) -> int:
        return len(self.word)

    def to_dict(self) -> dict[str, Any]:
        """Columns of plain numbers; the kinds by name."""
        return {
            "word": self.word,
            "attention": self.attention.tolist(),
            "polarity": self.polarity.tolist(),
            "count": self.count.tolist(),
            "kind": [self.kinds[k] for k in self.kind.tolist()],
        }

    def for_page(self) -> dict[str, Any]:
        """The page has the table, and needs no more than the limit."""
        return {"limit": self.limit}


@dataclass(frozen=True)
class Row:
    """A word or phrase with its numbers.

    ``polarity`` is that of the side where it is listed.
    """

    text: str
    attention: float
    polarity: float
    counts: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Side:
    """The loudest words that speak for a label."""

    label: Any
    loudest: tuple[Row, ...]


@dataclass(frozen=True)
class Turn:
    """A phrase that takes the other side than its last word."""

    phrase: Row
    word: Row


@dataclass(frozen=True)
class Words:
    """What the table says first: the loudest of each side, and the phrases that turn a word."""

    sides: tuple[Side, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Part:
    """A word or phrase at its place in a text: the tokens ``first:last``; the polarity is that for the prediction."""

    row: int
    first: int
    last: int
    attention: float
    weight: float
    polarity: float


@dataclass(frozen=True)
class Document:
    """A text with its prediction; ``label`` and ``correct`` are None where the truth is not known.

    ``parts`` is what the model attended to; None where words speak the same in every text, so that the page works it
    out from the table.
    """

    row: int
    text: str
    label: Any
    prediction: Any
    probability: float
    correct: bool | None
    parts: tuple[Part, ...] | None = None


@dataclass(frozen=True)
class Documents:
    """Texts to browse.

    Attributes
    ----------
    items : tuple of Document
        The most confident mistakes first, then a random choice of the others.
    texts, wrong : int
        How many there are in all.
    part : str
        Of which part of the data.
    """

    items: tuple[Document, ...]
    texts: int
    wrong: int
    part: str

    def for_page(self) -> dict[str, Any]:
        """What the program of the section needs; parts as columns."""
        return {
            "items": [
                {
                    "row": each.row,
                    "text": each.text,
                    "label": None if each.label is None else str(each.label),
                    "prediction": str(each.prediction),
                    "probability": each.probability,
                    "parts": None if each.parts is None else _columns(each.parts),
                }
                for each in self.items
            ]
        }


@dataclass(frozen=True)
class Report:
    """A model as one page: a field for every section, in their order; one without data is empty or None, and absent.

    Attributes
    ----------
    overview, map, words : Overview, Map, Words
        What every model has.
    reading : tuple of Finding
        Whether its scores can be read.
    documents : Documents or None
        Where texts were given.
    leaders : Leading or None
        Where texts were given and words gather around leaders.
    exact : bool
        Whether words speak the same in every text, so that the table is the model and the page can predict.
    audit : Audited or None
        Where its heat map was audited.
    """

    overview: Overview
    map: Map
    words: Words
    reading: tuple[Finding, ...]
    documents: Documents | None
    leaders: Leading | None
    exact: bool
    audit: Audited | None
    model: TableModel = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON; sections without data are absent."""
        sections = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "model"}
        return {name: _plain(data) for name, data in sections.items() if data not in (None, ())}

    def to_json(self) -> str:
        """The same as one JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=True, allow_nan=False)

    def to_html(self) -> str:
        """The page: one file, no network, and the model itself inside it."""
        from regard.report.page import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        from regard.models.store import write_whole

        write_whole(path, self.to_html().encode("utf-8", "replace"))

    def _repr_html_(self) -> str:
        from regard.report.page import notebook

        return notebook(self)


def _columns(parts: tuple[Part, ...]) -> list[list[float]]:
    """Rows, firsts, lasts, attention, weights and polarity."""
    return [[getattr(part, each.name) for part in parts] for each in fields(Part)]


def _plain(data: Any) -> Any:
    """Dataclasses as dictionaries, all the way down; ``Map`` has arrays and says itself how."""
    if isinstance(data, Map):
        return data.to_dict()
    if isinstance(data, tuple):
        return [_plain(each) for each in data]
    return asdict(data) if is_dataclass(data) and not isinstance(data, type) else data
