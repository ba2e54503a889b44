"""`regard explain`: which words spoke, how loudly, and for whom."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.explain import Explanation, Gathering
    from regard.models import Model


def explain(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    text: Annotated[list[str], typer.Argument(help="One or more texts; - reads one text a line from standard input.")],
    label: Annotated[str | None, typer.Option(help="With more than two classes: whose score to explain.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page instead of colouring the terminal.")] = None,
    encoding: Annotated[str, typer.Option(help="Of standard input.")] = "utf-8",
    json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
) -> None:
    """Explain predictions: the contributions of the words add up to the score exactly.

    Example: [bold]regard explain reviews.regard "not good at all"[/bold]
    """
    from regard.cli.output import check_out, console, print_json
    from regard.explain import explain as explain_texts
    from regard.explain.passages import as_lines, sentence_parts
    from regard.models.model import load_model
    from regard.models.store import write_whole

    if html is not None:
        check_out(html, "--html", model)
    loaded = load_model(model)
    texts = _lines(encoding) if text == ["-"] else text
    labels = {str(c): c for c in loaded.classes}
    explanations = explain_texts(loaded, texts, label=labels.get(label, label) if label is not None else None)
    if html is not None:
        page = f"<!doctype html><meta charset='utf-8'><title>regard</title>{explanations._repr_html_()}"
        write_whole(html, page.encode("utf-8", "replace"))
    gathered = _gathered(loaded, explanations)
    hierarchical = loaded.kind == "HierarchicalAttentionClassifier"
    if json:
        told = [explanation.to_dict() for explanation in explanations]
        if hierarchical:
            for each, explanation in zip(told, explanations, strict=True):
                each["sentences"] = [vars(part) for part in sentence_parts(explanation)]
        for each, gathering in zip(told, gathered, strict=False):
            each["leaders"] = gathering.to_dict()
        print_json(told)
    elif html is None:
        out = console()
        for i, explanation in enumerate(explanations):
            if i:
                out.print()
            out.print(explanation.to_rich())
            if gathered:
                out.print(f"Leaders, and who gathers around them:\n{gathered[i]}", markup=False, highlight=False)
            if hierarchical:
                lines = as_lines(sentence_parts(explanation))
                out.print(f"Sentences, their weight and contribution:\n{lines}", markup=False, highlight=False)


def _gathered(model: Model, explanations: Sequence[Explanation]) -> list[Gathering]:
    """The leaders of each text, in a model that has some."""
    if model.kind != "HardmaxClassifier":
        return []
    from regard.explain import leaders  # needs numba, which takes a moment

    return [leaders(model, each.text, label=_asked(each)) for each in explanations]


def _asked(explanation: Explanation) -> Any:
    """Whose score is explained, where one may choose."""
    return explanation.label if len(explanation.probabilities) > 2 else None


def _lines(encoding: str) -> list[str]:
    """The lines of standard input."""
    from regard.corpus.inputs import STDIN, called, decoder_for, not_decodable

    decoder_for(encoding)
    content = sys.stdin.buffer.read()
    try:
        lines = content.decode(encoding).removeprefix("\ufeff").split("\n")
    except UnicodeError as error:
        raise not_decodable(called(STDIN), encoding, error) from None
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]
