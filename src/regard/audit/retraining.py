"""What other trainings on the same texts show: without attention, with other seeds, with nothing to learn, and more."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audit import kernels
from regard.audit.inspection import Context
from regard.audit.linear import LinearBatch, ModelSource
from regard.audit.result import Measure, Result
from regard.audit.source import Floats, Source
from regard.corpus.splits import stratified_mask
from regard.errors import DataError
from regard.lazy import fetch
from regard.models.estimator import TextClassifier
from regard.models.inputs import as_labels, as_texts
from regard.models.model import Model
from regard.models.progress import Report
from regard.models.settings import seed_of
from regard.models.table import probabilities
from regard.tokens.threads import in_threads

_NOTHING = "nothing is removed; a model is trained anew"


def retrained(
    context: Context,
    train: tuple[Any, Any] | None,
    seen: Mapping[str, Floats],
    seeds: int,
    n_threads: int | None,
    report: Report,
) -> list[Result]:
    """Uniform and frozen attention, other seeds, shuffled labels, imposed weights, an adversary.

    Parameters
    ----------
    train
        Texts and labels; without them the tests are named as skipped.
    seen
        The adversarial divergences of each text, to calibrate by those between seeds.
    seeds
        How many further seeds.
    """
    source = context.source
    reason = _unfit(source, train)
    if reason is not None:
        return [_skipped(name, title, reason) for name, title in _TITLES.items()]
    assert isinstance(source, ModelSource)
    assert train is not None
    texts = as_texts(train[0])
    labels = as_labels(train[1], len(texts))
    trainer = _Trainer.of(source.model, texts, labels, n_threads)
    total = seeds + 5

    def learn(step: int, **changes: Any) -> tuple[Model, float]:
        report("Training", step / total)
        began = time.perf_counter()
        model = trainer.learn(**changes)
        return model, time.perf_counter() - began

    flat = learn(0, attention="flat")
    base = source.model
    notes: tuple[str, ...] = ()
    if not _same_rows(base, flat[0]):
        base = trainer.learn()
        notes = ("The model was not trained on exactly these texts, so one that was stands in for it here.",)
    results = [
        _uniform(context, base, [flat, learn(1, attention="frozen")]),
        _labels(context, base, learn(2, shuffled=context.seed), n_threads),
        _seeds(context, base, [learn(3 + i, random_state=i + 1) for i in range(seeds)], seen, n_threads),
    ]
    report("Training", (seeds + 3) / total)
    if importlib.util.find_spec("torch") is None:
        reason = "it needs the extra torch: pip install 'regard[torch]'"
        results += [_skipped(name, _TITLES[name], reason) for name in _WITH_TORCH]
    else:
        from regard.audit.guided import guided
        from regard.audit.trained_adversary import trained_adversary

        adversary, weights = trained_adversary(context, base, texts, n_threads)
        report("Training", (seeds + 4) / total)
        results += [guided(context, base, texts, labels, weights, n_threads), adversary]
    return [replace(result, notes=(*result.notes, *notes)) for result in results]


_TITLES = {
    "uniform attention": "Is attention needed at all?",
    "label randomisation": "Does a model that learned nothing give the same map?",
    "seeds": "How different are the maps of equally good models?",
    "guided": "Do its weights point at words that say something by themselves?",
    "trained adversary": "Can another model decide alike and attend elsewhere?",
}
_WITH_TORCH = ("guided", "trained adversary")


def _unfit(source: Source, train: tuple[Any, Any] | None) -> str | None:
    """Why a model cannot be trained anew."""
    if not isinstance(source, ModelSource) or source.model.kind not in _ESTIMATORS:
        return f"only models of {' and '.join(_ESTIMATORS)} are trained anew here"
    if train is None:
        return "the texts that the model was trained on were not given"
    if "parameters" not in source.model.about:
        return "the model does not say how it was trained"
    return None


def _skipped(name: str, title: str, reason: str) -> Result:
    return Result(name, title, "", "", _NOTHING, "", skipped=reason)


# What is trained anew, and where its estimator is.
_ESTIMATORS = {
    "AttentionClassifier": "regard.models.attention_classifier",
    "NeuralAttentionClassifier": "regard.models.neural_classifier",
}


@dataclass(frozen=True)
class _Trainer:
    """Trains as the model was trained, with something changed.

    A network takes its words from the texts that are not held out, and which those are depends on the seed: they are
    held out here once, by the model's own seed, so that all trainings have the same words.
    """

    estimator: type[TextClassifier]
    parameters: dict[str, Any]
    texts: list[str]
    labels: NDArray[Any]
    held_out: tuple[list[str], NDArray[Any]] | None
    n_threads: int | None

    @classmethod
    def of(cls, model: Model, texts: list[str], labels: NDArray[Any], n_threads: int | None) -> _Trainer:
        estimator = fetch(_ESTIMATORS[model.kind], model.kind)
        asked = estimator.from_model(model).get_params()
        parameters = {**asked, "n_threads": n_threads, "verbose": False}
        parameters["random_state"] = parameters["random_state"] or 0  # an audit is the same whenever it is made
        fraction = parameters["validation_fraction"]
        if model.kind == "AttentionClassifier" or not fraction:
            return cls(estimator, parameters, texts, labels, None, n_threads)
        parameters["checkpoint"] = None
        codes = np.unique(labels, return_inverse=True)[1]
        out = stratified_mask(codes, fraction, seed_of(parameters["random_state"]))
        held_out = [texts[i] for i in np.flatnonzero(out)], labels[out]
        kept = [texts[i] for i in np.flatnonzero(~out)], labels[~out]
        return cls(estimator, parameters, *kept, held_out if out.any() else None, n_threads)

    def learn(self, *, shuffled: int | None = None, **changes: Any) -> Model:
        labels, held_out = self.labels, self.held_out
        if shuffled is not None:
            generator = np.random.default_rng([shuffled, 6])
            labels = generator.permutation(labels)
            held_out = held_out and (held_out[0], generator.permutation(held_out[1]))
        classifier = self.estimator(**{**self.parameters, **changes})
        model: Model = classifier.fit(self.texts, labels, validation=held_out).model_
        return model


def _correct(model: Model, context: Context) -> Floats:
    scores = model.scores(context.texts)
    place = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    known = np.asarray(context.labels)
    return np.where(known >= 0, (place == known).astype(np.float64), np.nan)


def _uniform(context: Context, model: Model, trained: list[tuple[Model, float]]) -> Result:
    if context.labels is None:
        return _skipped("uniform attention", _TITLES["uniform attention"], "the labels of the texts were not given")
    own = _correct(model, context)
    measures, comparisons = [context.measure("accuracy: learned", own)], []
    for name, (other, _) in zip(("flat", "frozen"), trained, strict=True):
        right = _correct(other, context)
        measures.append(context.measure(f"accuracy: {name}", right))
        measures.append(context.measure("accuracy gap" if name == "flat" else f"accuracy gap: {name}", own - right))
        comparisons.append(context.compare("accuracy", "learned", name, (own, right)))
    return Result(
        "uniform attention",
        _TITLES["uniform attention"],
        "accuracy with learned attention - accuracy of a model trained with equal attention (flat), and of one whose "
        "attention stays as it starts (frozen); paired over texts",
        "higher if attention matters; an interval that holds 0 says that it is not needed here",
        _NOTHING,
        "accuracy",
        tuple(measures),
        tuple(comparisons),
        seconds=sum(seconds for _, seconds in trained),
        evaluations=2 * len(context.texts),
    )


def _labels(context: Context, model: Model, trained: tuple[Model, float], n_threads: int | None) -> Result:
    taus = _over_batches(context, [model, trained[0]], _tau_pair, n_threads)
    return Result(
        "label randomisation",
        _TITLES["label randomisation"],
        "Kendall's tau-b between a ranking of the model and the same ranking of a model trained on shuffled labels",
        "lower is better: near 0 the map depends on what was learned",
        _NOTHING,
        "rank correlation",
        tuple(context.measure(name, values) for name, values in taus.items()),
        seconds=trained[1],
        evaluations=len(context.texts),
    )


def _seeds(
    context: Context,
    model: Model,
    trained: list[tuple[Model, float]],
    seen: Mapping[str, Floats],
    n_threads: int | None,
) -> Result:
    found = _over_batches(context, [model, *(other for other, _ in trained)], _apart, n_threads)
    between, moved = found["JSD"], found["TVD"]
    typical = np.median(between, axis=1)
    measures = [
        context.measure("median JSD between seeds", typical),
        context.measure("TVD of the decisions", moved.mean(axis=1)),
    ]
    known = between[np.isfinite(between)]
    bar = float(np.quantile(known, 0.95)) if len(known) else math.nan
    measures.append(Measure("95th percentile of the JSD between seeds", bar if math.isfinite(bar) else None))
    for name, values in seen.items():
        above = np.where(np.isfinite(values), (values > bar).astype(np.float64), np.nan)
        measures.append(context.measure(f"adversarial {name}, share above that", above))
    return Result(
        "seeds",
        _TITLES["seeds"],
        f"median over {len(trained)} further seeds of JSD(weights, weights of the seed); TVD of the decisions; and how "
        "often the adversarial attention is farther away than 95% of the seeds' are",
        "lower is better",
        _NOTHING,
        "nats, at most ln 2 = 0.693; probability",
        tuple(measures),
        seconds=sum(seconds for _, seconds in trained),
        evaluations=len(trained) * len(context.texts),
    )


def _over_batches(
    context: Context,
    models: Sequence[Model],
    measure: Callable[[list[LinearBatch]], dict[str, Floats]],
    n_threads: int | None,
) -> dict[str, Floats]:
    """Show the same units to several models, which share their vocabulary."""
    if not all(_same_rows(models[0], other) for other in models):
        raise DataError("Models of the same texts must have the same words; these were changed between trainings.")
    if all(model.exact for model in models):
        tables = [model.word_table for model in models]

        def look(batch: Any) -> dict[str, Floats]:
            assert isinstance(batch, LinearBatch)
            return measure([replace(batch, loudness=t.attention, polarity=t.polarity, bias=t.bias) for t in tables])

        parts = in_threads(look, ModelSource(models[0], n_threads=n_threads).batches(context.texts), n_threads)
    else:  # words read their neighbours, so every model reads the texts itself
        readings = [ModelSource(model, n_threads=n_threads).batches(context.texts) for model in models]
        parts = [measure(list(batches)) for batches in zip(*readings, strict=True)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _same_rows(one: Model, other: Model) -> bool:
    """Whether the same words and phrases have the same rows: they depend on the texts, not on labels or seeds."""
    mine, theirs = one.word_table.vocabulary, other.word_table.vocabulary
    return (
        np.array_equal(mine.arena, theirs.arena)
        and np.array_equal(mine.ends, theirs.ends)
        and len(mine.phrases) == len(theirs.phrases)
        and all(np.array_equal(a, b) for a, b in zip(mine.phrases, theirs.phrases, strict=True))
    )


def _tau_pair(pair: list[LinearBatch]) -> dict[str, Floats]:
    one, two = pair
    found = {}
    for name in ("attention", "contribution"):
        out = np.empty(len(one))
        kernels.tau(getattr(one, name), getattr(two, name), one.starts, 0, len(one), out)
        found[f"tau: {name}"] = out
    return found


def _apart(batches: list[LinearBatch]) -> dict[str, Floats]:
    own, others = batches[0], batches[1:]
    jsd = np.empty((len(own), len(others)))
    tvd = np.empty_like(jsd)
    for i, other in enumerate(others):
        out = np.empty(len(own))
        kernels.divergence(own.weights, other.weights, own.starts, 0, len(own), out)
        jsd[:, i] = out
        tvd[:, i] = np.abs(probabilities(own.scores) - probabilities(other.scores)).sum(axis=1) / 2
    return {"JSD": jsd, "TVD": tvd}
