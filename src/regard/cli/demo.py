"""`regard demo`: the whole line on the built-in corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("demo.regard"),
    seed: Annotated[int, typer.Option(help="Of the corpus and of the training.", min=0)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Walk the whole line on the built-in corpus: read, train, test, explain, save.

    Example: [bold]regard demo[/bold]
    """
    from rich.markup import escape

    from regard.cli.output import called, check_out, console, loudest_table
    from regard.cli.report import write_beside
    from regard.cli.train import tell, train_and_test
    from regard.corpus import demo as demo_corpus
    from regard.explain import explain

    check_out(out, "--out")
    say = console(quiet)
    say.print("[bold]1. Data[/bold]: reviews made by a small grammar, which knows the truth about its words.")
    corpus = demo_corpus(seed=seed)
    tell(corpus, say)
    say.print("\n[bold]2. Training[/bold]: every word learns how loudly it speaks and which side it takes.")
    classifier, _ = train_and_test(corpus, None, {"random_state": seed, "verbose": not quiet}, say)
    say.print("\n[bold]3. What it learned[/bold]")
    say.print(loudest_table(classifier.model_, 8))
    say.print("\n[bold]4. Two predictions taken apart[/bold]: the contributions add up to the score exactly.")
    for text in _TEXTS:
        explanation = explain(classifier, text)[0]
        say.print(explanation.to_rich())
        say.print(f"  [dim]residual {explanation.residual:.1e}[/dim]\n")
    classifier.save(out)
    page = write_beside(classifier, out, corpus.part("test"), "test")
    say.print(f"[bold]5. The model[/bold] is in [bold]{escape(str(out))}[/bold].")
    say.print(f"Its report is in {page}: open it in a browser. Try:", markup=False)
    say.print(f'  {called()} explain {out} "The soup was not good, but the staff were lovely!"', markup=False)
    say.print(f"  {called()} train YOUR.csv", markup=False)


_TEXTS = (
    "The room was clean and the staff were wonderful. Not bad at all!",
    "It looked great in the photos, but the battery was not good and the screen broke.",
)
