"""D-Attn: reviews that follow from tastes, gates that open for words, ratings for pairs."""

import numpy as np
import pytest
import torch

from regard.errors import SettingError
from regard.reproduce.systems.dattn import baselines, highlighted, learned, predicted, rmse
from regard.systems.data.reviews import THEMES, WORDS, counts, documents, make_reviews, word
from regard.systems.dattn import DAttn


def small(seed=0, **options):
    return make_reviews(seed, **{"users": 30, "items": 12, "each": 8, **options})


def model_of(**options):
    torch.manual_seed(0)
    return DAttn(len(WORDS), 40, **{"dim": 6, "filters": 5, "hidden": 8, "size": 4, **options}).eval()


def test_ratings_follow_from_tastes_and_themes():
    reviews = small(noise=0.0)

    for user, item, rating in zip(reviews.users, reviews.items, reviews.ratings, strict=True):
        likes = {theme for theme in range(len(THEMES)) if word("like", theme, 0) in reviews.taste_words[user]}
        dislikes = {theme for theme in range(len(THEMES)) if word("dislike", theme, 0) in reviews.taste_words[user]}
        offers = {theme for theme in range(len(THEMES)) if word("has", theme, 0) in reviews.theme_words[item]}
        assert (len(likes), len(dislikes), len(offers)) == (2, 2, 3)
        assert rating == np.clip(3 + len(likes & offers) - len(dislikes & offers), 1, 5)


def test_documents_have_the_words_of_training_reviews_alone():
    reviews = small(planted=2, fillers=3)

    trained = np.bincount(reviews.users[reviews.part == 0], minlength=30)

    assert [len(words) for words in reviews.user_documents] == (7 * trained).tolist()
    assert sum(map(len, reviews.item_documents)) == 7 * int((reviews.part == 0).sum())
    assert set(np.unique(reviews.part)) == {0, 1, 2}


def test_nobody_reviews_anything_twice():
    reviews = small()
    pairs = set(zip(reviews.users.tolist(), reviews.items.tolist(), strict=True))

    assert len(pairs) == len(reviews.users)


def test_documents_are_cut_and_filled_up():
    of = [np.array([1, 2, 3]), np.array([4])]

    assert documents(of).tolist() == [[1, 2, 3], [4, 0, 0]]
    assert documents(of, 2).tolist() == [[1, 2], [4, 0]]
    assert counts(of)[:, 1:5].tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]


def test_more_reviews_than_items_are_refused():
    with pytest.raises(SettingError, match="`each`"):
        make_reviews(0, items=3, each=4)


def test_pairs_are_rated_as_one_by_one():
    model, reviews = model_of(), small()
    users, items = documents(reviews.user_documents, 40), documents(reviews.item_documents, 40)
    who, what = reviews.users[:9], reviews.items[:9]

    together = model.pairs(users, items, who, what).ratings

    torch.testing.assert_close(together, model(users[who], items[what]).ratings)


def test_padding_changes_nothing():
    model = model_of()
    user, item = torch.randint(1, 90, (2, 11)), torch.randint(1, 90, (2, 7))
    padded = torch.cat([user, torch.zeros(2, 9, dtype=torch.long)], 1)

    said, again = model(user, item), model(padded, item)

    torch.testing.assert_close(again.ratings, said.ratings)
    torch.testing.assert_close(again.user.weights[:, :11], said.user.weights)
    assert not again.user.weights[:, 11:].any()


def test_an_empty_document_is_rated_without_nan():
    said = model_of()(torch.zeros(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.long))

    assert torch.isfinite(said.ratings).all()
    assert not said.user.weights.any()


def test_without_attention_the_gates_are_open_and_do_not_learn():
    model = model_of(attention=False)
    user = torch.randint(1, 90, (2, 11))

    said = model(user, user)
    said.ratings.sum().backward()

    assert torch.equal(said.user.weights, torch.ones(2, 11))
    assert model.users.attention.local.convolve.weight.grad is None
    assert model.users.embedding.weight.grad is not None


def test_a_saved_model_rates_the_same(tmp_path):
    for attention in (True, False):
        model = model_of(attention=attention)
        model.save(tmp_path / "dattn.regard")
        user = torch.randint(1, 90, (2, 11))
        assert torch.equal(DAttn.load(tmp_path / "dattn.regard")(user, user).ratings, model(user, user).ratings)


def test_wrong_calls_are_told():
    model = model_of()
    with pytest.raises(SettingError, match="`length` must cover"):
        model(torch.ones(1, 41, dtype=torch.long), torch.ones(1, 4, dtype=torch.long))
    with pytest.raises(SettingError, match="`user` must hold"):
        model(torch.ones(1, 4), torch.ones(1, 4, dtype=torch.long))
    with pytest.raises(SettingError, match="`dropout`"):
        model_of(dropout=1.0)
    with pytest.raises(SettingError, match="`filters`"):
        model_of(filters=0)


def test_planted_words_are_counted_among_the_highest_gates():
    of = torch.tensor([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]])
    gates = torch.tensor([[0.9, 0.8, 0.7, 0.6, 0.5, 0.1], [0.1, 0.9, 0.8, 0.7, 0.6, 0.5]])

    assert highlighted(gates, of, [frozenset({1, 2, 3, 4, 5}), frozenset({1})]) == 0.5


def test_simpler_models_are_measured_on_the_test_part():
    found = baselines(small(users=60))

    assert set(found) == {"mean", "ridge"}
    assert all(0.3 < value < 2 for value in found.values())


def test_it_can_be_trained():
    cell = {"epochs": 2, "longest": 30, "learning_rate": 0.01, "penalty": 0.05, "attention": True, "seed": 0}
    reviews = small()

    model = learned(cell, reviews, lambda doing, share: None)

    users, items = documents(reviews.user_documents, 30), documents(reviews.item_documents, 30)
    rows = reviews.rows(0)
    assert rmse(predicted(model, users, items, reviews, rows), reviews.ratings[rows]) < 2
