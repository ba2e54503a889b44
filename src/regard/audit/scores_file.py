"""Scores computed elsewhere, from JSON Lines: our own explanations, plain lists, or ERASER's format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.audit.eraser import WordSpans, hard_spans, json_lines, word_places
from regard.audit.queried import FunctionSource
from regard.errors import DataError
from regard.models.model import Model
from regard.models.table import probabilities
from regard.tokens import tokenize


class FileSource(FunctionSource):
    """A model to ask, and a file that scores the units of each text.

    A line is one text of the data, in its order, or named by ``text``:

        {"text": "...", "scores": [...]}   for each word, as `regard explain` cuts them
        {"text": "...", "tokens": [{"start", "end"}], "scores"}   for each of these spans; scores may be {name: [...]}
        {"annotation_id": "...", "rationales": [{"soft_rationale_predictions": [...]}]}     ERASER, words by spaces

    With ERASER's ``hard_rationale_predictions`` alone, the words they hold have the score 1 and the others 0.

    Attributes
    ----------
    hard : dict of text to spans, or None
        The words that ``hard_rationale_predictions`` hold, if every line has them.
    """

    hard: dict[str, WordSpans] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], model: Any, texts: Sequence[str]) -> FileSource:
        """Read scores for these texts.

        Parameters
        ----------
        path
            JSON Lines.
        model
            What is asked: a fitted classifier of texts or the ``Model`` inside it.
        texts
            The texts of the audit.
        """
        inner: Model = getattr(model, "model_", model)
        lines = json_lines(Path(path))
        by_text = {line["text"]: line for line in lines if isinstance(line.get("text"), str)}
        if not by_text and len(lines) != len(texts):
            raise DataError(
                f"{path} must have a line for each of the {len(texts)} texts, or name each text; it "
                f"has {len(lines)} lines."
            )
        found, hard = {}, {}
        for i, text in enumerate(texts):
            line = by_text.get(text) if by_text else lines[i]
            if line is None:
                raise DataError(
                    f"{path} has no scores for text {i}, {text[:40]!r}: add its line, or leave the text out."
                )
            where = f"{path}, text {i}"
            found[text] = _read(line, text, where)
            spans = hard_spans(line, text, where) if "rationales" in line else None
            if spans is not None:
                hard[text] = spans
        source = cls(
            lambda some: probabilities(inner.scores(some)),
            lambda text: found[text][1],
            inner.classes,
            lambda text: found[text][0],
            Path(path).name,
        )
        source.hard = hard if len(hard) == len(found) else None
        return source


def _read(line: Mapping[str, Any], text: str, where: str) -> tuple[list[tuple[int, int]], dict[str, Any]]:
    """Spans, and scores by name."""
    if "rationales" in line:
        places = word_places(text)
        soft = line["rationales"][0].get("soft_rationale_predictions") if line["rationales"] else None
        if soft is None:
            hard = hard_spans(line, text, where)
            if hard is None:
                raise DataError(f"{where} must have soft_rationale_predictions or hard_rationale_predictions.")
            soft = [float(any(start <= i < end for start, end in hard)) for i in range(len(places))]
        return places, {"scores": np.asarray(soft, np.float64)}
    if "scores" not in line:
        raise DataError(f"{where} must have `scores` or `rationales`; it has {', '.join(line) or 'nothing'}.")
    scores = line["scores"] if isinstance(line["scores"], Mapping) else {"scores": line["scores"]}
    if "tokens" in line:
        spans = [(int(token["start"]), int(token["end"])) for token in line["tokens"]]
    else:
        spans = [(token.start, token.end) for token in tokenize(text)]
    if any(not 0 <= start <= end <= len(text) for start, end in spans):
        raise DataError(f"{where} must have spans inside the text, which has {len(text)} characters.")
    return spans, dict(scores)
