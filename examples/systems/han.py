"""Hierarchical attention reads reviews: which sentence decides, and which word in it."""

from __future__ import annotations

from regard import HierarchicalAttentionClassifier
from regard.corpus import demo
from regard.explain import explain, sentence_parts


def main(quick: bool = False) -> None:
    """Train on generated reviews, and take one apart."""
    corpus = demo(200 if quick else 2400)
    cut = len(corpus.texts) * 3 // 4
    classifier = HierarchicalAttentionClassifier(
        dim=16 if quick else 50, hidden=16 if quick else 50, epochs=2 if quick else 10, n_threads=1
    ).fit(corpus.texts[:cut], corpus.labels[:cut])
    print(
        f"accuracy {classifier.score(corpus.texts[cut:], corpus.labels[cut:]):.1%} on {len(corpus.texts) - cut} reviews"
    )

    explanation = explain(classifier, "We went there on Monday. The soup was delicious, and the staff was friendly!")[0]
    print(f"{explanation.prediction}, with {explanation.probability:.0%}")
    for sentence in sentence_parts(explanation):
        print(f"  {sentence.weight:.2f} {sentence.contribution:+.2f}  {sentence.text}")
    for part in sorted(explanation.parts, key=lambda part: -part.weight)[:5]:
        print(f"    {part.weight:.2f} {part.contribution:+.2f}  {part.text}")


if __name__ == "__main__":
    main()
