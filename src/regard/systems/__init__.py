"""The complete systems that attention was invented for, one file each, from the parts of ``regard.nn`` (torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.systems.encoder_decoder import EncoderDecoder
    from regard.systems.recogniser import Recogniser
    from regard.systems.saving import System
    from regard.systems.transformer import Transformer
    from regard.systems.vision import VisionTransformer

__all__ = ["EncoderDecoder", "Recogniser", "System", "Transformer", "VisionTransformer"]

_HOMES = {
    "EncoderDecoder": "encoder_decoder",
    "Recogniser": "recogniser",
    "System": "saving",
    "Transformer": "transformer",
    "VisionTransformer": "vision",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return fetch(f"{__name__}.{_HOMES[name]}", name)


def __dir__() -> list[str]:
    return sorted(__all__)
