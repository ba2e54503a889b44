"""A memory network hops from sentence to sentence until it knows where the ring is."""

from __future__ import annotations

import torch

from regard.reproduce.systems.memory_network import learned, measured
from regard.systems.data.stories import WORDS, batch_of, make_stories


def main(quick: bool = False) -> None:
    """Train on stories, say how good it is, and show the hops of one answer."""
    size = {"stories": 300, "tests": 60, "linear": 1, "epochs": 1} if quick else {}
    cell = {"stories": 16_000, "tests": 3_000, "linear": 4, "epochs": 11, **size}
    network = learned(
        {"hops": 3, "attention": True, "dim": 48, "learning_rate": 0.01, "seed": 0, **cell}, print_nothing
    )
    for facts, found in measured(network, make_stories(cell["tests"], 1)).items():
        print(f"{facts} supporting facts: {found['right']:.1%} right, {found['supports']:.1%} attended to")
    (story,) = make_stories(1, 2, [2])
    batch = batch_of([story])
    with torch.no_grad():
        said = network(batch.sentences, batch.question)
    print(f"{story.question}? {WORDS[int(said.scores.argmax())]}; it is in the {story.answer}")
    for hop, weights in enumerate(said.weights[:, 0], 1):
        print(f"  hop {hop}: {story.sentences[int(weights.argmax())]} ({float(weights.max()):.2f})")


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
