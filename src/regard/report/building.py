"""From a model, and texts if there are any, to what a report shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, SettingError
from regard.explain.findings import reading
from regard.models.inputs import as_labels, as_texts, labels_like
from regard.models.model import Model, predicted
from regard.models.table import TableModel, probabilities
from regard.report.assessment import Assessment, assess
from regard.report.audited import audited
from regard.report.data import Document, Documents, Epoch, Map, Mistake, Overview, Part, Report, Row, Side, Turn, Words
from regard.report.leading import leading

if TYPE_CHECKING:
    from regard.audit.result import Audit

_POINTS = 50_000  # the page draws as many at a time, and stays smooth
_LOUDEST, _TURNS, _MISTAKES = 20, 14, 8
_LONGEST = 20_000  # characters of a text to browse
_ALTOGETHER = 1_500_000  # characters of all of them: bounds the size of the page
_EXCERPT = 240


def report(
    model: Any,
    texts: Any = None,
    labels: Any = None,
    *,
    name: str | None = None,
    part: str = "test",
    documents: int = 200,
    audit: Audit | None = None,
    n_threads: int | None = None,
) -> Report:
    """Make a report of a model.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    texts, labels
        Texts that the model was not trained on, and the truth about them, if there are any. Without them the report
        shows what the model itself knows.
    name
        What to call it; the name of the training data, if not given.
    part
        What to call the texts.
    documents
        How many of the texts the page may contain, for browsing.
    audit
        What ``regard.audit.audit`` found, if the page shall show it.
    n_threads
        All cores, if None.

    Examples
    --------
    >>> report(clf, texts, labels).save("reviews.html")  # doctest: +SKIP
    """
    inner: Model = getattr(model, "model_", model)
    table = inner.word_table
    if documents < 0:
        raise SettingError(f"`documents` must be 0 or more; got {documents}.")
    if texts is None and labels is not None:
        raise DataError("Labels came without texts; give both, or neither.")
    assessments = _from_memory(table.about)
    mistakes: tuple[Mistake, ...] = ()
    browsable: Documents | None = None
    if texts is not None:
        texts = as_texts(texts)
        truth = None if labels is None else labels_like(as_labels(labels, len(texts)), table.classes)
        scores = inner.scores(texts, n_threads)
        if truth is not None and len(texts):
            fresh = assess(scores, truth, table.classes, part)
            assessments = (fresh, *(a for a in assessments if a.part != part))
        if len(texts):
            chosen = _documents(inner, texts, truth, scores, documents, part)
            browsable = chosen if chosen.items else None
            if documents and truth is not None:
                mistakes = _mistakes(chosen, table.classes, texts, truth, scores)
    names = table.vocabulary.names()
    codes = table.kind_codes()
    return Report(
        overview=_overview(table, name, assessments, mistakes),
        map=_map(table, names, codes),
        words=Words(_sides(table, names, codes), _turns(table, names, codes)),
        reading=tuple(reading(inner)),
        documents=browsable,
        leaders=leading(inner, texts, browsable.items) if browsable is not None and texts is not None else None,
        exact=inner.exact,
        audit=None if audit is None else audited(audit),
        model=table,
    )


# -- overview ------------------------------------------------------------------------------------------------------


def _overview(
    table: TableModel, name: str | None, assessments: tuple[Assessment, ...], mistakes: tuple[Mistake, ...]
) -> Overview:
    about = table.about
    data = dict(about.get("data", {}))
    return Overview(
        name=name or str(data.get("path", "")).split(".")[0] or "This model",
        classes=tuple(table.classes.tolist()),
        texts=about.get("texts"),
        data=data,
        words=table.vocabulary.words,
        phrases=len(table) - table.vocabulary.words,
        settings=dict(about.get("parameters", {})),
        epochs=about.get("epochs"),
        version=about.get("regard"),
        assessments=assessments,
        course=_course(about),
        mistakes=mistakes,
    )


def _course(about: dict[str, Any]) -> tuple[Epoch, ...]:
    """Networks keep all they see after an epoch, tables the loss on held-out texts."""
    if "course" in about:
        return tuple(Epoch(*map(step.get, ("loss", "log_loss", "accuracy"))) for step in about["course"])
    return tuple(Epoch(log_loss=loss) for loss in (about.get("validation") or {}).get("course", ()))


def _from_memory(about: dict[str, Any]) -> tuple[Assessment, ...]:
    """What was measured when the model was trained."""
    kept = about.get("assessment", {})
    found = []
    for part in ("test", "validation"):
        if kept.get("part") == part:
            found.append(Assessment.from_dict(kept))
        elif {"texts", "accuracy", "macro_f1", "log_loss"} <= set(about.get(part) or ()):
            found.append(Assessment.from_dict({"part": part, **about[part]}))
    return tuple(found)


def _mistakes(
    browsable: Documents, classes: NDArray[Any], texts: list[str], truth: NDArray[Any], scores: NDArray[np.float64]
) -> tuple[Mistake, ...]:
    """Of all texts, also those that are too long to be browsed."""
    labels, chances = predicted(scores, classes), probabilities(scores).max(axis=1)
    wrong = np.flatnonzero(labels != truth)
    places = {document.row: i for i, document in enumerate(browsable.items)}
    return tuple(
        Mistake(row, _excerpt(texts[row]), truth[row].item(), labels[row].item(), float(chances[row]), places.get(row))
        for row in wrong[np.argsort(-chances[wrong], kind="stable")][:_MISTAKES].tolist()
    )


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT].rsplit(" ", 1)[0] + " …"


# -- documents -----------------------------------------------------------------------------------------------------


def _documents(
    model: Model,
    texts: list[str],
    truth: NDArray[Any] | None,
    scores: NDArray[np.float64],
    wanted: int,
    part: str,
) -> Documents:
    """The most confident mistakes, at most half of what is wanted, and a random choice of the rest."""
    labels, chances = predicted(scores, model.classes), probabilities(scores).max(axis=1)
    right = np.ones(len(texts), np.bool_) if truth is None else labels == truth
    short = np.fromiter((len(text) <= _LONGEST for text in texts), np.bool_, len(texts))
    wrong = np.flatnonzero(~right & short)
    wrong = wrong[np.argsort(-chances[wrong], kind="stable")]
    others = np.random.default_rng(0).permutation(np.flatnonzero(right & short))
    room = max(wanted - len(others), wanted // 2)
    chosen, characters = [], 0
    for row in [*wrong[:room].tolist(), *others[: max(0, wanted - min(room, len(wrong)))].tolist()]:
        characters += len(texts[row])
        if characters > _ALTOGETHER:
            break
        chosen.append(row)
    parts = [None] * len(chosen) if model.exact else _parts(model, [texts[row] for row in chosen])
    items = tuple(
        Document(
            row,
            texts[row],
            None if truth is None else truth[row].item(),
            labels[row].item(),
            float(chances[row]),
            None if truth is None else bool(right[row]),
            heard,
        )
        for row, heard in zip(chosen, parts, strict=True)
    )
    return Documents(items, len(texts), int((~right).sum()), part)


def _parts(model: Model, texts: list[str]) -> list[tuple[Part, ...]]:
    """What the model attends to in each text, for its prediction."""
    found = []
    for said in model.attend_many(texts):
        side = 0 if model.sides == 1 else int(said.scores.argmax())
        columns = zip(said.places, said.attention, said.weights, said.polarity, strict=True)
        found.append(
            tuple(
                Part(place.row, place.first, place.last, float(attention), float(weight), float(polarity[side]))
                for place, attention, weight, polarity in columns
            )
        )
    return found


# -- the map and the words -----------------------------------------------------------------------------------------


def _map(table: TableModel, names: list[str], codes: NDArray[np.intp]) -> Map:
    counts = table.counts.sum(axis=1, dtype=np.int64)
    words = table.vocabulary.words
    rows = np.concatenate([_most_frequent(counts, 0, words), _most_frequent(counts, words, len(table))])
    return Map(
        [names[row] for row in rows.tolist()],
        table.attention[rows],
        table.polarity[rows],
        counts[rows],
        codes[rows],
        table.kind_names(),
        _POINTS,
    )


def _most_frequent(counts: NDArray[np.int64], start: int, stop: int) -> NDArray[np.intp]:
    order = np.argsort(-counts[start:stop], kind="stable")[:_POINTS]
    return np.sort(order) + start


def _row(table: TableModel, names: list[str], kind: str, row: int, side: int) -> Row:
    return Row(
        names[row],
        float(table.attention[row]),
        float(table.polarity[row, side]),
        tuple(table.counts[row].tolist()),
        kind,
    )


def _sides(table: TableModel, names: list[str], codes: NDArray[np.intp]) -> tuple[Side, ...]:
    """The loudest rows that the training texts and the table both put on a side."""
    kinds = table.kind_names()
    sides = []
    for k, label in enumerate(table.classes):
        side, towards = (0, 2 * k - 1) if table.sides == 1 else (k, 1)
        polarity = table.polarity[:, side]
        rows = np.flatnonzero((codes == 2 + k) & (polarity * towards > 0))
        order = np.lexsort((-np.abs(polarity[rows]), -table.attention[rows]))[:_LOUDEST]
        loudest = tuple(_row(table, names, kinds[2 + k], row, side) for row in rows[order].tolist())
        sides.append(Side(label.item(), loudest))
    return tuple(sides)


def _turns(table: TableModel, names: list[str], codes: NDArray[np.intp]) -> tuple[Turn, ...]:
    """Pairs that take another side than their last word, in the training texts and in the table alike.

    With two classes the polarity must change its sign; with more, the class for which the row speaks loudest.
    """
    if not table.vocabulary.phrases:
        return ()
    keys = table.vocabulary.phrases[0]
    pairs = np.arange(table.vocabulary.words, table.vocabulary.words + len(keys))
    lasts = (keys & np.uint64(0xFFFFFFFF)).astype(np.intp)
    sides = (table.polarity[:, 0] > 0).astype(np.intp) if table.sides == 1 else table.polarity.argmax(axis=1)
    leaning = table.counts.argmax(axis=1)
    turned = (codes[pairs] >= 2) & (sides[pairs] == codes[pairs] - 2) & (sides[lasts] != sides[pairs])
    # The training texts must agree that the word stands elsewhere, and not by a handful.
    turned &= (leaning[lasts] == sides[lasts]) & (table.counts[lasts].max(axis=1) > 5)
    turned &= np.abs(table.gamma()[lasts]) > 0.1
    if table.sides > 1:
        turned &= codes[lasts] >= 2  # among many classes a word that leans nowhere turns everywhere
    found = np.flatnonzero(turned)
    # Frequent phrases first, and words that clearly stand somewhere before those that hardly do.
    clear = np.abs(table.gamma()[lasts[found]]) * table.counts[pairs[found]].sum(axis=1, dtype=np.int64)
    found = found[np.argsort(-clear, kind="stable")]
    kinds = table.kind_names()
    turns = []
    for i in _spread(found.tolist(), lasts):
        pair, last = int(pairs[i]), int(lasts[i])
        side = 0 if table.sides == 1 else int(codes[pair]) - 2
        turns.append(
            Turn(
                _row(table, names, kinds[codes[pair]], pair, side),
                _row(table, names, kinds[codes[last]], last, side),
            )
        )
    return tuple(turns)


def _spread(found: Iterable[int], lasts: NDArray[np.intp]) -> list[int]:
    """The first few, no more than two about the same word."""
    seen: dict[int, int] = {}
    chosen = []
    for i in found:
        word = int(lasts[i])
        seen[word] = seen.get(word, 0) + 1
        if seen[word] <= 2:
            chosen.append(i)
        if len(chosen) == _TURNS:
            break
    return chosen
