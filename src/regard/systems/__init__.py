"""The complete systems that attention was invented for, one file each, from the parts of ``regard.nn`` (torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.systems.collaborative import CollaborativeFilter
    from regard.systems.dattn import DAttn
    from regard.systems.encoder_decoder import EncoderDecoder
    from regard.systems.gram import Gram
    from regard.systems.memory_network import MemoryNetwork
    from regard.systems.nested_gec import NestedCorrector
    from regard.systems.pointer import PointerNetwork
    from regard.systems.recogniser import Recogniser
    from regard.systems.saving import System
    from regard.systems.transformer import Transformer
    from regard.systems.vision import VisionTransformer

__all__ = [
    "CollaborativeFilter",
    "DAttn",
    "EncoderDecoder",
    "Gram",
    "MemoryNetwork",
    "NestedCorrector",
    "PointerNetwork",
    "Recogniser",
    "System",
    "Transformer",
    "VisionTransformer",
]

_HOMES = {
    "CollaborativeFilter": "collaborative",
    "DAttn": "dattn",
    "EncoderDecoder": "encoder_decoder",
    "Gram": "gram",
    "MemoryNetwork": "memory_network",
    "NestedCorrector": "nested_gec",
    "PointerNetwork": "pointer",
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
