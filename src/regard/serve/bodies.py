"""What is asked and answered, with types: the OpenAPI document is made from these."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from regard.serve.limits import Limits

Label = bool | int | float | str


class Prediction(BaseModel):
    """The label of a text."""

    prediction: Label
    probability: float = Field(description="Of the prediction.")
    probabilities: dict[str, float] = Field(description="Of every label.")


class Predictions(BaseModel):
    """One prediction for each text, in their order."""

    model: str = Field(description="The beginning of the SHA-256 of the model file that answered.")
    predictions: list[Prediction]


class Word(BaseModel):
    """A word of a text, with its equal share of every part that covers it."""

    text: str
    start: int
    end: int
    attention: float | None
    weight: float | None
    polarity: float | None
    contribution: float | None


class Part(BaseModel):
    """One occurrence of a word or phrase: contribution = weight · polarity."""

    text: str
    first: int
    last: int
    start: int
    end: int
    attention: float | None
    weight: float | None
    polarity: float | None
    contribution: float | None


class Explanation(Prediction):
    """A prediction taken apart: score = bias + the sum of the contributions."""

    text: str
    label: Label = Field(description="Whose score it is: the second of two classes, otherwise the prediction.")
    score: float
    bias: float
    residual: float
    words: list[Word]
    parts: list[Part]


class Explanations(BaseModel):
    """One explanation for each text, in their order."""

    model: str
    explanations: list[Explanation]


class About(BaseModel):
    """What is served."""

    model: str
    name: str
    kind: str
    classes: list[Label]
    rows: int
    exact: bool = Field(description="Whether words speak the same in every text.")
    loaded: str = Field(description="When, in UTC.")
    about: dict[str, Any] = Field(description="Settings and measurements of the training.")


class Health(BaseModel):
    """The server answers."""

    status: str


class Ready(BaseModel):
    """The server predicts; ``problem`` says why the file on disk is not the model that does."""

    ready: bool
    model: str
    problem: str | None


class Refusal(BaseModel):
    """What was expected, what came, what to do."""

    detail: str


def asked(limits: Limits) -> type[BaseModel]:
    """The body of a request, within limits."""
    text = Annotated[str, Field(max_length=limits.characters)]
    texts = text | Annotated[list[text], Field(min_length=1, max_length=limits.texts)]
    model: type[BaseModel] = create_model(
        "Asked",
        __config__=ConfigDict(extra="forbid", title="One text, or a list of texts"),
        texts=(texts, Field(examples=[["not good at all"]])),
    )
    return model


def what_is_wrong(body: Any, limits: Limits) -> str:
    """One sentence about a body that is not ``asked``; it repeats nothing of the texts."""
    expected = 'The body must be JSON such as {"texts": ["not good at all"]}'
    if not isinstance(body, Mapping):
        return f"{expected}; got {_kind(body)}."
    if "texts" not in body:
        return f"{expected}; got no `texts`."
    if len(body) > 1:
        return f"{expected}; got {len(body) - 1} fields that are not `texts`: leave them out."
    texts = body["texts"]
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list):
        return f"`texts` must be a string or a list of strings; got {_kind(texts)}."
    if not 1 <= len(texts) <= limits.texts:
        return f"`texts` must be 1 to {limits.texts:,} texts a call; got {len(texts):,}: send them in several calls."
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            return f"Every text must be a string; got {_kind(text)} at place {i}."
        if len(text) > limits.characters:
            return (
                f"A text must have at most {limits.characters:,} characters; the one at place {i} has {len(text):,}: "
                "cut it."
            )
    return "Texts must be Unicode, but one has half a surrogate pair: replace what is not a character."


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None or value == b"" else names.get(type(value), "something else")


def as_json(value: Any) -> bytes:
    """JSON, in which a number that is not finite is null: JSON has none."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        written = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return written.encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value
