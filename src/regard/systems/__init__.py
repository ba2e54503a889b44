"""The complete systems that attention was invented for, one file each, from the parts of ``regard.nn`` (torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.systems.saving import System

__all__ = ["System"]

_HOMES = {
    "System": "saving",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return fetch(f"{__name__}.{_HOMES[name]}", name)


def __dir__() -> list[str]:
    return sorted(__all__)
