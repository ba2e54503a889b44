"""A browser, and reports to open in it; without either the tests skip and say why."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from regard.corpus import demo, read
from regard.models import AttentionClassifier
from regard.report import report
from tests.strategies import TRICKY

CHROMIUM = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE_LABELS = [
    "</script><script>window.pwned=1</script>",
    "__proto__",
    "\u202e<img src=x onerror=window.pwned=2>\u2028'\"",
]


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium here: install it, or set REGARD_CHROMIUM to its path")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page with what went wrong in it."""

    def __init__(self, page, path: Path) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.problems.append(m.text) if m.type in {"error", "warning"} else None)
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("request", lambda r: self.requests.append(r.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")


@pytest.fixture
def open_page(browser):
    contexts = []

    def open_page(path: Path, **settings) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        return Opened(context.new_page(), path)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def demo_report(tmp_path_factory):
    """A classifier of two classes with its page."""
    corpus = demo()
    train, test = corpus.part("train"), corpus.part("test")
    clf = AttentionClassifier(random_state=0).fit(train.texts, train.labels)
    path = tmp_path_factory.mktemp("demo") / "demo.html"
    report(clf, test.texts, test.labels, name="demo").save(path)
    return clf, path


@pytest.fixture(scope="session")
def loud_report(tmp_path_factory):
    """A classifier with vectors and its page; at such a scale some words are louder than others by thousands."""
    corpus = demo()
    train, test = corpus.part("train"), corpus.part("test")
    clf = AttentionClassifier(width=5, scale=0.001, epochs=5).fit(train.texts, train.labels)
    path = tmp_path_factory.mktemp("loud") / "loud.html"
    report(clf, test.texts, test.labels, name="loud").save(path)
    return clf, path


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory):
    """Three classes with hostile labels, texts and words, and phrases of three words."""
    draw = random.Random(1)
    words = ["constructor", "hasownproperty", "toString", "__proto__", "valueOf", "<img src=x onerror=window.pwned=3>"]
    texts, labels = [], []
    for i in range(300):
        k = i % 3
        own = [words[2 * k], words[2 * k + 1], f"{words[k]} {words[k + 1]} {words[k + 2]}"]
        text = " ".join([draw.choice(own), hostile_text(draw), draw.choice(own), "</script>\u2028\u202e"])
        texts.append(text)
        labels.append(HOSTILE_LABELS[k])
    clf = AttentionClassifier(ngrams=3, random_state=0, validation_fraction=0).fit(texts, np.array(labels))
    path = tmp_path_factory.mktemp("hostile") / "hostile.html"
    # Some labels are wrong, so that the page has mistakes to show.
    truth = [HOSTILE_LABELS[(i + (i % 7 == 0)) % 3] for i in range(300)]
    report(clf, texts, np.array(truth), name="</title><script>window.pwned=4</script>").save(path)
    return clf, path


def hostile_text(draw: random.Random, most: int = 40) -> str:
    return "".join(draw.choice(TRICKY) for _ in range(draw.randint(0, most)))


@pytest.fixture(scope="session")
def real_texts():
    """Texts as people write them: the data sets where they are, else the demonstration corpus."""
    from tests.conftest import DATA

    if not DATA.is_dir():
        return demo().texts[:1100]
    texts = read(str(DATA / "sst.parquet")).part("test").texts[:600]
    texts += read(str(DATA / "imdb.parquet")).part("test").texts[::100][:250]
    raw = read(str(DATA / "newsgroups_raw.parquet")).part("test").texts
    return texts + raw[:: max(1, len(raw) // 250)][:250]
