"""`regard audit`: whether a heat map may be believed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from regard.audit import Audit, Result
    from regard.audit.gates import Gate


def audit(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    data: Annotated[str, typer.Argument(help="Texts that the model was not trained on; the test part of a split.")],
    tests: Annotated[str, typer.Option(help="quick, or full: also what needs other models to be trained.")] = "quick",
    train: Annotated[
        str | None, typer.Option(help="The training texts, for full; the train part of DATA's split, if not given.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Audit scores computed elsewhere: JSON Lines, ERASER's format too.")
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="What people marked in the texts: ERASER's JSON Lines, with its docs beside it.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts, if it is not found by itself.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels, if it is not found by itself.")] = None,
    encoding: Annotated[str, typer.Option(help="Of the data.")] = "utf-8",
    json: Annotated[Path | None, typer.Option(help="Write every number as JSON; - prints it.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report page with the audit in it.")] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 where TEST.MEASURE=VALUE is not reached; may be repeated."),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 where TEST.MEASURE=VALUE is exceeded; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="With full: how many further seeds.", min=2)] = 8,
    seed: Annotated[int, typer.Option(help="Of every random choice.", min=0)] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Test whether attention may be shown as the reason for a model's decisions, and say so in plain words.

    Example: [bold]regard audit reviews.regard reviews.csv --fail-over "flips.never flips: attention=0.2"[/bold]
    """
    from rich.markup import escape

    from regard.audit import audit as run
    from regard.audit.gates import gates
    from regard.cli.output import check_out, console, plural
    from regard.cli.report import held_out
    from regard.corpus import read
    from regard.errors import DataError, SettingError
    from regard.models.model import load_model
    from regard.models.progress import progress_bar
    from regard.tokens.ready import say_if_compiling

    if tests not in ("quick", "full"):
        raise SettingError(f"`--tests` must be quick or full; got {tests!r}.")
    printed = json is not None and str(json) == "-"
    for option, out in (("--json", None if printed else json), ("--html", html)):
        if out is not None:
            check_out(out, option, model, data, train, scores, evidence)
    asked = gates(fail_under or [], fail_over or [])
    loaded = load_model(model)
    say = console(quiet or printed)
    corpus = read(data, text=text, label=label, encoding=encoding, classes=1)
    texts, part = held_out(corpus)
    training = None
    if train is not None:
        table = read(train, text=text, label=label, encoding=encoding)
        training = table.part("train") if "train" in table.parts else table
    elif "train" in corpus.parts:
        training = corpus.part("train")
    if tests == "full" and training is None:
        raise DataError(
            f"The full audit trains other models, and {data} has no part for training: name the training texts with "
            "--train, or leave out --tests full."
        )
    say_if_compiling(not quiet)
    say.print(f"Auditing [bold]{escape(model.stem)}[/bold] on {plural(len(texts), 'text')} ({part}).")
    subject: object = loaded
    if scores is not None:
        from regard.audit.scores_file import FileSource

        subject = FileSource.read(scores, loaded, texts.texts)
    marked = None
    if evidence is not None:
        from regard.audit import read_evidence

        marked = read_evidence(evidence, texts.texts)
    with progress_bar(not quiet) as report:
        found = run(
            subject,
            texts.texts,
            texts.labels,
            tests=tests,  # type: ignore[arg-type]
            train=None if training is None else (training.texts, training.labels),
            evidence=marked,
            name=model.stem,
            seeds=seeds,
            seed=seed,
            n_threads=threads,
            report=report,
        )
    if printed:
        print(found.to_json())
    elif json is not None:
        found.save(json)
    if html is not None:
        from regard.report import report as make

        made = make(loaded, texts.texts, texts.labels, name=model.stem, part=part, n_threads=threads, audit=found)
        made.save(html)
    show(found, say)
    check(found, asked)


def check(found: Audit, gates: Sequence[Gate]) -> None:
    """End with 1 where a gate is not passed, and say which."""
    failures = [sentence for gate in gates if (sentence := gate.failure(found))]
    for sentence in failures:
        typer.echo(f"regard: {sentence}", err=True)
    if failures:
        raise typer.Exit(1)


def show(found: Audit, say: Console) -> None:
    """The verdict, then every test."""
    from rich.markup import escape

    say.print(f"\n[bold]May {escape(found.about['ranking'])} be shown as a reason?[/bold]")
    say.print(found.verdict.text, soft_wrap=False, markup=False)
    say.print()
    for name, value, meaning in found.verdict.numbers:
        say.print(f"  [bold]{value:.1%}[/bold] {escape(meaning)} [dim]({name})[/dim]")
    say.print()
    for result in found.results:
        say.print(f"[bold]{result.title}[/bold] [dim]{result.name}[/dim]", soft_wrap=True)
        if result.skipped is not None:
            say.print(f"  not tested: {result.skipped}\n", markup=False)
            continue
        say.print(f"  {result.formula}", markup=False, style="dim")
        say.print(f"  {result.direction}", markup=False)
        say.print(f"  [dim]removal:[/dim] {result.removal}; [dim]scale:[/dim] {result.scale}")
        for line in table(result):
            say.print(line, markup=False)
        for note in result.notes:
            say.print(f"  {note}", markup=False, style="dim")
        for c in result.comparisons:
            say.print(f"  {c.measure}: {c.one} against {c.two} {c.difference:+.4f}, p = {c.p:.2g} (Holm)", markup=False)
        instead = f"; without closed forms it would read {result.instead:,}" if result.instead and result.exact else ""
        say.print(f"  {result.seconds:.2f} s, {result.evaluations:,} further readings{instead}\n", style="dim")
    say.print(
        f"{found.about['texts']:,} texts, {found.about['units']:,} {found.about['unit']}, "
        f"{found.about['seconds']:.1f} s, seed {found.about['seed']}, data {found.about['data'][:12]}"
    )


def table(result: Result) -> list[str]:
    """The measures of a test as lines; no number is cut off, however narrow the terminal."""
    rows = [("", "mean", "95% interval", "random ± sd", "optimum", "undefined")]
    for measure in result.measures:
        known = measure.lower is not None and measure.upper is not None
        spread = "" if measure.spread is None else f" ± {measure.spread:.4f}"
        rows.append(
            (
                measure.name,
                "–" if measure.value is None else _number(measure.value),
                f"{measure.lower:.4f} to {measure.upper:.4f}" if known else "",
                "" if measure.random is None else f"{measure.random:.4f}{spread}",
                _number(measure.optimum),
                f"{measure.undefined:,}" if measure.undefined else "",
            )
        )
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in zip(*columns, strict=True):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append(f"    {'  '.join(cells)}".rstrip())
    return lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
