"""Peak memory of training on IMDB and of predicting a large CSV, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from common import DATA, versions, write

CSV_BYTES = 2_000_000_000


def peak(*command):
    """Peak resident memory of a command, in MB."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1024


def main():
    regard = [sys.executable, "-m", "regard"]
    with tempfile.TemporaryDirectory() as folder:
        model, table = f"{folder}/imdb.regard", Path(f"{folder}/large.csv")
        train = peak(*regard, "train", str(DATA / "imdb.parquet"), "--out", model, "-q")
        texts = pl.read_parquet(DATA / "imdb.parquet").select("id", "text")
        with table.open("wb") as file:
            texts.write_csv(file)
            while file.tell() < CSV_BYTES:
                texts.write_csv(file, include_header=False)
        size = table.stat().st_size
        predict = peak(*regard, "predict", model, str(table), "--out", f"{folder}/out.csv", "-q")
    start = peak(*regard, "--version")
    lines = [
        "| | peak resident memory |",
        "|---|---|",
        f"| `regard train` on IMDB, words and pairs | {train:.0f} MB |",
        f"| `regard predict` on a CSV of {size / 1e9:.1f} GB | {predict:.0f} MB |",
        f"| `regard --version` | {start:.0f} MB |",
        "",
        versions("numpy", "numba", "polars"),
    ]
    write("memory", "Memory", "python benchmarks/memory.py", lines)


if __name__ == "__main__":
    sys.exit(main())
