"""The data in a template: one HTML file with its own styles, its own program, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from regard.report.assessment import Assessment
from regard.report.audited import audited
from regard.report.data import Report
from regard.report.figures import calibration, training
from regard.report.packing import packed

if TYPE_CHECKING:
    from regard.audit.result import Audit


@dataclass(frozen=True)
class Section:
    """A section of the page: ``templates/sections/NAME.html``, absent where its data are.

    Attributes
    ----------
    name : str
        Its anchor.
    link : str
        Its name in the navigation.
    title : str
        Its heading; the first section is headed by the name of the report.
    data : str
        The field of the report that it shows.
    live : bool
        Whether ``assets/NAME.js`` shows the rest of it: it calls ``section(NAME, open)``.
    """

    name: str
    link: str
    title: str
    data: str
    live: bool = False


SECTIONS = (
    Section("overview", "Overview", "", "overview"),
    Section("map", "Map", "The map", "map", live=True),
    Section("words", "Words", "The words", "words", live=True),
    Section("reading", "Reading", "Can the scores be read?", "reading"),
    Section("audit", "Audit", "May attention be shown as a reason?", "audit"),
    Section("documents", "Documents", "Documents", "documents", live=True),
    Section("leaders", "Leaders", "Leaders", "leaders", live=True),
    Section("try", "Try it", "Try it", "exact", live=True),
)

# The modules in the order in which they build on each other; one function holds them all.
_SCRIPTS = ("unpack", "tokenise", "model", "dom", "heat", *(each.name for each in SECTIONS if each.live), "main")
_STYLES = ("base", "parts", "print")
_IN_A_CELL = 2_000_000  # characters; a larger page would make a notebook heavy
_CONFUSION = 40  # classes; beyond, only the commonest confusions are shown


def page(report: Report) -> str:
    """The whole page."""
    style, script = _style(), _script()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            overview=report.overview,
            sections=[each for each in SECTIONS if getattr(report, each.data)],
            policy=policy,
            style=style,
            script=script,
            packed=packed(report),
            confusion_limit=_CONFUSION,
        )
    )


def audit_page(found: Audit) -> str:
    """An audit alone, of a model that has no report: the same section, and no program."""
    style = _style()
    policy = f"default-src 'none'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        _environment()
        .get_template("audit.html")
        .render(report={"audit": audited(found)}, name=found.about["model"], policy=policy, style=style)
    )


def notebook(report: Report) -> str:
    """The page in a frame where it is small enough for a notebook, otherwise its first lines."""
    whole = report.to_html()
    if len(whole) <= _IN_A_CELL:
        return (
            f'<iframe srcdoc="{escape(whole)}" sandbox="allow-scripts" title="Report" '
            'width="100%" height="720" style="border:1px solid #8884;border-radius:8px"></iframe>'
        )
    return _environment().get_template("summary.html").render(overview=report.overview, megabytes=len(whole) / 1e6)


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


@cache
def _script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _style() -> str:
    return "\n".join(_asset(f"{name}.css") for name in _STYLES)


def _asset(name: str) -> str:
    return files("regard.report").joinpath("assets", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("regard.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=_percent, whole=_whole, signed=_signed, few=_few, share=_share, brief=_brief, decimal=_decimal
    )
    environment.globals.update(
        confusions=_confusions, shade=_shade, facts=_facts, calibration=calibration, training=training
    )
    return environment


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def _share(value: float) -> str:
    """A probability that is never rounded up to certainty."""
    return "over 99.9%" if 0.9995 < value < 1 else f"{value:.1%}"


def _whole(value: int) -> str:
    return f"{value:,}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _few(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".replace("-", "−")


def _brief(label: Any) -> str:
    """A label where it is mentioned, as in the page's program: a number is a class; of a sentence two ends will do."""
    text = f"class {label}" if re.fullmatch(r"-?\d+", str(label), re.ASCII) else str(label)
    return text if len(text) <= 48 else f"{text[:30]}…{text[-17:]}"


def _printable(value: Any) -> Any:
    """Direction marks and control characters become visible instead of doing their work, as in the page's program."""
    return _MARKS.sub("·", value) if type(value) is str else value


_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _shade(count: int, of: int) -> int:
    """How dark a cell of the confusion matrix is: 0 for nothing, then 1 to 9."""
    return 0 if not count else 1 + min(8, int(9 * count / max(of, 1)))


def _confusions(assessment: Assessment, classes: tuple[Any, ...]) -> list[tuple[str, str, int, float]]:
    """The commonest confusions: truth, prediction, texts, and their share of the truth."""
    assert assessment.confusion is not None
    found = [(n, t, p) for t, row in enumerate(assessment.confusion) for p, n in enumerate(row) if n and t != p]
    found.sort(key=lambda each: -each[0])
    return [(str(classes[t]), str(classes[p]), n, n / sum(assessment.confusion[t])) for n, t, p in found[:8]]


def _facts(report: Report) -> list[tuple[str, str]]:
    """What the model was made from and how, in words and numbers."""
    overview = report.overview
    facts = []
    if overview.texts is not None:
        facts.append(("Trained on", f"{overview.texts:,} texts"))
    split = [f"{name} {overview.data[name]:,}" for name in ("train", "validation", "test") if name in overview.data]
    if len(split) > 1:
        facts.append(("Split", ", ".join(split)))
    if "path" in overview.data:
        facts.append(("Data", f"{overview.data['path']} ({overview.data.get('format', 'a table')})"))
    phrases = f", {overview.phrases:,} phrases" if overview.phrases else ""
    facts.append(("Table" if report.exact else "Vocabulary", f"{overview.words:,} words{phrases}"))
    if overview.epochs is not None:
        facts.append(("Epochs", str(overview.epochs)))
    for name, called in _SETTINGS.items():
        value = overview.settings.get(name)
        if value not in (None, "auto") and (name, value) != ("width", 2):  # two numbers a word, without vectors
            facts.append((called, _few(value)))
    if overview.version is not None:
        facts.append(("Made with", f"regard {overview.version}"))
    return facts


_SETTINGS = {
    "encoder": "Encoder",
    "score": "Attention",
    "dim": "Width",
    "width": "Width",
    "scale": "Scale λ",
    "ngrams": "Words a phrase",
    "min_count": "Least count",
    "random_state": "Seed",
}
