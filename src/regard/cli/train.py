"""`regard train`: from a table to a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from regard.corpus import Corpus
    from regard.models.estimator import TextClassifier


def train(
    data: Annotated[str, typer.Argument(help="CSV, TSV, JSON Lines, Parquet, a folder; - is standard input.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the model; NAME.regard here, by default.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts, if it is not found by itself.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels, if it is not found by itself.")] = None,
    test: Annotated[str | None, typer.Option(help="A second table to test on.")] = None,
    model: Annotated[str, typer.Option(help="What to train: attention, hardmax, or han (extra torch).")] = "attention",
    ngrams: Annotated[
        int | None, typer.Option(help="The longest phrase, in words: 2; 1 in a network or hardmax.", min=1)
    ] = None,
    min_count: Annotated[str, typer.Option(help="How often a word or phrase must occur, or auto.")] = "auto",
    width: Annotated[
        int | None,
        typer.Option(help="Numbers a word: 2, or more for the paper's own vectors; 100 in a network.", min=1),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Train a network: none, affine, lstm or conv (gru in a han) before attention."),
    ] = None,
    score: Annotated[str, typer.Option(help="A network's attention score: dot or additive.")] = "dot",
    vectors: Annotated[Path | None, typer.Option(help="Word vectors that a network starts from.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Where a network's training is kept after every epoch, and goes on from.")
    ] = None,
    scale: Annotated[float, typer.Option(help="The scale lambda of the attention scores.")] = 10.0,
    layers: Annotated[int | None, typer.Option(help="Of a hardmax: 8.", min=1)] = None,
    alpha: Annotated[float | None, typer.Option(help="Where the step of a hardmax starts: 0.03.")] = None,
    epochs: Annotated[str, typer.Option(help="Passes over the texts, or auto.")] = "auto",
    validation: Annotated[
        float, typer.Option(help="The share of texts held out, where no split and no --test is given; 0 trains on all.")
    ] = 0.1,
    encoding: Annotated[str, typer.Option(help="Of the input.")] = "utf-8",
    seed: Annotated[int, typer.Option(help="The same seed and data give the same model, byte by byte.", min=0)] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write NAME.html beside the model.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Train an attention classifier on labelled texts, and say how good it is.

    Example: [bold]regard train reviews.csv --out reviews.regard[/bold]
    """
    from dataclasses import asdict

    from rich.markup import escape

    from regard.cli.output import called, check_out, console, print_json
    from regard.cli.report import unseen, write_beside
    from regard.corpus import read
    from regard.errors import DataError, SettingError
    from regard.explain.findings import cautions, reading
    from regard.models.settings import one_of

    for name, value in (("--epochs", epochs), ("--min-count", min_count)):
        if value != "auto" and not value.isdecimal():
            raise SettingError(f"`{name}` must be a whole number or auto; got {value!r}.")
    if not 0 <= validation < 1:
        raise SettingError(f"`--validation` must be at least 0 and below 1; got {validation!r}.")
    one_of(model, "--model", ("attention", "hardmax", "han"))
    given = {"--score": score != "dot", "--vectors": vectors, "--checkpoint": checkpoint}
    if model == "han":
        _check_han(ngrams, encoder, given, scale)
    elif encoder is None and (alone := next((option for option, value in given.items() if value), None)):
        raise SettingError(f"`{alone}` is a setting of networks: name an `--encoder` too, none, affine, lstm or conv.")
    if encoder is not None and ngrams not in (None, 1):
        raise SettingError(f"A network reads single words, so `--ngrams` is 1 with `--encoder`; got {ngrams}.")
    if encoder is not None and model != "han":
        one_of(encoder, "--encoder", ("none", "affine", "lstm", "conv"))
        one_of(score, "--score", ("dot", "additive"))
    if model == "hardmax" and encoder is not None:
        raise SettingError(f"A hardmax has no encoder before it; got `--encoder {encoder}`: leave one of the two out.")
    own = {name: value for name, value in (("layers", layers), ("alpha", alpha)) if value is not None}
    if model != "hardmax" and own:
        raise SettingError(f"`--{next(iter(own))}` is a setting of hardmax transformers: add `--model hardmax`.")
    out = Path(f"{_stem(data)}.regard") if out is None else out
    check_out(out, "--out", data, test, vectors, checkpoint)
    say = console(quiet or json)
    corpus = read(data, text=text, label=label, encoding=encoding)
    tested = read(test, text=text, label=label, encoding=encoding, classes=1, like=corpus.source) if test else None
    if tested is None and corpus.split is None and validation > 0:
        corpus = with_validation(corpus, validation, seed)
    tell(corpus, say)
    if tested is not None:
        say.print("To test on:")
        tell(tested, say)
    settings: dict[str, Any] = {
        "validation_fraction": validation,
        "random_state": seed,
        "n_threads": threads,
        "verbose": not (quiet or json),
    }
    if model == "hardmax":
        settings |= {"ngrams": ngrams or 1, "dim": width or 2, **own}
    elif model == "han":
        settings |= {"encoder": None if encoder == "none" else encoder or "conv", "checkpoint": checkpoint}
        settings |= {"dim": width, "hidden": width} if width else {}
    elif encoder is None:
        settings |= {"scale": scale}
        settings |= {"ngrams": ngrams or 2, "width": width or 2, "epochs": "auto", "min_count": "auto"}
    else:
        settings |= {"scale": scale}
        settings |= {"encoder": None if encoder == "none" else encoder, "score": score, "dim": width}
        settings |= {"vectors": vectors, "checkpoint": checkpoint}
    settings |= {name: int(value) for name, value in (("epochs", epochs), ("min_count", min_count)) if value != "auto"}
    classifier, result = train_and_test(corpus, tested, settings, say, model)
    classifier.save(out)
    result["model"] = str(out)
    findings = reading(classifier)
    result["reading"] = [asdict(finding) for finding in findings]
    if report:
        part, name = unseen(corpus, tested)
        try:
            result["report"] = str(write_beside(classifier, out, part, name))
        except DataError as error:
            raise DataError(f"The model is whole in {out}, but its report is missing: {error}") from error
    if json:
        print_json(result)
        return
    say.print(f"\nThe model is in [bold]{escape(str(out))}[/bold] ({out.stat().st_size / 1e6:.1f} MB).")
    if report:
        say.print(f"The report is in {result['report']}: open it in a browser. Next:", markup=False)
    program = called()
    say.print(f'  {program} explain {out} "a text of yours"', markup=False)
    say.print(f"  {program} words {out}", markup=False)
    say.print(f"  {program} predict {out} FILE --out predicted.csv", markup=False)
    if doubts := cautions(findings):
        names = ", ".join(finding.name for finding in doubts)
        say.print(f"Read its attention scores with caution ({names}): `{program} info {out}` says why.", markup=False)


def _check_han(ngrams: int | None, encoder: str | None, given: dict[str, Any], scale: float) -> None:
    """Refuse what hierarchical attention has no use for."""
    from regard.errors import SettingError
    from regard.models.settings import one_of

    if encoder is not None:
        one_of(encoder, "--encoder", ("none", "gru", "lstm", "conv"))
    given = {**given, "--checkpoint": None, "--ngrams": ngrams not in (None, 1), "--scale": scale != 10.0}
    if alone := next((option for option, value in given.items() if value), None):
        raise SettingError(f"`{alone}` is no setting of hierarchical attention: leave it out, or train another model.")


def with_validation(corpus: Corpus, fraction: float, seed: int) -> Corpus:
    """Hold texts out where the data have no split, so that the model that is measured is the model that is kept."""
    from dataclasses import replace

    import numpy as np

    from regard.corpus.splits import stratified_mask

    assert corpus.labels is not None
    held_out = stratified_mask(corpus.labels, fraction, seed)
    return replace(corpus, split=np.where(held_out, "validation", "train"))


def tell(corpus: Corpus, say: Console) -> None:
    """What was read, and how it was understood."""
    from regard.cli.output import plural, some
    from regard.corpus.inputs import called

    source = corpus.source
    say.print(f"Read {plural(source.rows, 'row')} of {source.format} from {called(source.path)}.", markup=False)
    say.print(f"  texts: column '{source.text_column}' ({source.text_reason})", markup=False)
    classes = corpus.classes.tolist()
    say.print(
        f"  labels: column '{source.label_column}' ({source.label_reason}), "
        f"{plural(len(classes), 'class', 'classes')}: {some(classes)}",
        markup=False,
    )
    if corpus.split is not None:
        how = (
            f"column '{source.split_column}' ({source.split_reason})"
            if source.split_column
            else "drawn here, the same share of every class"
        )
        parts = ", ".join(f"{name} {len(corpus.part(name)):,}" for name in corpus.parts)
        say.print(f"  split: {how}: {parts}", markup=False)
    for note in source.notes:
        say.print(f"  note: {note}", markup=False)


def train_and_test(
    corpus: Corpus, tested: Corpus | None, settings: dict[str, Any], say: Console, model: str = "attention"
) -> tuple[TextClassifier, dict[str, Any]]:
    """Train on the training part, measure on the others; the model says what was measured.

    Settings that name an encoder are those of a network; ``model`` may be "hardmax" or "han".
    """
    import time

    from regard.cli.output import percent, plural
    from regard.cli.report import keep_assessment, unseen
    from regard.errors import DataError
    from regard.models.inputs import as_labels, labels_like

    parts = {name: corpus.part(name) for name in corpus.parts} if corpus.split is not None else {"train": corpus}
    if tested is not None:
        parts["test"] = tested
    if "train" not in parts:
        raise DataError(
            f"A split must have rows for training, but the one of {corpus.source.path} has only {' and '.join(parts)}: "
            "correct it or take its column out."
        )
    training = parts["train"]
    began = time.perf_counter()
    network = "encoder" in settings
    classifier = _classifier(model, network=network)(**settings)
    assert training.labels is not None
    given = parts.get("validation")
    if given is not None:
        given = parts["validation"] = _with_known_labels(given, training.classes, say)
    if "test" in parts:  # a wrong column shows now, not after the training
        labels_like(as_labels(parts["test"].labels, len(parts["test"])), training.classes)
    classifier.fit(training.texts, training.labels, validation=None if given is None else (given.texts, given.labels))
    seconds = time.perf_counter() - began
    result: dict[str, Any] = {"rows": {name: len(part) for name, part in parts.items()}, "seconds": seconds}
    what = "words" if network else "words and phrases"
    say.print(
        f"Trained on {plural(len(training), 'text')} in {seconds:.1f} s: {len(classifier.model_.word_table):,} {what}, "
        f"{plural(classifier.n_iter_, 'epoch')}."
    )
    if classifier.validation_ is not None:
        result["validation"] = classifier.validation_
    if "test" in parts:
        result["test"] = classifier.evaluate(parts["test"].texts, parts["test"].labels)
    for name in ("validation", "test"):
        if name in result:
            measured = result[name]
            say.print(
                f"  {name}: accuracy [bold]{percent(measured['accuracy'])}[/bold], macro-F1 "
                f"{percent(measured['macro_f1'])} on {plural(measured['texts'], 'text')}"
            )
    source = corpus.source
    classifier.describe(
        data={
            "path": Path(source.path).name,
            "format": source.format,
            "text_column": source.text_column,
            "label_column": source.label_column,
            **result["rows"],
        },
        **({"test": result["test"]} if "test" in result else {}),
    )
    part, name = unseen(corpus, tested)
    if part is not None:
        keep_assessment(classifier, part, name)
    return classifier, result


def _classifier(model: str, *, network: bool) -> type[TextClassifier]:
    """What learns the model that was asked for."""
    from regard import models

    if model == "han":
        return models.HierarchicalAttentionClassifier
    if network:
        return models.NeuralAttentionClassifier
    return models.HardmaxClassifier if model == "hardmax" else models.AttentionClassifier


def _with_known_labels(part: Corpus, classes: NDArray[Any], say: Console) -> Corpus:
    """Leave out what cannot help to choose: validation texts whose label does not occur in training."""
    import numpy as np

    from regard.cli.output import plural, some
    from regard.errors import DataError

    assert part.labels is not None
    known = np.isin(part.labels, classes)
    if known.all():
        return part
    strange = part.take(~known)
    labels = some(strange.classes.tolist())
    what = f"{plural(len(strange), 'validation text')} with labels that no training text has ({labels})"
    if not known.any():
        raise DataError(
            f"Validation needs labels that occur in training, but there are only {what}: correct the split."
        )
    say.print(f"  note: Left out: {what}.", markup=False)
    return part.take(known)


def _stem(data: str) -> str:
    name = "stdin" if data == "-" else Path(data).name
    return name.split(".")[0] or "model"
