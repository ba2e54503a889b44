"""Conditions that a build may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.audit.result import Audit
from regard.errors import SettingError, nearest


@dataclass(frozen=True)
class Gate:
    """A measure that must reach a value, or must not exceed it.

    Attributes
    ----------
    name : str
        ``test.measure``.
    value : float
    least : bool
        Whether the value is the least that will do, or the most.
    """

    name: str
    value: float
    least: bool

    def failure(self, found: Audit) -> str | None:
        """One sentence where the gate is not passed."""
        values = found.values()
        if self.name not in values:
            known = [f"{result.name}.{measure.name}" for result in found.results for measure in result.measures]
            if self.name in known:
                return f"{self.name} was to be tested, but has no value for any text."
            raise SettingError(
                f"A gate must name a measure of the audit; got {self.name!r}.{nearest(self.name, known)}"
            )
        value = values[self.name]
        if value >= self.value if self.least else value <= self.value:
            return None
        bound = "at least" if self.least else "at most"
        return f"{self.name} must be {bound} {self.value:g}, and it is {value:.4g}."


def gates(under: Sequence[str], over: Sequence[str]) -> list[Gate]:
    """Read ``TEST.MEASURE=VALUE``."""
    found = []
    for least, written in [(True, each) for each in under] + [(False, each) for each in over]:
        name, _, value = written.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not name or "." not in name or number != number:
            raise SettingError(
                f"A gate must be TEST.MEASURE=VALUE, such as 'comprehensiveness.comprehensiveness: attention=0.1'; got "
                f"{written!r}."
            )
        found.append(Gate(name.strip(), number, least))
    return found
