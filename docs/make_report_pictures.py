"""Photograph a report for the documentation: python docs/make_report_pictures.py REPORT.html.

Writes ``docs/report-map.png`` (light) and ``docs/report-try.png`` (dark). Needs Chromium and the development
requirements.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PICTURES = [
    ("map", "light", 1040, None),
    ("try", "dark", 1080, "The plot is not good and far too long, but the acting is wonderful."),
]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main(report: Path) -> None:
    """Open the report, once for each picture."""
    chromium = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for section, scheme, height, text in PICTURES:
            size = {"width": 1280, "height": height}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page.goto(report.resolve().as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            if text is not None:
                page.fill("#text", text)
            page.locator(f"#{section}-title").evaluate("title => title.scrollIntoView({ behavior: 'instant' })")
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / f"report-{section}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
