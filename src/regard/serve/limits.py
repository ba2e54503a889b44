"""What a client may ask for at most; beyond it, one clear sentence."""

from __future__ import annotations

from dataclasses import dataclass, fields

from regard.errors import SettingError


@dataclass(frozen=True)
class Limits:
    """What a server takes.

    Attributes
    ----------
    texts : int
        In one call.
    characters : int
        Of one text; of all texts together, where they are explained, because an explanation is large.
    body : int
        Bytes of a request's body, whatever is in it.
    seconds : float
        For a head to arrive; and then for its body and the answer together.
    requests : int
        At the same time.
    connections : int
        At the same time.
    """

    texts: int = 1000
    characters: int = 100_000
    body: int = 4_000_000
    seconds: float = 10.0
    requests: int = 64
    connections: int = 1000

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not value > 0:
                raise SettingError(f"`{each.name}` must be above zero; got {value!r}.")
