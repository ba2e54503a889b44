"""The hierarchical attention network on reviews: what its two levels attend to, and what they buy."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.explain import explain, sentence_parts
from regard.models.hierarchical import LONGEST
from regard.models.hierarchical_classifier import HierarchicalAttentionClassifier
from regard.models.progress import Report
from regard.reproduce.data import DataSet, load
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.han_charts import two_levels
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import shares

_BAR = 89.0
_SENTENCES, _WORDS = 9, 18  # of the review that is shown, at most


def cells_of(asked: Asked) -> list[Cell]:
    """With attention and without."""
    settings = {"encoder": "conv", "sentence_encoder": "weights", "epochs": 5, "patience": 2}
    quick = {"encoder": "conv", "sentence_encoder": "weights", "epochs": 2, "patience": 2, "dim": 16, "hidden": 16}
    return [
        {
            "of each class": 60 if asked.quick else None,
            "attention": attention,
            **(quick if asked.quick else settings),
            "seed": seed,
        }
        for seed in seeds(asked)
        for attention in ("learned", "flat")
    ]


def learned(cell: Cell, texts: list[str], labels: Any, report: Report) -> HierarchicalAttentionClassifier:
    """Train; a tenth of the training texts chooses the epoch."""
    settings = {name: value for name, value in cell.items() if name not in ("of each class", "seed")}
    classifier = HierarchicalAttentionClassifier(**settings, random_state=cell["seed"], n_threads=1, device="cpu")

    def watch(epoch: int, model: Any) -> None:  # noqa: ARG001 - the number of the epoch is all that is told
        report(f"epoch {epoch} of at most {cell['epochs']}", epoch / cell["epochs"])

    return classifier.fit(texts, labels, watch=watch)


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, Any]]:
    """Train one network and test it."""
    data = load("imdb-official")
    train, test = data.train, data.test
    if (most := cell["of each class"]) is not None:
        train, test = train.first(most), test.first(most)
    classifier = learned(cell, train.texts, train.labels, report)
    result: Result = {
        "accuracy": classifier.evaluate(test.texts, test.labels)["accuracy"],
        "validation": (classifier.validation_ or {}).get("accuracy"),
        "epoch": classifier.n_iter_,
        "words": len(classifier.model_.vocabulary),
    }
    if cell["attention"] == "flat":
        return result, {}
    chosen = [text for text in test.texts if len(text) < 500]
    result["review"] = next((said for text in chosen if (said := _review(classifier, text))), None)
    result["polar"] = _loudest(classifier)
    return result, {"han": classifier}


def _review(classifier: HierarchicalAttentionClassifier, text: str) -> dict[str, Any] | None:
    """A review with several short sentences, as its two levels weigh it; None where there is no room for it."""
    explanation = explain(classifier, text)[0]
    sentences = []
    for sentence in sentence_parts(explanation):
        words = [word for word in explanation.words if sentence.start <= word.start < sentence.end]
        if not words:
            continue
        share = sentence.weight or 1.0
        said = [[text[word.start : word.end], round(word.weight / share, 4)] for word in words]
        sentences.append({"weight": round(sentence.weight, 4), "words": said})
        if len(words) > _WORDS:
            return None
    if not 3 <= len(sentences) <= _SENTENCES:
        return None
    return {"label": str(explanation.prediction), "sentences": sentences}


def _loudest(classifier: HierarchicalAttentionClassifier, count: int = 10) -> dict[str, list[str]]:
    """The frequent words that, alone, are furthest on either side."""
    table = classifier.model_.word_table
    rows = np.flatnonzero(table.counts.sum(axis=1) >= min(100, int(table.counts.sum(axis=1).max())))
    order = rows[np.argsort(table.polarity[rows, 0], kind="stable")]
    names = table.vocabulary.word_list
    return {"lowest": [names[row] for row in order[:count]], "highest": [names[row] for row in order[::-1][:count]]}


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - all studies are asked alike
    """The page."""
    found: dict[str, list[Result]] = {"learned": [], "flat": []}
    for cell, result in zip(cells, results, strict=True):
        found[cell["attention"]].append(result)
    accuracy = {name: [one["accuracy"] for one in some] for name, some in found.items()}
    claim = "attention to words and sentences beats their averages"
    table = Table(
        ["test accuracy, %", "with attention", "without", "the paper's claim"],
        [["reviews by sentiment", shares(accuracy["learned"]), shares(accuracy["flat"]), claim]],
    )
    sections, pictures = [], []
    for first in found["learned"][:1]:
        pictures = [_picture(first["review"])] if first["review"] else []
        sections.append(_words(first))
    exact = Section(
        "What is exact",
        "The GRU over the sentences decides their weights, and the sentences themselves are averaged. So the score "
        "is the sum of the sentences' contributions, and each of those the sum of its words', weight times polarity, "
        "up to rounding. A word's polarity is that of the word among its neighbours: convolutions have read three "
        "words. In the "
        'paper the GRU\'s states are averaged (`sentence_encoder="gru"`); then only the sum over sentences says what '
        "the model did, and every word is given the polarity of its sentence.",
    )
    return Shown(_about(cells[0], results[0]), table, _reading(accuracy), pictures, [*sections, exact])


def _words(first: Result) -> Section:
    text = "; ".join(", ".join(first["polar"][side]) for side in ("lowest", "highest"))
    title = "Frequent words with the lowest and the highest polarity as texts of one word"
    return Section("Words by themselves", f"{title}: {text}.")


def _about(cell: Cell, first: Result) -> list[str]:
    return [
        "Trained on IMDB, the official split, from scratch; a tenth of the training texts, held out, chooses among "
        f"{cell['epochs']} epochs at most (here epoch {first['epoch']}), and the test is read once. "
        f"{first['words']:,} words that occur three times or more have embeddings of {cell.get('dim', 100)} numbers, "
        "drawn at random. A word is read by convolutions over itself and its two neighbours in place of the paper's "
        "GRU, which takes several times as long on a CPU "
        '(`encoder="gru"` is the paper\'s); a GRU of half that size each way reads the sentences. Texts are whole; a '
        f"sentence goes on as another after {LONGEST} words. Dropout 0.3, a fifth of the words left out, AdamW with "
        "rate 0.001, batches of 50 texts of like length. These settings were not tuned.",
        "Without attention, words and sentences are weighed evenly, and nothing else differs.",
    ]


def _reading(accuracy: dict[str, list[float]]) -> str:
    if not all(accuracy.values()):
        return "Not both networks are finished yet."
    mean = {name: 100 * float(np.mean(some)) for name, some in accuracy.items()}
    met = mean["learned"] >= _BAR
    return (
        f"With attention {mean['learned']:.1f}% of the test reviews are classified rightly, without it "
        f"{mean['flat']:.1f}%: the bar of {_BAR:g}% is {'met' if met else '**missed**'}, and attention is worth "
        f"{mean['learned'] - mean['flat']:+.1f} points here."
    )


def _picture(review: dict[str, Any]) -> Picture:
    caption = (
        "A test review as both levels weigh it: on the left each sentence's share of the attention, on the right "
        "each word's share within its sentence."
    )
    return drawn("review", caption, two_levels(review["sentences"]))


def _data() -> list[DataSet]:
    return [load("imdb-official")]


STUDY = Study(cells_of, work, show, data=_data)
