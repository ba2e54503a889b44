"""The vectors behind the two numbers of a word: embeddings, and the directions that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

Encoder = Literal["none", "affine", "lstm", "gru", "conv"]
_OPTIONAL = ("affine", "additive")


@dataclass(frozen=True)
class Vectors:
    """What attention and polarity are made of (Sun and Lu 2020).

        h = e, or M e, or what a contextual encoder makes of e among its neighbours
        a = h·V / λ, or additive: V·tanh(A h) / λ
        s = W' h

    Attributes
    ----------
    embedding : (rows, d)
        ``e``, by row.
    attention : (d',)
        ``V``, which reads how loudly a word speaks.
    output : (d', sides)
        ``W``, which reads which side it takes.
    scale : float
        ``λ``.
    encoder : "none", "affine", "lstm", "gru" or "conv"
        What makes ``h``; the last three read a word among its neighbours.
    affine : (d', d), optional
        ``M``, with the encoder "affine".
    additive : (hidden, d'), optional
        ``A``, with the additive score; ``V`` is then (hidden,).
    """

    embedding: NDArray[np.floating[Any]]
    attention: NDArray[np.floating[Any]]
    output: NDArray[np.floating[Any]]
    scale: float
    encoder: Encoder = "none"
    affine: NDArray[np.floating[Any]] | None = None
    additive: NDArray[np.floating[Any]] | None = None

    @property
    def contextual(self) -> bool:
        """Whether a word's ``h`` depends on its neighbours."""
        return self.encoder in ("lstm", "gru", "conv")

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What is said about them, ready for JSON, and their arrays by name."""
        tensors = {name: getattr(self, name) for name in ("embedding", "attention", "output", *_OPTIONAL)}
        about = {"scale": self.scale, "encoder": self.encoder}
        return about, {f"vectors.{name}": array for name, array in tensors.items() if array is not None}

    @classmethod
    def unpack(cls, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """What ``pack`` returned."""
        arrays = {name.removeprefix("vectors."): array for name, array in tensors.items()}
        return cls(
            arrays["embedding"],
            arrays["attention"],
            arrays["output"],
            about["scale"],
            about["encoder"],
            arrays.get("affine"),
            arrays.get("additive"),
        )
