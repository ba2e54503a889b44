"""Who leads in texts, and how the others gather: what the section on leaders shows of a hardmax model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.models.hardmax.model import HardmaxModel
from regard.report.data import Document

if TYPE_CHECKING:
    from regard.models.model import Model

_TEXTS, _WORDS, _LEADING = 16, 120, 15


@dataclass(frozen=True)
class Traveller:
    """A word of a text on its way.

    ``leader`` is the layer in which it became a leader, and ``cluster`` the word that it gathers around for good;
    ``path`` are its places in the plane, before the first layer and after each.
    """

    text: str
    times: int
    kind: str
    leader: int | None
    cluster: int | None
    contribution: float
    path: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Journey:
    """A text through the layers."""

    text: str
    prediction: str
    words: tuple[Traveller, ...]


@dataclass(frozen=True)
class Leading:
    """Leaders of many texts, and the words of some on their way.

    Attributes
    ----------
    texts : int
        How many were counted.
    number : float
        Leaders a text.
    share, expected : float
        The share of polar words among leaders, and among all words of the texts.
    words : tuple of (word, kind, texts in which it leads, texts with it)
        Those that lead most often.
    items : tuple of Journey
        Texts to look at.
    plane : bool
        Whether the points live in the plane; otherwise they are shown along ``W`` and their widest other direction.
    """

    texts: int
    number: float
    share: float
    expected: float
    words: tuple[tuple[str, str, int, int], ...]
    items: tuple[Journey, ...]
    plane: bool

    def for_page(self) -> dict[str, Any]:
        """What the program of the section needs."""
        return {"items": [asdict(each) for each in self.items]}


def leading(model: Model, texts: Sequence[str], documents: Sequence[Document]) -> Leading | None:
    """The leaders of texts, and some documents through the layers; nothing for a model without leaders."""
    if not isinstance(model, HardmaxModel) or not documents:
        return None
    rows = model.vocabulary.rows(model.vocabulary.tokens(texts))
    if not len(rows.ids):
        return None
    from regard.explain.gathering import leader_statistics  # needs numba, which takes a moment

    found = leader_statistics(model, texts)
    short = [each for each in documents if 4 <= len(each.text.split()) <= _WORDS]
    spread = np.linspace(0, len(short) - 1, min(_TEXTS, len(short))).astype(int).tolist()
    journeys = tuple(_journey(model, short[i]) for i in spread)
    polar = found.polar
    return Leading(
        found.texts,
        found.number[0],
        polar["leaders"],
        polar["occurrences"],
        tuple((row["word"], row["kind"], row["leads"], row["texts"]) for row in found.words.head(_LEADING).to_dicts()),
        tuple(each for each in journeys if each.words),
        model.output.shape[0] == 2,
    )


def _journey(model: HardmaxModel, document: Document) -> Journey:
    from regard.explain.gathering import leaders

    told = leaders(model, document.text)
    if not told.points:
        return Journey(document.text, str(document.prediction), ())
    path = np.round(told.path @ _view(told.path[0], model.output), 4)
    words = tuple(
        Traveller(
            point.text,
            point.times,
            point.kind,
            point.leader,
            point.cluster,
            point.contribution,
            tuple((float(x), float(y)) for x, y in path[:, i]),
        )
        for i, point in enumerate(told.points)
    )
    return Journey(document.text, str(document.prediction), words)


def _view(points: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two directions to look along, (d, 2): the plane itself, or ``W`` and the widest across it; a line lies flat."""
    d = points.shape[1]
    if d == 2:
        return np.eye(2)
    if d == 1:
        return np.array([[1.0, 0.0]])
    first = output[:, 0] / max(float(np.linalg.norm(output[:, 0])), 1e-300)
    across = points - np.outer(points @ first, first)
    return np.stack([first, np.linalg.svd(across - across.mean(axis=0), full_matrices=False)[2][0]], axis=1)
