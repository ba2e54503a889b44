"""Run the benchmarks, each of which writes a page in docs/results: all, or those that are named.

    python benchmarks/run.py
    python benchmarks/run.py speed memory

One that fails does not keep the others from running.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from common import DATA

# What each measures, and about how many minutes it takes on two cores.
BENCHMARKS = {
    "startup": ("until the program answers; what compiling adds to the first call ever", 1),
    "memory": ("peak memory of training on IMDB and of predicting a CSV of 2 GB", 2),
    "speed": ("training and predicting beside fastText and TF-IDF, on IMDB", 4),
    "accuracy": ("accuracy beside four rivals, on five data sets", 40),
    "ablation": ("what each part of the training is worth", 15),
    "width": ("the paper's own model, by closed form and by autograd", 15),
    "neural": ("the LSTM network beside a plain padded loop in PyTorch", 5),
    "attention": ("the mechanisms beside other implementations", 5),
    "report_page": ("the size and the speed of the page of a report", 2),
    "audit": ("the audit beside Captum's ablation and the published search for an adversary", 6),
    "audit_hf": ("leaving out with a transformer beside Captum's ablation", 1),
    "reading": ("the conditions for reading scores, from one scale to the next", 5),
    "sql": ("scoring 25,000 reviews inside DuckDB and Spark, beside Python's own predictions", 5),
    "serve": ("the server under eight clients, beside a bare FastAPI echo", 4),
    "similarity": ("smoothing 100,000 objects beside plain NumPy; memory with a million", 5),
}


def main() -> int | str:
    """Run what is named on the command line, or everything."""
    names = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        return f"There is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}."
    if not DATA.is_dir():
        return f"The benchmarks need the data sets, but there is no folder {DATA}: name it in REGARD_DATA."
    print(f"Measuring with the data of {DATA}; about {sum(BENCHMARKS[n][1] for n in names)} minutes in all:")
    for name in names:
        what, minutes = BENCHMARKS[name]
        print(f"  {name:12} {minutes:3} min  {what}")
    failed = []
    for i, name in enumerate(names, start=1):
        print(f"\n[{i} of {len(names)}] {name}", flush=True)
        began = time.perf_counter()
        script = str(Path(__file__).with_name(f"{name}.py"))
        if subprocess.run([sys.executable, script], check=False).returncode:
            failed.append(name)
        print(f"[{name}: {(time.perf_counter() - began) / 60:.1f} min]")
    return f"These benchmarks failed: {', '.join(failed)}; what they said is above." if failed else 0


if __name__ == "__main__":
    sys.exit(main())
