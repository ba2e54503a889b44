"""Seconds until the program answers, and what compiling adds to the first call ever."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from common import seconds, versions, write

ROUNDS = 5


def timed(*command, **environment):
    """The quickest of several runs: what the program needs when nothing else runs."""
    run = lambda: subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})  # noqa: E731
    return min(seconds(run)[0] for _ in range(ROUNDS))


def main():
    regard = [sys.executable, "-m", "regard"]
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/m.regard"
        python = timed(sys.executable, "-c", "pass")
        warm = timed(*regard, "demo", "--out", model, "-q")
        with tempfile.TemporaryDirectory() as cache:
            cold, _ = seconds(
                lambda: subprocess.run(
                    [*regard, "demo", "--out", model, "-q"],
                    check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": cache},
                )
            )
        help_ = timed(*regard, "--help")
        explain = timed(*regard, "explain", model, "not good at all")
    lines = [
        "| | s |",
        "|---|---|",
        f"| `python -c pass` | {python:.2f} |",
        f"| `regard --help` | {help_:.2f} |",
        f"| `regard explain MODEL TEXT` | {explain:.2f} |",
        f"| `regard demo`, kernels compiled before | {warm:.2f} |",
        f"| `regard demo`, first call ever | {cold:.2f} |",
        f"| so compiling adds | {cold - warm:.2f} |",
        "",
        versions("numpy", "numba", "typer"),
    ]
    write("startup", "Start-up", "python benchmarks/startup.py", lines)


if __name__ == "__main__":
    sys.exit(main())
