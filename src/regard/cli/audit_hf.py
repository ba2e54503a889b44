"""`regard audit-hf`: whether what is shown as the reasons of a Hugging Face model may be believed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.audit import check, show

if TYPE_CHECKING:
    from regard.corpus import Corpus

_SCORES = "last-cls, heads-mean, rollout, grad-x-input, leave-one-out, head:LAYER.HEAD (from 0), or heads for each"


def audit_hf(
    model: Annotated[str, typer.Argument(help="A folder with a model of Transformers, or its name on the hub.")],
    data: Annotated[str, typer.Argument(help="Texts that the model was not trained on; the test part of a split.")],
    scores: Annotated[
        list[str] | None, typer.Option(help=f"What to audit, the main one first; may be repeated: {_SCORES}.")
    ] = None,
    removal: Annotated[str, typer.Option(help="delete words, or mask them by the tokeniser's sign.")] = "delete",
    texts: Annotated[int | None, typer.Option(help="Audit so many texts, drawn at random; all by default.", min=1)] = (
        None
    ),
    tests: Annotated[str, typer.Option(help="quick, or full: also why what needs training is left out.")] = "quick",
    text: Annotated[str | None, typer.Option(help="The column of texts, if it is not found by itself.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels, if it is not found by itself.")] = None,
    label_name: Annotated[
        list[str] | None,
        typer.Option(help="DATA=MODEL: what the data call a label, and what the model does; may be repeated."),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of the data.")] = "utf-8",
    download: Annotated[
        bool, typer.Option("--download", help="Fetch a model of the hub that is not in the cache.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write every number as JSON; - prints it.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the audit as a page.")] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 where TEST.MEASURE=VALUE is not reached; may be repeated."),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 where TEST.MEASURE=VALUE is exceeded; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.", min=0)] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Test whether attention, gradients or leaving out may be shown as the reason for a transformer's decisions.

    Any sequence classifier of Hugging Face Transformers with a fast tokeniser. Words are removed from the texts,
    and the model reads them again, about a thousand times a text. Needs the extra hf.

    Example: [bold]regard audit-hf my-model reviews.csv --texts 200 --scores rollout --scores grad-x-input[/bold]
    """
    from rich.markup import escape

    from regard.audit import audit as run
    from regard.audit.gates import gates
    from regard.cli.output import check_out, console, percent, plural
    from regard.cli.report import held_out
    from regard.corpus import read
    from regard.errors import SettingError
    from regard.lazy import fetch
    from regard.models.inputs import as_labels
    from regard.models.progress import progress_bar
    from regard.tokens.ready import say_if_compiling
    from regard.tokens.threads import thread_count

    if tests not in ("quick", "full"):
        raise SettingError(f"`--tests` must be quick or full; got {tests!r}.")
    printed = json is not None and str(json) == "-"
    for option, out in (("--json", None if printed else json), ("--html", html)):
        if out is not None:
            check_out(out, option, data)
    asked = gates(fail_under or [], fail_over or [])
    named = names(label_name or [])
    corpus, part = held_out(read(data, text=text, label=label, encoding=encoding, classes=1))
    chosen, labels = some(corpus, texts, seed)
    source_class = fetch("regard.audit.huggingface", "HuggingFaceSource", "hf")
    options = {} if scores is None else {"scores": scores}
    source = source_class.load(model, download=download, removal=removal, **options)
    fetch("torch", "set_num_threads")(thread_count(threads))
    truth = source.named(as_labels([named.get(str(each), str(each)) for each in labels], len(chosen)))
    say_if_compiling(not quiet)
    say = console(quiet or printed)
    of = f" of {len(corpus):,}" if len(chosen) < len(corpus) else ""
    say.print(f"Auditing [bold]{escape(source.name)}[/bold] on {plural(len(chosen), 'text')}{of} ({part}).")
    with progress_bar(not quiet) as report:
        right = float((source.classes[source.predict(chosen).argmax(axis=1)] == truth).mean())
        say.print(f"The model is right about {percent(right)} of them.")
        found = run(source, chosen, truth, tests=tests, seed=seed, n_threads=1, report=report)  # type: ignore[arg-type]
    if printed:
        print(found.to_json())
    elif json is not None:
        found.save(json)
    if html is not None:
        from regard.models.store import write_whole
        from regard.report.page import audit_page

        write_whole(html, audit_page(found).encode("utf-8", "backslashreplace"))
    if source.truncated:
        say.print(
            f"{plural(source.truncated, 'text')} had more than the {found.about['source']['sub-words read']:,} "
            "sub-words that the model can read: only what it reads was audited."
        )
    show(found, say)
    check(found, asked)


def names(written: Sequence[str]) -> dict[str, str]:
    """What the model calls each label of the data."""
    from regard.errors import SettingError

    found = {}
    for each in written:
        ours, sign, theirs = each.partition("=")
        if not (ours and sign and theirs):
            raise SettingError(f"`--label-name` must be DATA=MODEL, such as 'neg=NEGATIVE'; got {each!r}.")
        found[ours] = theirs
    return found


def some(corpus: Corpus, wanted: int | None, seed: int) -> tuple[list[str], list[Any]]:
    """All texts and labels, or as many as are wanted, drawn at random and in their order."""
    import numpy as np

    assert corpus.labels is not None, "the table was read with its labels"
    texts, labels = list(corpus.texts), list(corpus.labels)
    if wanted is None or wanted >= len(texts):
        return texts, labels
    drawn = np.sort(np.random.default_rng([seed, 6]).choice(len(texts), wanted, replace=False)).tolist()
    return [texts[i] for i in drawn], [labels[i] for i in drawn]
