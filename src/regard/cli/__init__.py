"""The command line: one command a file; they ask the other rooms and compute nothing."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ["main", "stop"]


def main() -> None:
    """Run the program; what it needs is imported here, so that an interrupt is answered from the first moment."""
    try:
        from regard.cli.app import main as run

        run()
    except KeyboardInterrupt:
        stop()


def stop() -> NoReturn:
    """End at once after an interrupt: every `finally` on the way here has run.

    Not by `sys.exit`: an interpreter that met the interrupt inside `exec` kills itself by signal on its way out.
    """
    sys.stdout.flush()
    print("regard: Stopped; no unfinished file was left behind.", file=sys.stderr, flush=True)
    os._exit(1)
