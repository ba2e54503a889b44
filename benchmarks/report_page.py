"""How long a report takes from opening it until ``regard.predict`` answers, beside opening an empty page.

    python benchmarks/report_page.py [MODEL.regard] [--data FILE] [--times N]

Without a model it trains one with pairs on the IMDB reviews (REGARD_DATA names the folder of data sets). Prints JSON:
the ratio, the milliseconds of both sides, the size of the page, and how long the map takes to draw a frame.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from regard.corpus import read
from regard.models import AttentionClassifier, load_model
from regard.report import report

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
EMPTY = "<!doctype html><html lang=en><meta charset=utf-8><title>empty</title>"
# Zoom in and out by keys; a frame is over when the next one begins.
FRAMES = """async () => {
  const canvas = document.querySelector('#map canvas'), times = [];
  canvas.scrollIntoView();
  for (let i = 0; i < 40; i++) {
    const began = performance.now();
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: i % 2 ? '+' : '-', bubbles: true, cancelable: true }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push((performance.now() - began) / 2);
  }
  return times;
}"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--data", default=str(DATA / "imdb.parquet"))
    parser.add_argument("--times", type=int, default=7)
    arguments = parser.parse_args()
    test = read(arguments.data).part("test")
    if arguments.model is None:
        train = read(arguments.data).part("train")
        model = AttentionClassifier(random_state=0).fit(train.texts, train.labels).model_
    else:
        model = load_model(arguments.model)
    chromium = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page, empty = Path(folder) / "report.html", Path(folder) / "empty.html"
        began = time.perf_counter()
        report(model, test.texts, test.labels).save(page)
        writing = time.perf_counter() - began
        empty.write_text(EMPTY)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        # Both sides in turn, so that whatever else the machine does falls on both.
        times = [(opening(browser, empty, "true"), opening(browser, page, ANSWER)) for _ in range(arguments.times)]
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        tab.locator("#map").get_by_role("slider").fill("0")  # every word, up to the limit
        points = tab.locator("#map p[role=status]").inner_text()
        frames = tab.evaluate(FRAMES)
        browser.close()
        size = page.stat().st_size
    nothing, answer = (statistics.median(side) for side in zip(*times, strict=True))
    print(
        json.dumps(
            {
                "ratio": round(answer / nothing, 2),
                "until predict answers, ms": round(1000 * answer),
                "slowest, ms": round(1000 * max(t for _, t in times)),
                "empty page, ms": round(1000 * nothing),
                "page, MB": round(size / 1e6, 2),
                "rows": len(model),
                "writing the page, s": round(writing, 2),
                "map": points,
                "map, ms a frame": round(statistics.median(frames), 1),
            },
            indent=2,
        )
    )


ANSWER = "window.regard.ready.then(() => window.regard.predict('not good at all').prediction)"


def opening(browser, page: Path, question: str) -> float:
    """Seconds from asking for the page in a new tab until the answer is there."""
    tab = browser.new_page()
    began = time.perf_counter()
    tab.goto(page.as_uri(), wait_until="commit")
    tab.wait_for_load_state("domcontentloaded")
    tab.evaluate(question)
    seconds = time.perf_counter() - began
    tab.close()
    return seconds


if __name__ == "__main__":
    main()
