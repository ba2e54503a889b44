"""D-Attn on reviews by people of known tastes: how well it rates, and whether its gates open for words of taste."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heat
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.systems.data.reviews import WORDS, Reviews, counts, documents, make_reviews
from regard.systems.dattn import DAttn, Rated
from regard.systems.training import Recipe, seeded, train

_ALPHAS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
_TOP = 5
_SHOWN = 20  # words of a document in the picture


def cells_of(asked: Asked) -> list[Cell]:
    """With attention and without."""
    return [
        {
            "attention": attention,
            "users": 40 if asked.quick else 400,
            "items": 20 if asked.quick else 60,
            "each": 10 if asked.quick else 20,
            "epochs": 2 if asked.quick else 120,
            "longest": 40,
            "learning_rate": 0.01,
            "penalty": 0.2,
            "seed": seed,
        }
        for seed in seeds(asked)
        for attention in (True, False)
    ]


def reviews_of(cell: Cell) -> Reviews:
    """The reviews of a cell."""
    sizes = {name: cell[name] for name in ("users", "items", "each")}
    return make_reviews([cell["seed"], 0], fillers=4, **sizes)


def learned(cell: Cell, reviews: Reviews, report: Report) -> DAttn:
    """Train on the ratings of the training part; every step reads some users with all that they rated.

    Gates open freely at first; after a third of the epochs their mean costs ``penalty``, so that they shut for words
    that make no difference.
    """
    users, items = (documents(of, cell["longest"]) for of in (reviews.user_documents, reviews.item_documents))
    rows, ratings = reviews.rows(0), torch.from_numpy(reviews.ratings).float()
    mean = float(reviews.ratings[rows].mean())
    with seeded(cell["seed"]):
        model = DAttn(
            len(WORDS),
            cell["longest"],
            mean=mean,
            filters=32,
            widths=(2,),
            word_dropout=0.1,
            attention=cell["attention"],
        )
    recipe = Recipe(
        epochs=cell["epochs"], batch_size=50, learning_rate=cell["learning_rate"], clip=5.0, seed=cell["seed"]
    )
    steps = -(-len(users) // recipe.batch_size) * recipe.epochs
    done = 0

    def loss(batch: NDArray[np.intp]) -> Tensor:
        nonlocal done
        done += 1
        some = rows[np.isin(reviews.users[rows], batch)]
        place = np.zeros(len(users), np.int64)
        place[batch] = np.arange(len(batch))
        found = model.pairs(users[batch], items, place[reviews.users[some]], reviews.items[some])
        penalty = cell["penalty"] if model.settings["attention"] and done > steps / 3 else 0.0
        return F.mse_loss(found.ratings, ratings[some]) + penalty * model.gates(found)

    held_out = reviews.rows(1)

    def validate() -> float:
        return -rmse(predicted(model, users, items, reviews, held_out), reviews.ratings[held_out])

    train(model, np.full(len(users), users.shape[1]), loss, recipe, validate=validate, report=report)
    return model


def predicted(model: DAttn, users: Tensor, items: Tensor, reviews: Reviews, rows: NDArray[np.int64]) -> NDArray[Any]:
    """The ratings that the model gives to some reviews."""
    with torch.no_grad():
        found = model.pairs(users, items, reviews.users[rows], reviews.items[rows])
    return found.ratings.numpy()


def rmse(said: NDArray[Any], truth: NDArray[Any]) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((said - truth) ** 2)))


def baselines(reviews: Reviews) -> dict[str, float]:
    """Test errors of the mean rating, and of ridge regression on the words of both documents.

    Its penalty is the one that validates best.
    """
    bags = np.hstack([counts(reviews.user_documents)[reviews.users], counts(reviews.item_documents)[reviews.items]])
    training, held_out, test = (reviews.rows(part) for part in range(3))
    truth = reviews.ratings
    models = [Ridge(alpha=alpha).fit(bags[training], truth[training]) for alpha in _ALPHAS]
    best = min(models, key=lambda model: rmse(model.predict(bags[held_out]), truth[held_out]))
    mean = np.full(len(test), truth[training].mean())
    return {"mean": rmse(mean, truth[test]), "ridge": rmse(best.predict(bags[test]), truth[test])}


def highlighted(gates: Tensor, of: Tensor, planted: list[frozenset[int]]) -> float:
    """The share of planted words among the five of each document with the highest gates."""
    top = gates.topk(min(_TOP, gates.shape[1]), -1).indices
    found = [word in own for own, words in zip(planted, of.gather(1, top).tolist(), strict=True) for word in words]
    return float(np.mean(found))


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, Any]]:
    """Train one network, rate the test reviews, and see where its gates open."""
    reviews = reviews_of(cell)
    model = learned(cell, reviews, report)
    users, items = (documents(of, cell["longest"]) for of in (reviews.user_documents, reviews.item_documents))
    test = reviews.rows(2)
    result: Result = {"rmse": rmse(predicted(model, users, items, reviews, test), reviews.ratings[test])}
    if not cell["attention"]:
        return result, {}
    with torch.no_grad():
        found = model.pairs(users, items, np.arange(1), np.arange(1))
    result |= baselines(reviews)
    for name, of, planted in (
        ("user", users, reviews.taste_words),
        ("item", items, reviews.theme_words),
    ):
        gates = gates_of(found, name)
        result[f"{name} words"] = highlighted(gates, of, planted)
        chance = [
            np.mean([word in own for word in words if word]) for own, words in zip(planted, of.tolist(), strict=True)
        ]
        result[f"{name} chance"] = float(np.mean(chance))
        result[f"{name} picture"] = _shown(gates[0], of[0], planted[0])
    return result, {"dattn": model}


def gates_of(found: Rated, name: str) -> Tensor:
    """The local gates of users' or of items' documents."""
    gates = (found.user if name == "user" else found.item).weights
    assert gates is not None, "gates come unless told otherwise"
    return gates


def _shown(gates: Tensor, words: Tensor, planted: frozenset[int]) -> dict[str, Any]:
    names = [("★ " if word in planted else "") + WORDS[word] for word in words[:_SHOWN].tolist()]
    return vars(Heat([[round(float(gate), 4) for gate in gates[:_SHOWN]]], ["gate"], names))


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - all studies are asked alike
    """The page."""
    with_ = [result for cell, result in zip(cells, results, strict=True) if cell["attention"]]
    without = [result for cell, result in zip(cells, results, strict=True) if not cell["attention"]]
    head = ["", "with attention", "without", "the paper's claim"]
    rows = [["test RMSE", *(_mean([one["rmse"] for one in some]) for some in (with_, without)), "lower with attention"]]
    for name, what in (("user", "taste"), ("item", "theme")):
        share, chance = (_mean([100 * one[f"{name} {of}"] for one in with_], 1) for of in ("words", "chance"))
        title = f"planted {what} words among the {_TOP} highest gates of a document, %"
        rows.append([title, share, f"{chance} of all words", "local attention finds words that tell"])
    others = Table(
        ["test RMSE", "D-Attn", "mean rating", "ridge on words"],
        [["reviews", *(_mean([one[name] for one in with_]) for name in ("rmse", "mean", "ridge"))]],
    )
    text = (
        "Ridge regression sees the words of both documents and adds up what each is worth; what somebody likes in "
        "something takes both at once, and no sum has it."
    )
    sections = [Section("Beside simpler models", text, [others])]
    return Shown(_about(cells[0]), Table(head, rows), _reading(with_), _pictures(with_[0]) if with_ else [], sections)


def _mean(values: list[float], digits: int = 3) -> str:
    if not values:
        return "—"
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def _about(cell: Cell) -> list[str]:
    return [
        f"{cell['users']} generated users of known tastes review {cell['each']} of {cell['items']} items each; 70% of "
        "the reviews are for training, and the words of these alone make the documents; 15% validate, 15% test. A "
        "review has two words of its writer's tastes, two of its item's themes, and four that say nothing; the "
        "rating is 3, one more for each theme that is liked, one less for each that is disliked, with noise of 0.4, "
        f"cut to 1..5. Documents are cut after {cell['longest']} words.",
        "Embeddings of 24, 64 filters for single words and 32 for pairs (order within a review means nothing here, "
        f"so longer ones are left out), points of 16. AdamW, {cell['epochs']} epochs of batches of 50 users, learning "
        f"rate {cell['learning_rate']:g}, the epoch that validates best. After a third of the epochs "
        f"{cell['penalty']:g} times the mean gate is added to the loss, which the paper does not do. Without "
        "attention both gates are open, and nothing else differs.",
        "Settings were chosen with seed 0, by its validation part and by the gates of its documents; the other seeds "
        "were not looked at.",
        "The review data at hand name neither users nor items, so ratings of real reviews are not among these.",
    ]


def _reading(found: list[Result]) -> str:
    if not found:
        return "No network with attention is finished yet."
    error, mean, ridge, words = (
        float(np.mean([one[name] for one in found])) for name in ("rmse", "mean", "ridge", "user words")
    )
    better = error < min(mean, ridge)
    return (
        f"D-Attn's test error is {error:.3f}, that of the mean rating {mean:.3f} and of ridge regression {ridge:.3f}: "
        f"the bar (below both) is {'met' if better else '**missed**'}. Of the five words of a user with the highest "
        f"gates {100 * words:.1f}% are words of the user's own taste: the bar of 80% is "
        f"{'met' if words >= 0.8 else '**missed**'}."
    )


def _pictures(result: Result) -> list[Picture]:
    return [
        drawn(
            f"{name}-gates",
            f"The local gates of the first words of {article} {name}'s document; planted words have a star.",
            heat(Heat(**result[f"{name} picture"]), row_title="", column_title="word", cell=24),
        )
        for name, article in (("user", "a"), ("item", "an"))
    ]


STUDY = Study(cells_of, work, show, packages=("scikit-learn",))
