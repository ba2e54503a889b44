"""What an audit finds, before anything is printed: the terminal, the JSON and the page show the same data."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Measure:
    """A mean over documents, with what it has to be compared with.

    Attributes
    ----------
    name : str
        Unique within its test.
    value : float or None
        None where no document has one.
    lower, upper : float or None
        The 95% bootstrap interval over documents.
    random, spread : float or None
        The same for random rankings: the mean of the draws, and their standard deviation.
    optimum : float or None
        The best that any ranking can reach, where it is known exactly.
    documents, undefined : int
        How many documents have a value, and how many have none.
    """

    name: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    random: float | None = None
    spread: float | None = None
    optimum: float | None = None
    documents: int = 0
    undefined: int = 0

    @property
    def z(self) -> float | None:
        """How many standard deviations of the random rankings lie between them and this one."""
        if self.value is None or self.random is None or not self.spread:
            return None
        return (self.value - self.random) / self.spread


@dataclass(frozen=True)
class Comparison:
    """A paired sign-flip test over documents; ``p`` is corrected by Holm's method for all comparisons of the audit."""

    measure: str
    one: str
    two: str
    difference: float
    p: float


@dataclass(frozen=True)
class Curve:
    """A mean over documents at growing shares of removed, or kept, units."""

    name: str
    shares: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Result:
    """What one test found, and how to read it.

    Attributes
    ----------
    name, title : str
        For programs, and for people.
    formula : str
        What was measured.
    direction : str
        What is good: higher, lower, or neither.
    removal, scale : str
        How units are removed, and in what the effect is measured.
    measures, comparisons, curves
        The numbers.
    notes : tuple of str
        What a reader must know, such as what a bound is.
    exact : bool
        Whether the numbers are exact: closed form rather than search or sampling.
    seconds : float
        Spent on it.
    evaluations : int
        Readings of a text by the model that it took beyond the first.
    instead : int
        How many it would take without closed forms.
    skipped : str or None
        Why there are no numbers.
    """

    name: str
    title: str
    formula: str
    direction: str
    removal: str
    scale: str
    measures: tuple[Measure, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()
    exact: bool = True
    seconds: float = 0.0
    evaluations: int = 0
    instead: int = 0
    skipped: str | None = None

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(name)


@dataclass(frozen=True)
class Example:
    """A document worth seeing, with the weights of its units.

    Attributes
    ----------
    why : str
        What is special about it.
    row : int
        Its place in the data.
    text : str
    prediction : str
    probability : float
    spans : list of [start, end]
    attention, contribution : list of float
        Of each unit.
    """

    why: str
    row: int
    text: str
    prediction: str
    probability: float
    spans: list[tuple[int, int]]
    attention: list[float]
    contribution: list[float]


@dataclass(frozen=True)
class Verdict:
    """The answer to: may attention be shown as a reason.

    Attributes
    ----------
    answer : str
        ``no``, ``not shown`` (nothing speaks against it, and not everything was tested) or ``yes``.
    text : str
        One paragraph in plain words.
    numbers : tuple of (str, float, str)
        The three numbers behind it: name, value, what it means.
    failed : tuple of str
        The conditions that do not hold.
    """

    answer: str
    text: str
    numbers: tuple[tuple[str, float, str], ...]
    failed: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """Everything that was found out about a model's heat map.

    Attributes
    ----------
    verdict : Verdict
    results : tuple of Result
    examples : tuple of Example
    about : dict
        Model, data and their hash, seeds, versions, run time.
    """

    verdict: Verdict
    results: tuple[Result, ...]
    examples: tuple[Example, ...]
    about: dict[str, Any]

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def values(self) -> dict[str, float]:
        """Every measured number by the name that a gate uses: ``test.measure``."""
        return {
            f"{result.name}.{measure.name}": measure.value
            for result in self.results
            for measure in result.measures
            if measure.value is not None
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON; what is not a number is null."""
        form = {
            "schema": SCHEMA,
            **self.about,
            "verdict": asdict(self.verdict),
            "tests": [asdict(result) for result in self.results],
            "examples": [asdict(example) for example in self.examples],
        }
        plain = _plain(form)
        assert isinstance(plain, dict)
        return plain

    def to_json(self) -> str:
        """The same as one JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON form."""
        from regard.models.store import write_whole

        write_whole(path, (self.to_json() + "\n").encode("utf-8", "backslashreplace"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
