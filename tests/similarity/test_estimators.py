"""The estimators: scikit-learn's contract, its neighbours, and who spoke."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from regard.errors import DataError, SettingError
from regard.similarity import AttentionSmoother, SimilarityClassifier, SimilarityRegressor, recommend, weights
from regard.similarity.measures import resolve

EVERY = [
    model(weigh=weigh)
    for model in (AttentionSmoother, SimilarityClassifier, SimilarityRegressor)
    for weigh in ("exp", "top_k")
]


@parametrize_with_checks([*EVERY, SimilarityClassifier(weigh="top_k", search="tiles")])
def test_they_keep_scikit_learns_contract(estimator, check):
    check(estimator)


# -- nearest neighbours --------------------------------------------------------------------------------------------


def grid(rng):
    """Whole numbers: nearly every object has neighbours at equal distances."""
    X = rng.integers(0, 4, (300, 3)).astype(float)
    return X, (X.sum(axis=1) + rng.integers(0, 2, 300)).astype(int) % 3


SETS = {
    "iris": lambda rng: datasets.load_iris(return_X_y=True),
    "wine": lambda rng: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda rng: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda rng: datasets.load_digits(return_X_y=True),
    "moons": lambda rng: datasets.make_moons(300, noise=0.3, random_state=0),
    "circles": lambda rng: datasets.make_circles(300, noise=0.1, random_state=0),
    "blobs": lambda rng: datasets.make_blobs(300, n_features=5, random_state=0),
    "classification": lambda rng: datasets.make_classification(300, random_state=0),
    "grid": grid,
    "doubles": lambda rng: tuple(np.repeat(part, 2, axis=0) for part in datasets.load_iris(return_X_y=True)),
}


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("name", SETS)
def test_k_nearest_neighbours_are_scikit_learns(name, k):
    X, y = SETS[name](np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(len(X))
    train, test = order[: len(X) * 2 // 3], order[len(X) * 2 // 3 :]
    theirs = KNeighborsClassifier(k).fit(X[train], y[train])

    ours = SimilarityClassifier(weigh="top_k", n_neighbors=k).fit(X[train], y[train])

    np.testing.assert_array_equal(ours.predict(X[test]), theirs.predict(X[test]))
    np.testing.assert_array_equal(ours.speakers(X[test], k).indices, theirs.kneighbors(X[test], return_distance=False))


@pytest.mark.parametrize("name", SETS)
def test_tiles_find_the_same_neighbours_and_the_earliest_of_those_that_tie(name):
    X, y = SETS[name](np.random.default_rng(0))
    X = np.round(X, 2)  # so that distances are exact where they tie
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    ours = SimilarityClassifier(weigh="top_k", search="tiles", similarity="manhattan").fit(X[train], y[train])

    found = ours.speakers(X[test])

    similarities = ours_by_hand = resolve("manhattan").compare(X[test], X[train])
    by_hand = np.lexsort((np.broadcast_to(np.arange(len(train)), similarities.shape), -ours_by_hand))[:, :5]
    np.testing.assert_array_equal(found.indices, by_hand)
    theirs = KNeighborsClassifier(metric="manhattan", algorithm="brute").fit(X[train], y[train])
    np.testing.assert_allclose(-found.similarities, theirs.kneighbors(X[test])[0], atol=1e-9)


def test_the_mean_of_neighbours_is_scikit_learns():
    X, y = datasets.load_diabetes(return_X_y=True)
    Y = np.stack([y, y**2], axis=1)

    ours = SimilarityRegressor(weigh="top_k").fit(X[::2], Y[::2]).predict(X[1::2])

    np.testing.assert_allclose(ours, KNeighborsRegressor().fit(X[::2], Y[::2]).predict(X[1::2]), rtol=1e-12)


# -- who spoke -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weigh", ["exp", "power", "sigmoid", "softplus", "linear", "quadratic", "rank"])
@pytest.mark.parametrize("similarity", ["dot", "cosine", "squared_euclidean", "manhattan"])
def test_speakers_have_the_weights_that_predictions_are_made_of(weigh, similarity):
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(60, 3)), rng.normal(size=60), rng.normal(size=(7, 3))
    model = SimilarityRegressor(similarity=similarity, weigh=weigh, bandwidth=0.7).fit(X, y)

    spoke = model.speakers(new, 60)

    by_hand = weights(resolve(similarity).compare(new, X) / 0.7, weigh)
    np.testing.assert_allclose(spoke.weights.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(spoke.weights, np.take_along_axis(by_hand, spoke.indices, axis=1), atol=1e-12)
    np.testing.assert_allclose((spoke.weights * y[spoke.indices]).sum(axis=1), model.predict(new), atol=1e-12)
    assert (np.diff(spoke.weights, axis=1) <= 1e-12).all()


def test_nobody_but_the_neighbours_speaks_in_top_k():
    model = SimilarityClassifier(weigh="top_k", n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0, 0, 1])

    spoke = model.speakers([[4.0]], n_speakers=10)

    assert spoke.indices.tolist() == [[2, 1]]
    assert spoke.weights.tolist() == [[0.5, 0.5]]


# -- smoothing -----------------------------------------------------------------------------------------------------


def test_the_bandwidth_is_the_best_by_leaving_one_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    chosen = SimilarityRegressor().fit(X, y).bandwidth_

    def error(bandwidth):
        total = 0.0
        for i in range(len(X)):
            others = np.arange(len(X)) != i
            total += (SimilarityRegressor(bandwidth=bandwidth).fit(X[others], y[others]).predict(X[[i]])[0] - y[i]) ** 2
        return total

    assert error(chosen) < min(error(chosen / 2), error(chosen * 2))


def test_smoothing_takes_noise_away():
    rng = np.random.default_rng(0)
    clean = np.repeat(rng.normal(size=(5, 20)) * 3, 60, axis=0)
    noisy = clean + rng.normal(size=clean.shape)

    smooth = AttentionSmoother(own=False).fit_transform(noisy)

    assert np.square(smooth - clean).mean() < 0.2 * np.square(noisy - clean).mean()


def test_a_batch_attends_to_itself():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = AttentionSmoother(among="batch", bandwidth=1.0).fit(X[:10])

    np.testing.assert_allclose(model.transform(X[10:]), AttentionSmoother(bandwidth=1.0).fit_transform(X[10:]))


def test_smoothing_goes_before_a_classifier_in_a_pipeline():
    X, y = datasets.load_wine(return_X_y=True)
    noisy = (X - X.mean(0)) / X.std(0) + np.random.default_rng(0).normal(size=X.shape)
    tree = DecisionTreeClassifier(random_state=0)

    smoothed = cross_val_score(make_pipeline(AttentionSmoother(own=False), tree), noisy, y).mean()

    assert smoothed > cross_val_score(tree, noisy, y).mean() + 0.05


@pytest.mark.parametrize("weigh", ["exp", "power", "softplus", "rank", "top_k"])
@pytest.mark.parametrize("search", ["auto", "tiles"])
def test_who_does_not_listen_to_itself_is_averaged_as_if_it_were_new(weigh, search):
    X = np.random.default_rng(0).normal(size=(1100, 3))
    options = {"similarity": "cosine", "weigh": weigh, "bandwidth": 0.3, "search": search}

    found = AttentionSmoother(**options, own=False).fit_transform(X)

    for i in (0, 300, 1099):
        others = np.arange(len(X)) != i
        np.testing.assert_allclose(found[[i]], AttentionSmoother(**options).fit(X[others]).transform(X[[i]]))


@pytest.mark.parametrize("similarity", ["dot", "cosine", "squared_euclidean", "manhattan"])
@pytest.mark.parametrize("weigh", ["exp", "softplus", "top_k"])
def test_sparse_objects_are_as_dense_ones(similarity, weigh):
    X = sparse.random_array((90, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(90) % 3
    options = {"similarity": similarity, "weigh": weigh, "bandwidth": 0.5, "search": "tiles"}

    for model in (SimilarityClassifier(**options), SimilarityRegressor(**options)):
        found, dense = model.fit(X, y).predict(X), model.fit(X.toarray(), y).predict(X.toarray())
        np.testing.assert_allclose(found, dense, atol=1e-12)
    smooth, dense = (AttentionSmoother(**options).fit_transform(part) for part in (X, X.toarray()))
    np.testing.assert_allclose(smooth, dense, atol=1e-12)


# -- recommending --------------------------------------------------------------------------------------------------


def test_a_person_gets_what_similar_persons_like_and_does_not_know():
    persons = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0]]
    model = SimilarityRegressor(bandwidth=1.0).fit(persons, [[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]])

    assert recommend(model, [[0.1, 0.0]], known=[[1, 1, 0, 0]], n=2).tolist() == [[2, 3]]
    assert recommend(model, [[9.0, 8.0]], n=1).tolist() == [[3]]
    with pytest.raises(DataError, match="does not know, 2; got 3"):
        recommend(model, [[0.1, 0.0]], known=[[1, 1, 0, 0]], n=3)


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"similarity": "cosin"}, "Did you mean 'cosine'"),
        ({"weigh": "exq"}, "Did you mean 'exp'"),
        ({"bandwidth": 0}, "`bandwidth` must be a number above 0"),
        ({"search": "tree"}, "Did you mean 'kd_tree'"),
        ({"search": "kd_tree", "similarity": "dot"}, "cannot search by"),
    ],
)
def test_a_wrong_setting_is_said_in_a_sentence(options, says):
    with pytest.raises(SettingError, match=says):
        AttentionSmoother(**options).fit([[0.0], [1.0]])
