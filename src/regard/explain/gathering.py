"""Leaders: the words that a hardmax transformer gathers the others around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.attention.hardmax import chosen, run
from regard.errors import DataError
from regard.explain.entries import inner_model, label_codes, some_texts
from regard.models.hardmax.model import HardmaxModel, distinct_rows
from regard.models.inputs import as_labels
from regard.models.kinds import kind_names, kinds_of
from regard.models.table import probabilities
from regard.tokens import tokenize

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Point:
    """A word of a text on its way through the layers.

    Attributes
    ----------
    text : str
        The word or phrase.
    times : int
        How often it occurs in the text.
    kind : str
        Positive, negative, neutral or none, by its counts in the training texts; a class, where there are more.
    leader : int or None
        The layer in which it became a leader; None for one that leads nobody.
    follows : tuple of int
        The points that it is drawn to in the first layer, itself for a leader.
    cluster : int or None
        The leader that it follows for good, itself for a leader; None while it is free.
    moved : float
        How far from its start it ends.
    share : float
        What the mean of all final positions has of its start: all shares of a text add up to one.
    polarity : float
        Which side it takes.
    contribution : float
        share · polarity: the score is the bias and all contributions.
    """

    text: str
    times: int
    kind: str
    leader: int | None
    follows: tuple[int, ...]
    cluster: int | None
    moved: float
    share: float
    polarity: float
    contribution: float


@dataclass(frozen=True)
class Gathering:
    """A text going through a hardmax transformer.

    Attributes
    ----------
    points : tuple of Point
        The distinct words, in order of appearance.
    path : (layers + 1, points, d)
        Their positions before the first layer and after each.
    settled : int or None
        The layer from which on no word changes whom it follows.
    label
        Whose score is explained: contributions above zero speak for it.
    score, bias : float
        Of that label.
    """

    points: tuple[Point, ...]
    path: NDArray[np.float64]
    settled: int | None
    label: Any
    score: float
    bias: float

    @property
    def leaders(self) -> list[int]:
        """The leaders, those with most followers first."""
        found = [i for i, point in enumerate(self.points) if point.leader is not None]
        return sorted(found, key=lambda i: -self.followers(i))

    def followers(self, leader: int) -> int:
        """How many other words of the text, each time they occur, follow a leader for good."""
        return sum(point.times for i, point in enumerate(self.points) if point.cluster == leader and i != leader)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "label": self.label,
            "score": self.score,
            "bias": self.bias,
            "settled": self.settled,
            "points": [asdict(point) for point in self.points],
            "path": self.path.tolist(),
        }

    def __str__(self) -> str:
        lines = []
        for i in self.leaders:
            point = self.points[i]
            drawn = [other.text for j, other in enumerate(self.points) if other.cluster == i and j != i]
            names = ", ".join(drawn[:_SHOWN]) + (f" and {len(drawn) - _SHOWN} more" if len(drawn) > _SHOWN else "")
            lines.append(
                f"{point.text} ({point.kind}, share {point.share:.3f}, {point.contribution:+.3f})"
                + (f" leads {names}" if drawn else " leads nobody")
            )
        return "\n".join(lines)


_SHOWN = 12


def leaders(model: Any, text: str, *, label: Any = None) -> Gathering:
    """Follow the words of a text through the layers of a hardmax model.

    Parameters
    ----------
    model
        A fitted ``HardmaxClassifier``, or its model.
    text
        Any text.
    label
        With more than two classes, whose score to explain; the prediction's, if not given.

    Examples
    --------
    >>> print(leaders(clf, "a wonderful film with a dull end"))  # doctest: +SKIP
    wonderful (positive, share 0.202, +0.761) leads a, film
    dull (negative, share 0.187, -0.615) leads with, end
    """
    from regard.explain.explaining import plain_label, side_of

    inner = hardmax_model(model)
    tokens = tokenize(text)
    places = inner.vocabulary.places(text, tokens)
    rows, _, times = distinct_rows(places)
    shares, _ = inner.shares(rows, 1)
    scores = inner.bias + shares @ inner.polarity[rows.ids]
    side, label = side_of(inner, inner.predictions(scores[None])[0], label)
    start = inner.embedding[rows.ids].astype(np.float64)
    moved = run(start, inner.layers, inner.alpha, multiplicity=times, path=True)
    assert moved.path is not None, "it was asked for"
    drawn = chosen(start) if len(start) else np.zeros((0, 0), np.bool_)
    names = kind_names(inner.classes)
    kinds = kinds_of(inner.counts[rows.ids])
    words: dict[int, str] = {}
    for place in places:
        words.setdefault(place.row, " ".join(token.text for token in tokens[place.first : place.last]))
    polarity = inner.polarity[rows.ids, side]
    points = tuple(
        Point(
            words[row],
            int(times[i]),
            names[kinds[i]],
            int(moved.became[i]) if moved.became[i] >= 0 else None,
            tuple(np.flatnonzero(drawn[i]).tolist()),
            int(moved.cluster[i]) if moved.cluster[i] >= 0 else None,
            float(np.linalg.norm(moved.points[i] - start[i])),
            float(shares[i]),
            float(polarity[i]),
            float(shares[i] * polarity[i]),
        )
        for i, row in enumerate(rows.ids.tolist())
    )
    settled = int(moved.settled[0])
    return Gathering(
        points,
        moved.path,
        settled if settled >= 0 else None,
        plain_label(label),
        float(scores[side]),
        float(inner.bias[side]),
    )


@dataclass(frozen=True)
class LeaderStatistics:
    """Who leads in many texts, and whether it is by chance.

    Attributes
    ----------
    texts : int
        In how many texts.
    number : tuple of four floats
        Leaders a text: mean, standard deviation, least, most.
    first : tuple of four floats
        The share of a text's leaders that were leaders before any word had moved.
    words : polars.DataFrame
        Which words lead, most often first: word, kind, leads (in how many texts), texts (with the word).
    kinds : polars.DataFrame
        For each kind: its share of the leaders, of the words that occur in the texts (each time they occur), and of the
        vocabulary; and how many times as large the first is as the second and as the third.
    """

    texts: int
    number: tuple[float, float, float, float]
    first: tuple[float, float, float, float]
    words: pl.DataFrame
    kinds: pl.DataFrame

    @property
    def polar(self) -> dict[str, float]:
        """The shares of polar words, of all kinds but neutral and none: leaders, occurrences, vocabulary."""
        rows = [row for row in self.kinds.to_dicts() if row["kind"] not in ("neutral", "none")]
        return {name: float(sum(row[name] for row in rows)) for name in ("leaders", "occurrences", "vocabulary")}


def leader_statistics(
    model: Any, texts: Any, labels: Any = None, *, confidence: float = 0.0, n_threads: int | None = None
) -> LeaderStatistics:
    """Count the leaders of many texts.

    Parameters
    ----------
    model
        A fitted ``HardmaxClassifier``, or its model.
    texts
        The texts.
    labels : optional
        If given, only texts that are predicted rightly count.
    confidence
        Only texts whose prediction is more probable than this count.
    n_threads
        All cores, if None.
    """
    import polars as pl

    inner = hardmax_model(model)
    listed = some_texts(texts)
    rows = inner.vocabulary.rows(inner.vocabulary.tokens(listed, n_threads), n_threads)
    _, became = inner.shares(rows, n_threads)
    scores = inner.row_scores(rows, n_threads)
    sizes = np.diff(rows.starts)
    kept = (probabilities(scores).max(axis=1) > confidence) & (sizes > 0)
    if labels is not None:
        codes = label_codes(as_labels(labels, len(listed)), len(listed), inner.classes)
        kept &= np.searchsorted(inner.classes, inner.predictions(scores)) == codes
    if not kept.any():
        raise DataError("No text is left to count leaders in: lower `confidence`, or give texts with known words.")
    document = np.repeat(np.arange(len(sizes)), sizes)
    entry = kept[document]
    ids, document, became = rows.ids[entry], document[entry], became[entry]
    times = rows.counts[entry].astype(np.float64)
    led = became >= 0
    number = np.bincount(document, led, len(sizes))[kept]
    early = np.bincount(document, became == 0, len(sizes))[kept]
    some = number > 0
    kinds, names = kinds_of(inner.counts), kind_names(inner.classes)
    leads, texts_with = np.bincount(ids[led], minlength=len(inner)), np.bincount(ids, minlength=len(inner))
    order = np.argsort(-leads, kind="stable")[: np.count_nonzero(leads)]
    called = inner.vocabulary.names()
    words = pl.DataFrame(
        {
            "word": [called[row] for row in order.tolist()],
            "kind": [names[kinds[row]] for row in order.tolist()],
            "leads": leads[order],
            "texts": texts_with[order],
        }
    )
    shares = {
        "leaders": np.bincount(kinds, leads, len(names)) / max(leads.sum(), 1),
        "occurrences": np.bincount(kinds[ids], times, len(names)) / times.sum(),
        "vocabulary": np.bincount(kinds, minlength=len(names)) / len(kinds),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = {f"over {name}": shares["leaders"] / shares[name] for name in ("occurrences", "vocabulary")}
    table = pl.DataFrame({"kind": names, **shares, **lift}).fill_nan(None)
    return LeaderStatistics(int(kept.sum()), _spread(number), _spread(early[some] / number[some]), words, table)


def hardmax_model(model: Any) -> HardmaxModel:
    """The hardmax model inside an estimator, or a sentence on what came instead."""
    inner = inner_model(model)
    if not isinstance(inner, HardmaxModel):
        raise DataError(f"Leaders are those of a HardmaxClassifier; got a {inner.kind}: train one first.")
    return inner


def _spread(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float, float, float]:
    values = np.asarray(values, np.float64)
    if not len(values):
        return 0.0, 0.0, 0.0, 0.0
    return float(values.mean()), float(values.std()), float(values.min()), float(values.max())
