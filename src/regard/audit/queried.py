"""Models that can only be asked: words are cut out of the texts, and the model reads what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.audit.source import SHARES, Batch, Erasure, Floats, Places, Span
from regard.errors import DataError
from regard.tokens import tokenize

Predict = Callable[[list[str]], Any]
Explain = Callable[[str], Any]

_DOCUMENTS = 20  # in a batch
_ALL_STEPS = 20  # units up to which every step of a ranking is asked for
LEFT_OUT = "leave one out"  # the ranking that every such batch has


class Asked(NamedTuple):
    """A question to the model: a document of the batch, and which of its units it shall read."""

    document: int
    keep: NDArray[np.bool_]


@dataclass(frozen=True)
class QueriedBatch:
    """Some documents, and the model to ask.

    Attributes
    ----------
    first : int
        The place of the first document in the data.
    sizes : (documents,)
        Units of each.
    ask : function of questions
        Probabilities: (questions, classes).
    explain : function of this batch
        What claims to be importance, by name, the main one first: (units,) each.
    """

    first: int
    sizes: Places
    ask: Callable[[list[Asked]], Floats]
    explain: Callable[[QueriedBatch], Mapping[str, Floats]]

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def starts(self) -> Places:
        """Where each document starts."""
        return np.append(0, np.cumsum(self.sizes, dtype=np.int64))

    @cached_property
    def _known(self) -> dict[tuple[int, bytes], Floats]:
        return {}

    def _answers(self, questions: Sequence[Asked]) -> Floats:
        """Probabilities for each question; what was asked before, or is asked twice, is read once."""
        keys = [(document, keep.tobytes()) for document, keep in questions]
        new = {key: question for key, question in zip(keys, questions, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self.ask(list(new.values())), strict=True))
        return np.array([self._known[key] for key in keys])

    @cached_property
    def chances(self) -> Floats:
        """(documents, classes)."""
        return self._answers([Asked(doc, np.ones(size, np.bool_)) for doc, size in enumerate(self.sizes.tolist())])

    @cached_property
    def explained(self) -> Places:
        """The predicted class; a tie goes to the first."""
        return np.asarray(self.chances.argmax(axis=1), np.int64)

    @cached_property
    def rankings(self) -> dict[str, Floats]:
        """Those given, and leaving out."""
        scores = dict(self.explain(self))
        scores.setdefault(LEFT_OUT, self._left_out[0])
        return scores

    @cached_property
    def _left_out(self) -> tuple[Floats, NDArray[np.bool_]]:
        asked = []
        for doc, size in enumerate(self.sizes.tolist()):
            asked += [Asked(doc, np.arange(size) != unit) for unit in range(size)]
        documents = np.repeat(np.arange(len(self)), self.sizes)
        mine = self.explained[documents]
        found = self._answers(asked) if asked else np.empty((0, self.chances.shape[1]))
        change = self.chances[documents, mine] - found[np.arange(len(found)), mine]
        return change, found.argmax(axis=1) != mine

    @property
    def contribution(self) -> Floats:
        """What is shown beside the main ranking: what goes with each unit."""
        return self._left_out[0]

    def leave_one_out(self) -> tuple[Floats, NDArray[np.bool_]]:
        """One reading for each unit."""
        return self._left_out

    def erase(self, order: NDArray[np.int32]) -> Erasure:
        """Ask at ``SHARES``, and at every step of short texts; a flip is found at one of these."""
        n, steps = len(self), len(SHARES)
        asked: list[Asked] = []
        plans = []
        for doc, size in enumerate(self.sizes.tolist()):
            at, ks = steps_of(size)
            rank = np.empty(size, np.int64)
            rank[order[self.starts[doc] : self.starts[doc + 1]]] = np.arange(size)
            for k in ks.tolist():
                asked += [Asked(doc, rank >= k), Asked(doc, rank < k)]
            plans.append((at, ks))
        found = self._answers(asked)
        removed, kept = np.empty((n, steps)), np.empty((n, steps))
        flip, monotone = np.zeros(n, np.int64), np.full(n, np.nan)
        row = 0
        for doc, (at, ks) in enumerate(plans):
            label, size = self.explained[doc], int(self.sizes[doc])
            without, alone = found[row : row + 2 * len(ks) : 2], found[row + 1 : row + 2 * len(ks) : 2]
            row += 2 * len(ks)
            where = np.searchsorted(ks, at)
            removed[doc], kept[doc] = without[where, label], alone[where, label]
            flips = [k for k, each in zip(ks.tolist(), without, strict=True) if 0 < k < size and each.argmax() != label]
            flip[doc] = flips[0] if flips else 0
            if len(ks) > 1:
                monotone[doc] = (np.diff(without[:, label]) <= 1e-12).mean()
        return Erasure(removed, kept, flip, np.full(n, np.nan), monotone)

    def fewest(self) -> None:
        """Not known without trying every set."""
        return


@dataclass
class FunctionSource:
    """Any function of texts, and a function that explains one text.

    Attributes
    ----------
    predict : function of a list of texts
        Probabilities, (texts, classes).
    explain : function of a text
        A number for each of its units, or a dictionary of such rows by name, the one to audit first.
    classes : (classes,)
        The labels, in the order of the probabilities.
    units_of : function of a text, optional
        Where its units stand: pairs (start, end); regard's own words, if not given.
    name : str
    evaluations : int
        Texts that the model was asked about so far.

    Examples
    --------
    >>> source = FunctionSource(clf.predict_proba, my_scores, clf.classes_)  # doctest: +SKIP
    >>> audit(source, texts).verdict.text  # doctest: +SKIP
    """

    predict: Predict
    explain: Explain
    classes: NDArray[Any]
    units_of: Callable[[str], Sequence[tuple[int, int]]] | None = None
    name: str = "function"
    evaluations: int = field(default=0, init=False)
    exact: bool = field(default=False, init=False)
    units: str = field(default="words", init=False)
    removal: str = field(
        default="it is cut out of the text, which the model then reads again; flips are looked for in steps of 5%, and "
        "at every step of texts up to 20 words",
        init=False,
    )

    def __post_init__(self) -> None:
        self.classes = np.asarray(self.classes)

    def spans(self, text: str) -> list[Span]:
        """Where the units stand."""
        if self.units_of is None:
            return [Span(token.start, token.end) for token in tokenize(text)]
        return [Span(int(start), int(end)) for start, end in self.units_of(text)]

    def ask(self, texts: list[str]) -> Floats:
        """Probabilities of each class, checked."""
        found = np.asarray(self.predict(texts), np.float64)
        if found.shape != (len(texts), len(self.classes)):
            raise DataError(
                f"`predict` must give one row of {len(self.classes)} probabilities for each of {len(texts)} texts; got "
                f"the shape {found.shape}."
            )
        if not np.isfinite(found).all() or (found < -1e-6).any() or (np.abs(found.sum(axis=1) - 1) > 1e-3).any():
            raise DataError("`predict` must give probabilities that are not negative and sum to one; check its output.")
        self.evaluations += len(texts)
        return found

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The texts in their order."""
        names: list[str] | None = None
        for a in range(0, len(texts), _DOCUMENTS):
            some = list(texts[a : a + _DOCUMENTS])
            spans = [self.spans(text) for text in some]
            rows: list[dict[str, Floats]] = []
            for i, (text, each) in enumerate(zip(some, spans, strict=True)):
                rows.append(_named(self.explain(text), len(each), a + i))
                names = list(rows[0]) if names is None else names
                if list(rows[-1]) != names:
                    raise DataError(
                        f"Every text needs scores of the same names, {names}; text {a + i} has {list(rows[-1])}."
                    )
            assert names is not None
            scores = {name: np.concatenate([row[name] for row in rows]) for name in names}
            sizes = np.array([len(each) for each in spans], np.int64)
            yield QueriedBatch(a, sizes, partial(self._read, some, spans), partial(_given, scores))

    def _read(self, texts: list[str], spans: list[list[Span]], asked: list[Asked]) -> Floats:
        """Ask about texts without some of their units."""
        gone = [set(np.flatnonzero(~keep).tolist()) for _, keep in asked]
        return self.ask([cut_out(texts[doc], spans[doc], each) for (doc, _), each in zip(asked, gone, strict=True)])


def steps_of(size: int) -> tuple[Places, Places]:
    """How many units are gone at each of ``SHARES``, and all the numbers of units that are asked about.

    Examples
    --------
    >>> steps_of(3)[1].tolist()
    [0, 1, 2, 3]
    """
    if not size:
        return np.zeros(len(SHARES), np.int64), np.zeros(1, np.int64)
    at = np.where(SHARES <= 0, 0, np.maximum(1, np.ceil(SHARES * size - 1e-9))).astype(np.int64)
    return at, np.arange(size + 1) if size <= _ALL_STEPS else np.unique(at)


def _given(scores: Mapping[str, Floats], _: QueriedBatch) -> Mapping[str, Floats]:
    """Scores that are known already."""
    return scores


def _named(found: Any, units: int, row: int) -> dict[str, Floats]:
    """Scores by name, one number for each unit."""
    named = found if isinstance(found, Mapping) else {"scores": found}
    if not named:
        raise DataError(f"A text needs at least one row of scores; text {row} has none.")
    out = {str(name): np.asarray(values, np.float64) for name, values in named.items()}
    for name, values in out.items():
        if values.shape != (units,) or not np.isfinite(values).all():
            raise DataError(
                f"Scores must be one finite number for each of the {units} units of text {row}; {name!r} has the shape "
                f"{values.shape}{'' if np.isfinite(values).all() else ' and numbers that are not finite'}."
            )
    return out


def cut_out(text: str, spans: Sequence[Span], units: set[int]) -> str:
    """A text without some of its units; what stands between units stays.

    Examples
    --------
    >>> cut_out("not good", [Span(0, 3), Span(4, 8)], {0})
    ' good'
    """
    pieces, at = [], 0
    for unit in sorted(units):
        start, end = spans[unit]
        pieces.append(text[at:start])
        at = max(at, end)
    return "".join([*pieces, text[at:]])
