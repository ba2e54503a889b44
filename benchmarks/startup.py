"""Seconds until the program answers, and what compiling adds to the first call ever."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

from common import versions, write

ROUNDS = 3


def timed(*command, rounds=ROUNDS, **environment):
    """Seconds on the clock and of the processors, each of the quickest of several runs."""
    runs = []
    for _ in range(rounds):
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        runs.append((time.perf_counter() - began, work))
    return tuple(map(min, zip(*runs, strict=True)))


def main():
    regard = [sys.executable, "-m", "regard"]
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/m.regard"
        python = timed(sys.executable, "-c", "pass")
        warm = timed(*regard, "demo", "--out", model, "-q")
        with tempfile.TemporaryDirectory() as cache:
            cold = timed(*regard, "demo", "--out", model, "-q", rounds=1, NUMBA_CACHE_DIR=cache)
        help_ = timed(*regard, "--help")
        explain = timed(*regard, "explain", model, "not good at all")
    rows = [
        ("`python -c pass`", python),
        ("`regard --help`", help_),
        ("`regard explain MODEL TEXT`", explain),
        ("`regard demo`, kernels compiled before", warm),
        ("`regard demo`, first call ever", cold),
        ("so compiling adds", tuple(c - w for c, w in zip(cold, warm, strict=True))),
    ]
    lines = [
        "On the clock, and as the work of the processors, which does not depend on what else the machine is doing.",
        "",
        "| | s | processor s |",
        "|---|---|---|",
        *(f"| {name} | {clock:.2f} | {work:.2f} |" for name, (clock, work) in rows),
        "",
        versions("numpy", "numba", "typer"),
    ]
    write("startup", "Start-up", "python benchmarks/startup.py", lines)


if __name__ == "__main__":
    sys.exit(main())
