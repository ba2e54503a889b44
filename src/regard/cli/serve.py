"""`regard serve`: a model behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: Annotated[Path, typer.Argument(help="A model that `regard train` wrote.")],
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 is any that is free.", min=0, max=65535)] = 8000,
    texts: Annotated[int, typer.Option(help="Texts a call, at most.", min=1)] = 1000,
    characters: Annotated[int, typer.Option(help="Characters a text, at most.", min=1)] = 100_000,
    body: Annotated[int, typer.Option(help="Bytes of a body, at most.", min=1)] = 4_000_000,
    seconds: Annotated[float, typer.Option(help="For a request to arrive, and for its answer.", min=0.1)] = 10.0,
    requests: Annotated[int, typer.Option(help="Requests at the same time, at most.", min=1)] = 64,
    cors: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may ask; can be repeated. None by default.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)] = None,
) -> None:
    """Serve predictions and explanations over HTTP (extra serve); a model that is replaced on disk takes over.

    Where the environment has REGARD_API_KEY, clients must send it as `Authorization: Bearer KEY`. Logs are lines of
    JSON on standard error, without the texts.

    Example: [bold]regard serve reviews.regard --port 8000[/bold]
    """
    import os

    from regard.errors import SettingError
    from regard.lazy import fetch

    key = os.environ.get("REGARD_API_KEY")
    if key is not None and (not key.isascii() or not key.isprintable() or len(key) < 8 or key != key.strip()):
        raise SettingError(
            "REGARD_API_KEY must be 8 printable ASCII characters or more, without spaces around them; it is not: set "
            "another key, or unset it."
        )
    limits = fetch("regard.serve.limits", "Limits")(
        texts=texts, characters=characters, body=body, seconds=seconds, requests=requests
    )
    run = fetch("regard.serve.running", "serve")
    run(
        model,
        host,
        port,
        limits,
        key=key,
        cors=cors or (),
        threads=threads,
        ready=lambda address: print(f"Serving {model} at {address}; stop with Ctrl-C.", flush=True),
    )
