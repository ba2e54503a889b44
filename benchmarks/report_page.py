"""How long a report takes from opening it until ``regard.predict`` answers, beside opening an empty page.

The model has pairs and learned from the IMDB reviews (REGARD_DATA names the folder of data sets). Also: the size of the
page, and how long its map takes to draw a frame. Needs Chromium; REGARD_CHROMIUM may say where it is.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from common import imdb, versions, write
from regard import AttentionClassifier
from regard.report import report

ROUNDS = 7
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
EMPTY = "<!doctype html><html lang=en><meta charset=utf-8><title>empty</title>"
# Drag the map about, as a hand does; a frame lasts until the next one begins, so a screen of 60 Hz allows 16.7 ms.
FRAMES = """async () => {
  const canvas = document.querySelector('#map canvas'), times = [];
  canvas.scrollIntoView();
  canvas.setPointerCapture = () => {}; // there is no real pointer to capture
  const box = canvas.getBoundingClientRect();
  const hand = (type, i) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 7, isPrimary: true, bubbles: true,
    clientX: box.x + 300 + 60 * Math.sin(i / 5), clientY: box.y + 200 + 40 * Math.cos(i / 7) }));
  hand('pointerdown', 0);
  await new Promise(requestAnimationFrame);
  let last = performance.now();
  for (let i = 1; i <= 120; i++) {
    hand('pointermove', i);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  hand('pointerup', 120);
  return times.slice(10);
}"""


def main():
    chromium = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return "There must be a Chromium to open the page in, and there is none: install it, or set REGARD_CHROMIUM."
    (texts, labels), (new, truth) = imdb()
    model = AttentionClassifier(random_state=0).fit(texts, labels).model_
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page, empty = Path(folder) / "report.html", Path(folder) / "empty.html"
        began = time.perf_counter()
        report(model, new, truth).save(page)
        writing = time.perf_counter() - began
        empty.write_text(EMPTY)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        # Both sides in turn, so that whatever else the machine does falls on both.
        times = [(opening(browser, empty, "true"), opening(browser, page, ANSWER)) for _ in range(ROUNDS)]
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached")
        tab.locator("#map").get_by_role("slider").fill("0")  # every word, up to the limit
        points = tab.locator("#map p[role=status]").inner_text()
        frames = tab.evaluate(FRAMES)
        browser.close()
        size = page.stat().st_size
    nothing, answer = (statistics.median(side) for side in zip(*times, strict=True))
    lines = [
        f"The model of the IMDB reviews: {len(model):,} words and phrases in a page of {size / 1e6:.1f} MB, written in",
        f"{writing:.1f} s. Both pages are opened from disk in turn, {ROUNDS} times, each in a new tab of headless",
        "Chromium; the report is open when `regard.predict` has answered.",
        "",
        "| | ms, median | ms, slowest | times as long |",
        "|---|---|---|---|",
        f"| an empty page | {1000 * nothing:.0f} | {1000 * max(t for t, _ in times):.0f} | 1.0 |",
        f"| the report | {1000 * answer:.0f} | {1000 * max(t for _, t in times):.0f} | {answer / nothing:.1f} |",
        "",
        f"Dragged, the map draws a frame every {statistics.median(frames):.1f} ms, one in twenty takes longer than",
        f"{statistics.quantiles(frames, n=20)[-1]:.1f} ms ({points}).",
        "",
        versions("numpy", "playwright"),
    ]
    write("report_page", "Opening a report", "python benchmarks/report_page.py", lines)
    return None


ANSWER = "window.regard.ready.then(() => window.regard.predict('not good at all').prediction)"


def opening(browser, page, question):
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
    sys.exit(main())
