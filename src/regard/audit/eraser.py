"""What people marked, as the ERASER benchmark writes it: spans of words, which are what stands between spaces."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import regex

from regard.errors import DataError

_WORD = regex.compile(r"\S+")

# The spans of words (start, end) that were marked in a text, the end not among them.
WordSpans = tuple[tuple[int, int], ...]


def word_places(text: str) -> list[tuple[int, int]]:
    """Where the words of ERASER stand: the characters (start, end) of each."""
    return [match.span() for match in _WORD.finditer(text)]


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file, empty lines left out."""
    lines = []
    for number, written in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
        if not written.strip():
            continue
        try:
            line = json.loads(written)
        except ValueError as error:
            raise DataError(f"{path} must be JSON Lines; line {number} is no JSON: {error}.") from error
        if not isinstance(line, dict):
            raise DataError(f"{path} must have an object on each line; line {number} is a {type(line).__name__}.")
        lines.append(line)
    return lines


def read_evidence(path: str | os.PathLike[str], texts: Sequence[str]) -> list[WordSpans | None]:
    """What was marked in each text: None where nobody looked at it, and () where nobody found anything.

        {"annotation_id": "...", "evidences": [[{"docid": "...", "start_token": 3, "end_token": 7}]]}

    Lines find their texts by ``"text"``, if they have one; or by ERASER's documents, ``docs/`` or ``docs.jsonl`` beside
    the file; or else stand in the order of the texts. Spaces may differ between a document and its text.

    Parameters
    ----------
    path
        JSON Lines, such as ERASER's ``test.jsonl``.
    texts
        Those of the audit.
    """
    path = Path(path)
    lines = json_lines(path)
    documents = _documents(path.parent)
    named = [_text_of(line, documents) for line in lines]
    if None in named and len(lines) != len(texts):
        raise DataError(
            f"{path} must have a line for each of the {len(texts)} texts, or say which they are by `text` or by "
            f"ERASER's docs/ beside it; it has {len(lines)} lines."
        )
    if None in named:
        return [
            _spans(line, text, f"{path}, line {i + 1}") for i, (line, text) in enumerate(zip(lines, texts, strict=True))
        ]
    by_words: dict[tuple[str, ...], int] = {}
    for i, text in enumerate(named):
        words = tuple(str(text).split())
        if words in by_words:
            raise DataError(
                f"{path} must have one line for each text, and lines {by_words[words] + 1} and {i + 1} are of the same "
                "one: evidence for several questions about a text cannot be told apart here."
            )
        by_words[words] = i
    found: list[WordSpans | None] = []
    for text in texts:
        at = by_words.get(tuple(text.split()))
        found.append(None if at is None else _spans(lines[at], text, f"{path}, line {at + 1}"))
    if all(each is None for each in found):
        raise DataError(f"{path} has no line for any of the {len(texts)} texts: give the evidence of these texts.")
    return found


def hard_spans(line: Mapping[str, Any], text: str, where: str) -> WordSpans | None:
    """What a model marked: ``rationales[0].hard_rationale_predictions``, if it says."""
    hard = line["rationales"][0].get("hard_rationale_predictions") if line["rationales"] else None
    return None if hard is None else _checked(hard, text, where)


def _documents(folder: Path) -> dict[str, str]:
    """ERASER's documents by their names."""
    if (folder / "docs").is_dir():
        return {file.name: file.read_text("utf-8") for file in sorted((folder / "docs").iterdir()) if file.is_file()}
    if (folder / "docs.jsonl").is_file():
        return {str(line["docid"]): str(line["document"]) for line in json_lines(folder / "docs.jsonl")}
    return {}


def _text_of(line: Mapping[str, Any], documents: Mapping[str, str]) -> str | None:
    if isinstance(line.get("text"), str):
        return str(line["text"])
    names = {str(span.get("docid")) for group in line.get("evidences") or () for span in group}
    names |= set(map(str, line.get("docids") or ())) or {str(line.get("annotation_id"))} if not names else set()
    texts = [documents[name] for name in sorted(names) if name in documents]
    return texts[0] if len(texts) == 1 else None


def _spans(line: Mapping[str, Any], text: str, where: str) -> WordSpans:
    if not isinstance(line.get("evidences"), list):
        raise DataError(
            f"{where} must have `evidences`, ERASER's lists of spans; it has {', '.join(line) or 'nothing'}."
        )
    spans = [span for group in line["evidences"] for span in group]
    names = {span.get("docid") for span in spans}
    if len(names) > 1:
        raise DataError(f"{where} must be about one text, and its evidence is in {len(names)} documents.")
    return _checked(spans, text, where)


def _checked(spans: Sequence[Mapping[str, Any]], text: str, where: str) -> WordSpans:
    """Each span once, in order; every one inside the text."""
    words = len(text.split())
    found = set()
    for span in spans:
        start, end = span.get("start_token"), span.get("end_token")
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= words):
            raise DataError(
                f"{where} must have spans of words (start_token, end_token) inside its text, which has {words} words "
                f"between spaces; got ({start}, {end})."
            )
        found.add((start, end))
    return tuple(sorted(found))
