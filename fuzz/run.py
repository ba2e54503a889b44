"""Guess at bytes, led by coverage, for so many seconds: ``python fuzz/run.py tokens --seconds 60``.

Finds an input that breaks what a target promises, writes it to a file that starts with ``crash-``, and exits with 77.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

# What numba compiles cannot be instrumented; the Python around it is.
SOURCE = Path(__file__).parents[1] / "src"
COMPILED = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("kernels.py")]

with atheris.instrument_imports(include=["regard"], exclude=COMPILED):
    from targets import SEEDS, TARGETS


def main() -> None:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=Path, help="Only this input, such as one that was found.")
    asked = parser.parse_args()
    if asked.input:
        TARGETS[asked.target](asked.input.read_bytes())
        return
    corpus = Path(tempfile.mkdtemp(prefix=f"regard-fuzz-{asked.target}-"))
    for i, seed in enumerate(SEEDS[asked.target]):
        (corpus / f"seed{i}").write_bytes(seed)
    options = [f"-max_total_time={asked.seconds}", f"-seed={asked.seed}", "-max_len=4096", "-timeout=30"]
    options += ["-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0", "-artifact_prefix=./"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[asked.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
