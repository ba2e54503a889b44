"""Nested attention corrects sentences: common words by attention over words, rare ones letter by letter."""

from __future__ import annotations

from regard.reproduce.systems.nested_gec import learned, measured
from regard.systems.data.errors_in_sentences import make_corrections


def main(quick: bool = False) -> None:
    """Train on sentences with mistakes put in, say how good it is, and correct some."""
    sentences, tests, epochs = (200, 20, 1) if quick else (6_000, 1_000, 10)
    cell = {"sentences": sentences, "tests": tests, "epochs": epochs, "attention": "nested"}
    model = learned({**cell, "learning_rate": 0.005, "seed": 0}, print_nothing)
    test = make_corrections(tests, 1)
    found = measured(model, test)
    print(f"F0.5 on common words {found['words']['f']:.3f}; rare words right {found['rare']:.1%}")
    for one, said in zip(test[:5], model.correct([one.source for one in test[:5]]), strict=True):
        print(f"  {' '.join(one.source)}")
        print(f"    {' '.join(said.words)}")


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
