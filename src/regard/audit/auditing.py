"""A model and texts give an audit: every test looks at every batch once, then says what it saw."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.audit.adversarial import Adversarial
from regard.audit.agreement import Agreement
from regard.audit.comprehensiveness import Comprehensiveness
from regard.audit.curves import Curves
from regard.audit.eraser import WordSpans
from regard.audit.examples import candidates, examples
from regard.audit.flips import Flips
from regard.audit.health import Health
from regard.audit.inspection import Context, Inspection, Seen
from regard.audit.linear import ModelSource
from regard.audit.monotonicity import Monotonicity
from regard.audit.permutation import Permutation
from regard.audit.plausibility import Marks, Plausibility
from regard.audit.randomisation import Randomisation
from regard.audit.rationales import Rationales
from regard.audit.result import Audit, Result
from regard.audit.retraining import retrained
from regard.audit.robustness import Infidelity, Sensitivity
from regard.audit.sampling import Sampling, holm
from regard.audit.scores_file import FileSource
from regard.audit.single_weight import SingleWeight
from regard.audit.source import Source
from regard.audit.verdict import verdict
from regard.audit.view import DRAWS, View
from regard.audit.word_flips import WordFlips
from regard.errors import DataError, SettingError
from regard.models.inputs import as_labels, as_texts, labels_like
from regard.models.model import Model
from regard.models.progress import Report, silent
from regard.tokens.threads import in_threads, thread_count

_SAMPLE = 1000  # documents for what is slow


def audit(
    model: Any,
    texts: Any,
    labels: Any = None,
    *,
    tests: Literal["quick", "full"] = "quick",
    train: tuple[Any, Any] | None = None,
    marks: Marks | None = None,
    evidence: Sequence[WordSpans | None] | None = None,
    name: str = "model",
    seeds: int = 8,
    seed: int = 0,
    n_threads: int | None = None,
    report: Report = silent,
) -> Audit:
    """Ask whether a heat map may be believed.

    Parameters
    ----------
    model
        A fitted classifier of texts, the ``Model`` inside it, or any ``Source``.
    texts, labels
        Texts that the model was not trained on, and the truth about them if it is known.
    tests
        ``"quick"``: everything that needs no training. ``"full"``: also the models trained with equal and with
        frozen attention, with other seeds, and on shuffled labels.
    train
        Texts and labels to train those on; needed for ``"full"``.
    marks
        For each text the spans, (start, end), that people marked as reasons, if there are any.
    evidence
        For each text the spans of words that people marked, as ``eraser.read_evidence`` reads them from a file.
    name
        What to call the model.
    seeds
        How many further seeds are trained for ``"full"``.
    seed
        Of every random choice: equal seeds and data give equal results, whatever ``n_threads``.
    n_threads
        All cores, if None.

    Examples
    --------
    >>> found = audit(clf, texts, labels)  # doctest: +SKIP
    >>> print(found.verdict.text)  # doctest: +SKIP
    """
    began = time.perf_counter()
    if tests not in ("quick", "full"):
        raise SettingError(f"`tests` must be 'quick' or 'full'; got {tests!r}.")
    texts = as_texts(texts)
    if not texts:
        raise DataError("An audit needs texts; got none: give at least one.")
    source = as_source(model, name, n_threads)
    truth = None if labels is None else _truth(as_labels(labels, len(texts)), source)
    looking = inspections(source)
    if marks is not None:
        if len(marks) != len(texts):
            raise DataError(f"`marks` must have an entry for each of the {len(texts)} texts; got {len(marks)}.")
        looking.append(Plausibility(source, texts, marks))
    if evidence is not None:
        if len(evidence) != len(texts):
            raise DataError(f"`evidence` must have an entry for each of the {len(texts)} texts; got {len(evidence)}.")
        hard = source.hard if isinstance(source, FileSource) else None
        looking.append(Rationales(source, texts, evidence, None if hard is None else [hard[text] for text in texts]))
    clock = {each.name: 0.0 for each in looking}
    views = (View(batch, seed, DRAWS, -(-len(texts) // _SAMPLE)) for batch in source.batches(texts))
    seen, main = _look(looking, views, len(texts), clock, report, n_threads)
    facts = seen.pop("facts")
    context = Context(
        source,
        texts,
        None if truth is None else _codes(truth, source.classes),
        Sampling(len(texts), seed),
        facts["sizes"],
        facts["confidence"],
        facts["explained"].astype(np.int64),
        seed,
        DRAWS,
    )
    results: list[Result] = []
    for each in looking:
        at = time.perf_counter()
        result = each.conclude(seen[each.name], context)
        results.append(replace(result, seconds=clock[each.name] + time.perf_counter() - at))
    if tests == "full":
        results += retrained(context, train, seen.get("adversarial", {}), seeds, n_threads, report)
    results = _corrected(results)
    by_name = {result.name: result for result in results}
    return Audit(
        verdict(by_name, main, source.units),
        tuple(results),
        examples(source, texts, facts, seen.get("adversarial", {}).get("JSD within 0.01")),
        {
            "model": source.name,
            "tests": tests,
            "texts": len(texts),
            "units": int(facts["sizes"].sum()),
            "unit": source.units,
            "removal": source.removal,
            "ranking": main,
            "classes": source.classes.tolist(),
            "seed": seed,
            "random rankings": DRAWS,
            "seeds": seeds if tests == "full" else 0,
            "resamples": context.sampling.resamples,
            "data": data_hash(texts, truth),
            **({"source": dict(source.about)} if hasattr(source, "about") else {}),
            "evaluations": source.evaluations,
            "seconds": time.perf_counter() - began,
            "versions": {
                "regard": version("regard"),
                "numpy": version("numpy"),
                "numba": version("numba"),
                "python": platform.python_version(),
            },
        },
    )


def as_source(model: Any, name: str, n_threads: int | None) -> Source:
    """A source as it is; a model of regard's own, or the estimator around it, as one."""
    inner = getattr(model, "model_", model)
    if hasattr(inner, "batches"):
        source: Source = inner
        return source
    if not hasattr(inner, "attend_many"):
        raise DataError(
            f"An audit needs a model of regard's own or a source of `regard.audit`; got {type(model).__name__}: wrap a "
            "function of texts in `FunctionSource`."
        )
    own: Model = inner
    return ModelSource(own, name, n_threads)


def inspections(source: Source) -> list[Inspection]:
    """The tests that can be made of a source without training anything."""
    always: list[Inspection] = [Flips(), Comprehensiveness(), Curves(), Monotonicity(), Agreement()]
    if not isinstance(source, ModelSource):
        return always
    words = [WordFlips()] if source.phrases else []
    return [
        *always,
        *words,
        Permutation(),
        Adversarial(),
        SingleWeight(),
        Infidelity(),
        Sensitivity(),
        Randomisation(),
        Health(source),
    ]


def _look(
    looking: Sequence[Inspection],
    views: Iterable[View],
    documents: int,
    clock: dict[str, float],
    report: Report,
    n_threads: int | None,
) -> tuple[dict[str, Seen], str]:
    """Show every batch to every test, in threads; what they saw is put together in the order of the documents."""
    report("Auditing", 0.0)
    done = 0

    def look(view: View) -> tuple[dict[str, Seen], dict[str, float], str]:
        nonlocal done
        found: dict[str, Seen] = {}
        spent: dict[str, float] = {}
        for each in looking:
            at = time.perf_counter()
            found[each.name] = each.measure(view)
            spent[each.name] = time.perf_counter() - at
        found["facts"] = {
            "sizes": view.sizes,
            "confidence": view.confidence,
            "explained": view.batch.explained.astype(np.float64),
            **candidates(view),
        }
        done += len(view)
        report("Auditing", done / documents)
        return found, spent, next(iter(view.batch.rankings))

    parts = in_threads(look, views, n_threads)
    threads = thread_count(n_threads)
    for _, spent, _ in parts:
        for name, seconds in spent.items():
            clock[name] += seconds / threads
    whole = {
        name: {column: np.concatenate([found[name][column] for found, _, _ in parts]) for column in columns}
        for name, columns in parts[0][0].items()
    }
    return whole, parts[0][2]


def _corrected(results: list[Result]) -> list[Result]:
    """Holm's correction over every comparison of the audit."""
    adjusted = iter(holm([comparison.p for result in results for comparison in result.comparisons]))
    return [
        replace(result, comparisons=tuple(replace(comparison, p=next(adjusted)) for comparison in result.comparisons))
        for result in results
    ]


def _truth(labels: NDArray[Any], source: Source) -> NDArray[Any]:
    """Labels in the type of the classes, or as a source that has names of its own for them reads them."""
    if hasattr(source, "named"):
        return np.asarray(source.named(labels))
    return labels_like(labels, source.classes)


def _codes(truth: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Labels as places among the classes, which may have any order; -1 for others."""
    places = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in truth.tolist()], np.intp)


def data_hash(texts: Sequence[str], labels: NDArray[Any] | None) -> str:
    """SHA-256 of the texts and labels, in their order."""
    digest = hashlib.sha256()
    for i, text in enumerate(texts):
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0" if labels is None else f"\0{labels[i]}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
