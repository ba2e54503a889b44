"""Speed and memory of regard.nn beside others, as ratios of times measured in turn in one run.

    python benchmarks/attention.py [--json FILE] [--quick] [NAME ...]

Above one, regard is faster or smaller. Keras and entmax are compared with where they are installed (the
extra ``bench``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from common import write
from regard import nn
from regard.nn.additive import additive_score

ROUNDS = 15
ROWS: list[dict[str, Any]] = []


def main() -> None:
    """Run the comparisons that are asked for, all of them if none is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*COMPARISONS, []], metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--grow", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="smaller smoothing, fewer rounds")
    options = parser.parse_args()
    if options.quick:
        globals()["ROUNDS"] = 5
    torch.set_num_threads(2)
    torch.manual_seed(0)
    if options.grow:
        print(grow(additive_case(*options.grow)))
        return
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}")
    for name in options.names or COMPARISONS:
        COMPARISONS[name](options.quick)
    if options.json:
        options.json.write_text(json.dumps(ROWS, indent=2) + "\n")
    if not options.names:
        lines = [
            f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads. The ratio is the other's time or memory",
            "over regard's: above one, regard is faster or smaller.",
            "",
            "| | ratio | bar | at best |",
            "|---|---|---|---|",
            *(f"| {row['what']} | {row['ratio']:.2f} | {row['bar']} | {row['detail'].strip()} |" for row in ROWS),
        ]
        write("attention", "Attention beside others", "python benchmarks/attention.py", lines)


def compare(what: str, ours: Callable[[], object], theirs: Callable[[], object], bar: str, rounds: int = 0) -> None:
    """Time both in turn, and report the median of the ratios of neighbouring runs."""
    for _ in range(2):
        ours(), theirs()
    times = [(clock(theirs), clock(ours)) for _ in range(rounds or ROUNDS)]
    ratio = statistics.median(their / our for their, our in times)
    mine, other = (min(column) for column in zip(*[(b, a) for a, b in times], strict=True))
    report(what, ratio, bar, f"{1e3 * mine:9.2f} ms against {1e3 * other:9.2f} ms at best")


def report(what: str, ratio: float, bar: str, detail: str) -> None:
    """One line."""
    ROWS.append({"what": what, "ratio": round(ratio, 3), "bar": bar, "detail": detail})
    print(f"{what:66s} {ratio:8.2f}x  (bar {bar})  {detail}", flush=True)


def clock(run: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def extra_memory(case: str, side: str) -> float:
    """The most that a process of its own grows while a case runs for the second time, in MiB.

    It gives freed memory back at once, so that the second run cannot hide in what the first one left.
    """
    settings = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_TOP_PAD_": "0"}
    command = [sys.executable, __file__, "--grow", case, side]
    run = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    return float(run.stdout)


def grow(run: Callable[[], object], *, warm: bool = True) -> float:
    """The most that this process grows while something runs a second time, in MiB, sampled by a thread."""
    page, peak, done = os.sysconf("SC_PAGESIZE"), 0, threading.Event()

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.0002)

    if warm:
        run()
    before = resident()
    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return max(0.1, (peak - before) / 2**20)


def both_ways(attend: Callable[..., Tensor], *leaves: Tensor) -> Callable[[], None]:
    """Forward and backward."""

    def run() -> None:
        torch.autograd.grad(attend(*leaves).sum(), leaves)

    return run


def drawn(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Random leaves."""
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def dot_family(quick: bool) -> None:
    """Fused scores against bare scaled_dot_product_attention; the bar is 1 / 1.15."""
    for size in (256, 512) if quick else (256, 512, 1024):
        shape = (8, 4, size, 64)
        query, key, value = drawn(shape, shape, shape)
        general = nn.General(64, 64)
        for score in ("dot", "scaled_dot", general, "cosine", "squared_distance"):
            name = score if isinstance(score, str) else "general"

            def ours(q: Tensor, k: Tensor, v: Tensor, score: object = score) -> Tensor:
                return nn.attend(q, k, v, score=score, need_weights=False).context  # type: ignore[arg-type]

            theirs = both_ways(scaled_dot_product_attention, query, key, value)
            compare(
                f"{name}, T = S = {size}, against bare SDPA",
                both_ways(ours, query, key, value),
                theirs,
                ">= 0.87",
            )


def multi_head(quick: bool) -> None:
    """Against torch.nn.MultiheadAttention, self-attention, with and without weights."""
    theirs = torch.nn.MultiheadAttention(256, 4, batch_first=True)
    ours = nn.MultiHeadAttention.from_torch(theirs)
    for size in (256,) if quick else (256, 512):
        (x,) = drawn((8, size, 256))
        for need in (False, True):
            options = {"need_weights": need, "average_attn_weights": False}
            compare(
                f"MultiHeadAttention, T = {size}, {'with' if need else 'without'} weights",
                both_ways(lambda x, need=need: ours(x, need_weights=need).context, x),
                both_ways(lambda x, options=options: theirs(x, x, x, **options)[0], x),
                ">= 1",
            )


SIZES = {"short": (8, 64, 256, 128), "long": (1, 1024, 1024, 256)}


def additive_case(case: str, side: str) -> Callable[[], object]:
    """Additive attention both ways, by us, by the plain formula, or by Keras."""
    batch, steps, size, depth = SIZES[case]
    leaves = drawn((batch, steps, depth), (batch, size, depth), (depth,))
    if side == "keras":
        import keras

        layer = keras.layers.AdditiveAttention()
        layer.build([(batch, steps, depth), (batch, size, depth), (batch, size, depth)])
        return both_ways(lambda query, key, _: layer([query, key, key]) * leaves[2].sum(), *leaves)

    def ours(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(additive_score(query, key, v), -1) @ key

    def plain(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(torch.tanh(query[:, :, None] + key[:, None]) @ v, -1) @ key

    return both_ways(ours if side == "ours" else plain, *leaves)


def additive(quick: bool) -> None:  # noqa: ARG001 - all comparisons are called alike
    """Against the plain formula, and against Keras."""
    for case, (batch, steps, size, depth) in SIZES.items():
        mine, rounds = additive_case(case, "ours"), 3 if case == "long" else 7
        grown = extra_memory(case, "ours")
        for side in ("plain", "keras") if find_spec("keras") else ("plain",):
            what = f"additive, B {batch}, T {steps}, S {size}, D {depth}, against {side}"
            compare(what, mine, additive_case(case, side), ">= 8", rounds)
            other = extra_memory(case, side)
            report(f"{what}: extra memory", other / grown, ">= 10", f"{grown:9.1f} MiB against {other:8.1f} MiB")


def sparse(quick: bool) -> None:  # noqa: ARG001
    """Against the package entmax."""
    if not find_spec("entmax"):
        print("entmax is not installed: pip install 'regard[bench]'")
        return
    import entmax

    for scale in (1.0, 10.0):
        (scores,) = drawn((8, 4, 256, 256))
        scores = (scale * scores).detach().requires_grad_()
        slope = torch.randn(8, 4, 256, 256)
        for name in ("sparsemax", "entmax15"):
            ours, theirs = getattr(nn, name), partial(getattr(entmax, name), dim=-1)
            compare(
                f"{name}, 8 x 4 x 256 x 256, scores of size {scale:g}, both ways",
                lambda ours=ours, scores=scores, slope=slope: torch.autograd.grad(ours(scores), scores, slope),
                lambda theirs=theirs, scores=scores, slope=slope: torch.autograd.grad(theirs(scores), scores, slope),
                ">= 1",
                5,
            )


def local(quick: bool) -> None:  # noqa: ARG001
    """Windows against full attention at S = 8192."""
    size, depth = 8192, 64
    query, key, value = drawn((1, size, depth), (1, size, depth), (1, size, depth))

    def full(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return nn.attend(query, key, value, score="dot", need_weights=False).context

    for position in ("monotonic", "predictive"):
        for reach in (5, 10, 20):
            options: dict[str, Any] = {"position": position, "window": reach, "score": "dot"}
            module = nn.LuongLocalAttention(depth, depth, **options)

            def ours(q: Tensor, k: Tensor, v: Tensor, module: nn.LuongLocalAttention = module) -> Tensor:
                context: Tensor = module(q, k, v, need_weights=False).context
                return context

            compare(
                f"local, {position}, D = {reach}, S = {size}, against full fused attention",
                both_ways(ours, query, key, value),
                both_ways(full, query, key, value),
                ">= 10",
                5,
            )


def smoothing(quick: bool) -> None:
    """Points by similarity, against the two matrix products alone, in blocks."""
    count = 20_000 if quick else 100_000
    points = torch.randn(count, 32)

    def ours() -> None:
        with torch.no_grad():
            nn.average_similar(points, score="scaled_dot")

    def products(block: int = 512) -> None:
        with torch.no_grad():
            for start in range(0, count, block):
                (points[start : start + block] @ points.T) @ points

    nn.average_similar(points[:100], score="scaled_dot")
    seconds: list[float] = []
    grown = grow(lambda: seconds.append(clock(ours)), warm=False)
    other = clock(products)
    detail = f"{1e3 * seconds[0]:9.0f} ms against {1e3 * other:9.0f} ms, once"
    report(
        f"smoothing {count} x {count} points, against the products alone",
        other / seconds[0],
        ">= 0.77",
        detail,
    )
    what = f"smoothing {count} x {count} points: 1 GiB against the extra memory"
    report(what, 1024 / grown, ">= 1", f"{grown:9.1f} MiB")


COMPARISONS: dict[str, Callable[[bool], None]] = {
    "dot_family": dot_family,
    "multi_head": multi_head,
    "additive": additive,
    "sparse": sparse,
    "local": local,
    "smoothing": smoothing,
}

if __name__ == "__main__":
    main()
