"""`regard info`: what a model is and how it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def info(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say what a model is: classes, size, settings, data, accuracy, and whether its scores can be read.

    Example: [bold]regard info reviews.regard[/bold]
    """
    from dataclasses import asdict

    from rich.markup import escape

    from regard.cli.output import console, plural, print_json, some, verdict_line
    from regard.explain.findings import reading
    from regard.models.model import load_model

    loaded = load_model(model)
    table = loaded.word_table
    findings = reading(loaded)
    starts = table.vocabulary.level_starts()
    about = {
        "path": str(model),
        "bytes": model.stat().st_size,
        "classes": table.classes.tolist(),
        "rows": len(table),
        "words": table.vocabulary.words,
        "phrases": {str(n + 1): starts[n + 1] - starts[n] for n in range(1, table.vocabulary.ngrams)},
        "bias": table.bias.tolist(),
        **table.about,
        "reading": [asdict(finding) for finding in findings],
    }
    if json:
        print_json(about)
        return
    out = console()
    out.print(f"[bold]{escape(str(model))}[/bold], {about['bytes'] / 1e6:.1f} MB")
    out.print(f"  {plural(len(table.classes), 'class', 'classes')}: {some(table.classes.tolist())}", markup=False)
    out.print(f"  {len(table):,} rows: {plural(table.vocabulary.words, 'word')}, {len(table) - starts[1]:,} phrases")
    for name, value in table.about.items():
        if name in ("assessment", "course"):  # the report draws them
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{key} {_short(item)}" for key, item in value.items())
        out.print(f"  {name}: {_short(value)}", markup=False)
    out.print("  can the scores be read?")
    for finding in findings:
        out.print(f"    {verdict_line(finding)}", markup=False)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
