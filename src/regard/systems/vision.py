"""Dosovitskiy et al. 2021: a transformer that sees images as patches; beside it a convolutional and a dense network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.result import AttentionResult
from regard.systems.saving import System
from regard.systems.without import flat


class Block(nn.Module):
    """Patches attend to each other, then each thinks for itself."""

    def __init__(self, dim: int, heads: int = 4, *, attention: bool = True) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = MultiHeadAttention(dim, heads, weigh="softmax" if attention else flat)
        self.alone = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, patches: Tensor) -> Tensor:
        """From patches (n, patches, dim) to as many."""
        return self.attend(patches, need_weights=False)[0]

    def attend(self, patches: Tensor, *, need_weights: bool = True) -> tuple[Tensor, AttentionResult]:
        """The patches, and what each attended to, (n, heads, patches, patches)."""
        x = self.first(patches)
        result = self.attention(x, x, x, need_weights=need_weights)
        patches = patches + result.context
        return patches + self.alone(self.second(patches)), result


class VisionTransformer(System):
    """Square patches, self-attention between them, and the mean of what they say.

        x[i] = W patch[i] + p[i],   x <- blocks(x),   scores = W' mean(x) + b

    Parameters
    ----------
    size : int
        Height and width of the images.
    patch : int
        Those of a patch; divides ``size``.
    classes : int
    dim, heads, layers : int
    attention : bool
        Without, every patch reads the plain average of all.
    """

    def __init__(
        self,
        size: int = 8,
        patch: int = 2,
        classes: int = 10,
        *,
        dim: int = 28,
        heads: int = 4,
        layers: int = 2,
        attention: bool = True,
    ) -> None:
        super().__init__(
            size=size, patch=patch, classes=classes, dim=dim, heads=heads, layers=layers, attention=attention
        )
        if size % patch:
            raise SettingError(f"`patch` must divide `size`; got {patch} and {size}.")
        self.size, self.patch = size, patch
        self.embed = nn.Linear(patch**2, dim)
        self.place = nn.Parameter(0.02 * torch.randn((size // patch) ** 2, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads, attention=attention) for _ in range(layers)))
        self.out = nn.Linear(dim, classes)

    def forward(self, images: Tensor) -> Tensor:
        """From images (n, size²) to scores (n, classes)."""
        scores: Tensor = self.out(self.blocks(self._patches(images)).mean(1))
        return scores

    def attended(self, images: Tensor) -> list[Tensor]:
        """What each patch attends to in each layer: (n, heads, patches, patches)."""
        x, found = self._patches(images), []
        for block in self.blocks:
            assert isinstance(block, Block)
            x, result = block.attend(x)
            assert result.weights is not None
            found.append(result.weights)
        return found

    def _patches(self, images: Tensor) -> Tensor:
        rows = self.size // self.patch
        if images.ndim != 2 or images.shape[1] != self.size**2:
            raise SettingError(f"`images` must be (n, {self.size**2}); got {tuple(images.shape)}.")
        patches = images.reshape(-1, rows, self.patch, rows, self.patch).transpose(2, 3).flatten(3).flatten(1, 2)
        placed: Tensor = self.embed(patches) + self.place
        return placed


class Convolutional(System):
    """Dot products with filters, the most similar patch of four, twice; then a vote.

    Parameters
    ----------
    size : int
        Height and width of the images; a multiple of 4.
    classes : int
    filters : int
        Of the first layer; the second has twice as many.
    """

    def __init__(self, size: int = 8, classes: int = 10, *, filters: int = 24) -> None:
        super().__init__(size=size, classes=classes, filters=filters)
        self.size = size
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(filters, 2 * filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(2 * filters * (size // 4) ** 2, classes)),
        )

    def forward(self, images: Tensor) -> Tensor:
        """From images (n, size²) to scores (n, classes)."""
        scores: Tensor = self.layers(images.reshape(-1, 1, self.size, self.size))
        return scores


class Dense(System):
    """Every pixel to every unit, twice; then a vote.

    Parameters
    ----------
    size : int
        Height and width of the images.
    classes : int
    hidden : int
    """

    def __init__(self, size: int = 8, classes: int = 10, *, hidden: int = 84) -> None:
        super().__init__(size=size, classes=classes, hidden=hidden)
        self.layers = nn.Sequential(
            *(nn.Linear(size**2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()),
            nn.Linear(hidden, classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """From images (n, size²) to scores (n, classes)."""
        scores: Tensor = self.layers(images)
        return scores
