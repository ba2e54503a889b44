"""Smoothing 100,000 objects by each other, against softmax(QK')V in plain NumPy, block by block.

    python benchmarks/similarity.py [times | memory] [--quick]

The plain side is timed on a slice of the queries against all keys, and multiplied: its work is the same for each query.
Seconds depend on who else uses the machine; seconds of one processor depend on that much less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from common import versions, write
from regard.similarity import AttentionSmoother, SimilarityClassifier

SLICES = 10


def plain(points, queries, rows):
    """softmax(QK' / √d) V by the book, with one block of scores at a time."""
    out = np.empty_like(queries)
    scale = points.dtype.type(1 / np.sqrt(points.shape[1]))
    for start in range(0, len(queries), rows):
        scores = (queries[start : start + rows] * scale) @ points.T
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        out[start : start + rows] = scores @ points
    return out


def clock(run):
    """Seconds, and seconds of processors."""
    wall, used = time.perf_counter(), time.process_time()
    result = run()
    return time.perf_counter() - wall, time.process_time() - used, result


def grown(run):
    """The most that the process grows while something runs, in MB, sampled by a thread."""
    page, peak, done = os.sysconf("SC_PAGESIZE"), 0, threading.Event()

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    def watch():
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident())

    before = resident()
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        run()
    finally:
        done.set()
        thread.join()
    return (peak - before) / 1e6


def memory(what, count):
    """What a piece of work takes beside its objects, in MB, after a small one that loads what is loaded once."""
    rng = np.random.default_rng(0)
    if what == "smooth":
        points = rng.normal(size=(count, 64)).astype(np.float32)
        model = AttentionSmoother(similarity="scaled_dot", bandwidth=1.0)
        model.fit_transform(points[:2000])
        return grown(lambda: model.fit_transform(points))
    reference = rng.normal(size=(count, 16)).astype(np.float32)
    labels = np.arange(count) % 3
    model = SimilarityClassifier(bandwidth=1.0).fit(reference[:2000], labels[:2000])
    model.predict(reference[:200])
    model.fit(reference, labels)
    return grown(lambda: model.predict(reference[:200]))


def alone(what, count):
    """``memory`` in a process of its own, in which nothing that was freed before can be used again."""
    command = [sys.executable, __file__, "--memory", what, str(count)]
    return f"{float(subprocess.run(command, capture_output=True, text=True, check=True).stdout):.1f}"


def compare(count, dtype, rounds, threads):
    """Ratios of seconds and of processors' seconds, each the median of rounds taken in turn."""
    points = np.random.default_rng(0).normal(size=(count, 64)).astype(dtype)
    some = points[: count // SLICES]
    model = AttentionSmoother(similarity="scaled_dot", bandwidth=1.0, n_threads=threads)
    model.fit_transform(points[:2000])
    found = []
    with threadpool_limits(threads, user_api="blas"):
        rows = min((256, 1024), key=lambda rows: clock(lambda: plain(points, points[:1024], rows))[1])
        for _ in range(rounds):
            ours = clock(lambda: model.fit_transform(points))
            theirs = clock(lambda: plain(points, some, rows))
            np.testing.assert_allclose(ours[2][: len(some)], theirs[2], atol=1e-4 if dtype == np.float32 else 1e-10)
            found.append([ours[0], SLICES * theirs[0], ours[1], SLICES * theirs[1]])
    wall, plain_wall, used, plain_used = (statistics.median(column) for column in zip(*found, strict=True))
    ratio = statistics.median(row[1] / row[0] for row in found)
    ratio_used = statistics.median(row[3] / row[2] for row in found)
    what = f"{count:,} x 64, {np.dtype(dtype).name}, {threads} threads"
    return (
        f"| {what} | {wall:.1f} s | {plain_wall:.1f} s ({rows} rows) | "
        f"{ratio:.1f} | {used:.1f} s | {plain_used:.1f} s | {ratio_used:.1f} |"
    )


def times(quick):
    count = 20_000 if quick else 100_000
    return [
        "`AttentionSmoother` with scaled dot products (Q = K = V) against `softmax(QK'/√d)V` in plain NumPy, whose",
        "block of scores has the better of 256 and 1024 rows. Ratios of times taken in turn; above one, regard is",
        f"faster. The plain side does a {SLICES}th of the queries against all keys; its time counts {SLICES}-fold.",
        "",
        "| | regard | plain | ratio | regard, processors | plain, processors | ratio |",
        "|---|---|---|---|---|---|---|",
        compare(count, np.float32, 1, 2),
        compare(count // 2, np.float64, 1, 2),
        compare(count // 5, np.float32, 1 if quick else 3, 1),
        compare(count // 5, np.float64, 1, 1),
    ]


def memories(quick):
    count = 20_000 if quick else 100_000
    return [
        "Beyond the objects, in a process of its own:",
        "",
        "| | memory |",
        "|---|---|",
        f"| smoothing {count:,} x 64 (float32), with the result | {alone('smooth', count)} MB |",
        *(f"| classifying 200 objects by {size:,} | {alone('classify', size)} MB |" for size in (count, 10 * count)),
    ]


PARTS = {
    "memory": (memories, "similarity-memory", "Memory of averages by similarity"),
    "times": (times, "similarity", "Times of averages by similarity"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=list(PARTS), help="both, unless told")
    parser.add_argument("--quick", action="store_true", help="20,000 objects, one round; writes no page")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(memory(options.memory[0], int(options.memory[1])))
        return
    for part in [options.part] if options.part else PARTS:
        work, page, title = PARTS[part]
        lines = [*work(options.quick), "", versions("numpy", "numba", "scikit-learn")]
        if options.quick:
            print("\n".join(lines))
        else:
            write(page, title, f"python benchmarks/similarity.py {part}", lines)


if __name__ == "__main__":
    main()
