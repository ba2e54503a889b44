"""A model and a text give an explanation; the arithmetic is the model's own, so nothing is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import DataError, SettingError, nearest
from regard.explain.explanation import Explanation, Explanations, Part, Word, add_up
from regard.models.model import Model
from regard.models.table import probabilities


def explain(model: Any, texts: str | Sequence[str], *, label: Any = None) -> Explanations:
    """Take the predictions of texts apart.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    texts
        One text or several.
    label
        With more than two classes, whose score to explain; the prediction's, if not given.

    Returns
    -------
    explanations
        One for each text; contributions and bias add up to the score, and ``residual`` says how exactly.

    Examples
    --------
    >>> explain(clf, "not good at all")[0].residual  # doctest: +SKIP
    0.0
    """
    inner: Model = getattr(model, "model_", model)
    texts = [texts] if isinstance(texts, str) else list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"Every text must be a string; got {type(text).__name__} at place {i}.")
    return Explanations(explain_one(inner, text, label) for text in texts)


def explain_one(model: Model, text: str, label: Any = None, masked: frozenset[int] = frozenset()) -> Explanation:
    """Explain one text; what covers a masked word is silent."""
    found = model.attend(text, masked)
    chances = probabilities(found.scores[None])[0]
    prediction = model.predictions(found.scores[None])[0]
    side, label = side_of(model, prediction, label)
    score, bias = float(found.scores[side]), float(model.bias[side])

    parts = tuple(
        Part(
            " ".join(token.text for token in found.tokens[place.first : place.last]),
            *place[1:],
            attention=attention,
            weight=weight,
            polarity=polarity,
            contribution=weight * polarity,
        )
        for place, attention, weight, polarity in zip(
            found.places,
            found.attention.tolist(),
            found.weights.tolist(),
            found.polarity[:, side].tolist(),
            strict=True,
        )
    )
    return Explanation(
        text=text,
        prediction=plain_label(prediction),
        probability=float(chances.max()),
        probabilities={plain_label(c): float(p) for c, p in zip(model.classes, chances, strict=True)},
        label=plain_label(label),
        score=score,
        bias=bias,
        parts=parts,
        words=_words(found.tokens, parts),
        residual=add_up(score, bias, parts),
        _model=model,
        _masked=masked,
    )


def _words(tokens: Sequence[Any], parts: Sequence[Part]) -> tuple[Word, ...]:
    """Share each part equally among its words."""
    weight, contribution = [0.0] * len(tokens), [0.0] * len(tokens)
    own: dict[int, Part] = {}
    for part in parts:
        size = part.last - part.first
        if size == 1:
            own[part.first] = part
        for i in range(part.first, part.last):
            weight[i] += part.weight / size
            contribution[i] += part.contribution / size
    return tuple(
        Word(
            token.text,
            token.start,
            token.end,
            attention=own[i].attention if i in own else None,
            weight=weight[i],
            polarity=own[i].polarity if i in own else None,
            contribution=contribution[i],
        )
        for i, token in enumerate(tokens)
    )


def side_of(model: Model, prediction: Any, label: Any) -> tuple[int, Any]:
    """Which column of the table to explain, and the label it speaks for."""
    if model.sides == 1:
        if label is not None and label != model.classes[1]:
            raise SettingError(
                f"With two classes, contributions always speak for {plain_label(model.classes[1])!r} above zero and "
                f"for {plain_label(model.classes[0])!r} below; leave `label` out."
            )
        return 0, model.classes[1]
    chosen = prediction if label is None else label
    where = np.flatnonzero(model.classes == chosen)
    if len(where) == 0:
        known = [str(c) for c in model.classes]
        raise SettingError(f"`label` must be one of the model's classes; got {chosen!r}.{nearest(str(chosen), known)}")
    return int(where[0]), chosen


def plain_label(label: Any) -> Any:
    """A label as a plain Python value."""
    return label.item() if isinstance(label, np.generic) else label
