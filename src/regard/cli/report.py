"""`regard report`: the page that shows a model and is the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.corpus import Corpus
    from regard.models.estimator import TextClassifier


def report(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    data: Annotated[str | None, typer.Option(help="Labelled texts that the model was not trained on.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts, if it is not found by itself.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels, if it is not found by itself.")] = None,
    documents: Annotated[int, typer.Option(help="How many of the texts the page may contain.", min=0)] = 200,
    encoding: Annotated[str, typer.Option(help="Of the data.")] = "utf-8",
    out: Annotated[Path | None, typer.Option(help="Where to write the page; NAME.html beside the model.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the same data as JSON instead.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Write one HTML file that shows what a model learned and predicts any text, offline.

    With --data it also shows how good the predictions are, and texts with their heat maps. Where the data have a
    split, its test part is used, or else its validation part.

    Example: [bold]regard report reviews.regard --data reviews.csv[/bold]
    """
    from regard.cli.output import check_out, console, plural
    from regard.corpus import read
    from regard.models.model import load_model
    from regard.report import report as make

    out = page_beside(model) if out is None else out
    if not json:
        check_out(out, "--out", model, data)
    loaded = load_model(model)
    say = console(quiet or json)
    texts, labels, part = None, None, "test"
    if data is not None:
        corpus, part = held_out(read(data, text=text, label=label, encoding=encoding, classes=1))
        texts, labels = corpus.texts, corpus.labels
        say.print(f"The report is about {plural(len(corpus), 'text')} ({part}).", markup=False)
    made = make(loaded, texts, labels, name=model.stem, part=part, documents=documents)
    if json:
        print(made.to_json())
        return
    made.save(out)
    say.print(f"The report is in {out} ({out.stat().st_size / 1e6:.1f} MB); open it in a browser.", markup=False)


def held_out(corpus: Corpus) -> tuple[Corpus, str]:
    """The part of a corpus that the model has not seen: test, else validation, else all of it."""
    for part in ("test", "validation"):
        if part in corpus.parts:
            return corpus.part(part), part
    return corpus, "given"


def page_beside(model: Path) -> Path:
    """NAME.html, unless the model itself is called that."""
    return model.with_suffix(".report.html" if model.suffix == ".html" else ".html")


def unseen(corpus: Corpus, tested: Corpus | None) -> tuple[Corpus | None, str]:
    """What a training leaves to be measured on: the second table, else the test or the validation part."""
    if tested is not None:
        return tested, "test"
    part, name = held_out(corpus)
    return (None, name) if name == "given" else (part, name)


def keep_assessment(classifier: TextClassifier, part: Corpus, name: str) -> None:
    """Let the model remember how it did on a part: numbers only, no text."""
    from regard.models.inputs import as_labels
    from regard.report import assess

    table = classifier.model_
    scores = table.scores(part.texts, classifier.n_threads)
    labels = as_labels(part.labels, len(part))
    classifier.describe(assessment=assess(scores, labels, table.classes, name).to_dict())


def write_beside(classifier: TextClassifier, model: Path, part: Corpus | None, name: str) -> Path:
    """Write the report of a model that has just been trained, as NAME.html beside it.

    Parameters
    ----------
    classifier
        The model.
    model
        Where its file is.
    part
        Labelled texts it was not trained on, if there are any.
    name
        What to call them: test or validation.
    """
    from regard.report import report as make

    texts, labels = (None, None) if part is None else (part.texts, part.labels)
    page = page_beside(model)
    made = make(classifier, texts, labels, name=model.stem, part=name, n_threads=classifier.n_threads)
    made.save(page)
    return page
