"""The papers' networks behind the estimators' face: what they learn, keep, resume and refuse."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from regard import NeuralAttentionClassifier, load
from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.explain import explain
from regard.models import neural_training
from regard.models.neural_training import batches, parts

KINDS = {
    "DP": {},
    "DP-A": {"encoder": "affine", "hidden": 6},
    "DP-L": {"encoder": "lstm", "word_dropout": 0.2},
    "DP-L, one way": {"encoder": "lstm", "bidirectional": False, "hidden": 5},
    "conv": {"encoder": "conv", "widths": (1, 3, 5), "hidden": 10},
    "AD": {"score": "additive"},
    "AD-L": {"encoder": "lstm", "score": "additive"},
}
CONTEXTUAL = [name for name, kind in KINDS.items() if kind.get("encoder") in ("lstm", "conv")]
TEXTS = ["a good film", "a great film, really great", "a bad film", "an awful film", "so so", "fine !"] * 6
TWO = ["yes", "yes", "no", "no", "no", "yes"] * 6
THREE = ["yes", "yes", "no", "no", "well", "yes"] * 6
NEW = ["A good film? An awful one!", "great", "nothing known", "", "film " * 40 + "bad", "so a fine awful film"]


def small(**settings):
    return NeuralAttentionClassifier(**{"dim": 8, "epochs": 4, "n_threads": 1, **settings})


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module", params=[TWO, THREE], ids=["two", "three"])
def fitted(kind, request):
    return small(**KINDS[kind]).fit(TEXTS, request.param)


# -- one face ------------------------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_score(fitted):
    for text, score in zip(NEW, np.atleast_2d(fitted.decision_function(NEW).T).T, strict=True):
        explanation = explain(fitted, text)[0]
        side = 0 if len(fitted.classes_) == 2 else list(fitted.classes_).index(explanation.label)

        assert abs(explanation.residual) < 1e-9
        assert explanation.score == pytest.approx(score[side], abs=1e-5)
        assert sum(part.weight for part in explanation.parts) == pytest.approx(float(bool(explanation.parts)))


def test_a_loaded_model_is_the_same_model(fitted, tmp_path):
    fitted.save(tmp_path / "m.regard")
    loaded = load(tmp_path / "m.regard")
    loaded.save(tmp_path / "again.regard")

    np.testing.assert_array_equal(loaded.decision_function(NEW), fitted.decision_function(NEW))
    assert loaded.get_params() == {**fitted.get_params(), "n_threads": None}
    assert loaded.table_.equals(fitted.table_)
    assert (loaded.course_, loaded.n_iter_, loaded.validation_) == (fitted.course_, fitted.n_iter_, fitted.validation_)
    assert (tmp_path / "again.regard").read_bytes() == (tmp_path / "m.regard").read_bytes()


def test_company_in_a_batch_changes_nothing(fitted):
    together = fitted.predict_proba(NEW)
    alone = np.concatenate([fitted.predict_proba([text]) for text in NEW])

    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_many_texts_are_taken_apart_as_each_alone(fitted):
    for text, found in zip(NEW, fitted.model_.attend_many(NEW), strict=True):
        alone = fitted.model_.attend(text)

        assert found.places == alone.places
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-6)
        np.testing.assert_allclose(found.scores, alone.scores, atol=1e-6)


def test_a_text_without_known_words_scores_zero(fitted):
    np.testing.assert_array_equal(fitted.decision_function(["", "unheard", "?"]), 0)


def test_the_table_holds_every_word_as_a_text_of_its_own(fitted):
    table = fitted.table_
    words = table["word"].to_list()
    polarity = table.select([name for name in table.columns if name.startswith("polarity")]).to_numpy()

    np.testing.assert_allclose(np.atleast_2d(fitted.decision_function(words).T).T, polarity, atol=1e-5)


def test_words_without_readers_of_neighbours_speak_the_same_everywhere(kind):
    clf = small(**KINDS[kind]).fit(TEXTS, TWO)
    here, there = (explain(clf, text)[0].parts[1] for text in ("a good film", "really good great"))

    assert clf.model_.exact == (kind not in CONTEXTUAL)
    assert (here.attention, here.polarity) == (there.attention, there.polarity) or kind in CONTEXTUAL


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_a_masked_word_is_read_but_does_not_speak(name):
    explanation = explain(small(**KINDS[name]).fit(TEXTS, TWO), "a good film")[0]
    masked = explanation.without([0])

    assert [part.text for part in masked.parts] == ["good", "film"]
    assert [part.polarity for part in masked.parts] == [part.polarity for part in explanation.parts[1:]]
    assert masked.score == pytest.approx(
        sum(part.contribution for part in explanation.parts[1:]) / (1 - explanation.parts[0].weight)
    )


# -- what it computes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_lstm_is_pytorchs_own(bidirectional):
    clf = small(encoder="lstm", bidirectional=bidirectional).fit(TEXTS, TWO)
    network, words = clf.model_.network, clf.model_.vocabulary
    plain = torch.nn.LSTM(8, 8 // (1 + bidirectional), batch_first=True, bidirectional=bidirectional)
    ways = [(network.encoder.forwards, ""), *([(network.encoder.backwards, "_reverse")] if bidirectional else [])]
    for lstm, suffix in ways:
        for name, value in lstm.named_parameters():
            plain.get_parameter(name + suffix).data = value.data

    ids = torch.tensor([words.row(word) for word in ["a", "great", "bad", "film"]])
    h, _ = plain(network.embedding(ids)[None])
    weights = torch.softmax(h @ network.attention.query / 10, -1)
    score = (weights[..., None] * h).sum(1) @ network.output.weight.T

    assert clf.decision_function(["a great bad film"])[0] == pytest.approx(score.item(), abs=1e-6)


def test_the_penalty_keeps_the_directions_apart():
    free, held = (
        small(penalty=penalty, epochs=30, validation_fraction=0).fit(TEXTS * 5, TWO * 5) for penalty in (0.0, 1.0)
    )

    assert abs(held.model_.network.overlap().item()) < 0.1 * abs(free.model_.network.overlap().item())


def test_l2_shrinks_the_encoder_alone():
    free, held = (small(encoder="affine", l2=l2, validation_fraction=0).fit(TEXTS, TWO) for l2 in (0.0, 10.0))
    sizes = [[np.linalg.norm(m.vectors.affine), np.linalg.norm(m.vectors.output)] for m in (free.model_, held.model_)]

    assert sizes[1][0] < 0.8 * sizes[0][0]
    assert sizes[1][1] > 0.8 * sizes[0][1]


@pytest.mark.parametrize(
    "settings", [{}, {"encoder": "lstm"}, {"score": "additive", "optimizer": "adamw", "learning_rate": 0.01}]
)
def test_it_learns_the_demonstration_corpus(settings):
    corpus = demo()
    train, test = corpus.part("train"), corpus.part("test")
    clf = NeuralAttentionClassifier(dim=20, epochs=6, **settings).fit(train.texts, train.labels)

    assert clf.score(test.texts, test.labels) > 0.8


def test_the_kept_epoch_is_the_most_accurate_one():
    corpus = demo()
    train = corpus.part("train")
    clf = NeuralAttentionClassifier(dim=8, epochs=12, patience=3).fit(train.texts, train.labels)
    accuracies = [(step["accuracy"], -step["log_loss"]) for step in clf.course_]

    assert accuracies.index(max(accuracies)) + 1 == clf.n_iter_
    assert clf.validation_["accuracy"] == max(accuracies)[0]
    assert len(clf.course_) in (12, clf.n_iter_ + 3)


def test_word_dropout_leaves_out_whole_words():
    network = small(dropout=0.0, word_dropout=0.25).fit(TEXTS, TWO).model_.network
    ids = torch.arange(network.shape.words).repeat(500, 1)
    with torch.no_grad():
        h, _ = network.train().attend(ids)
        left_out = (h == 0).all(-1)

        assert left_out.float().mean() == pytest.approx(0.25, abs=0.03)
        assert torch.equal(h[~left_out], network.embedding(ids)[~left_out])
        assert not (network.eval().attend(ids)[0] == 0).any()


def test_training_leaves_pytorch_as_it_was():
    torch.manual_seed(7)
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    small().fit(TEXTS, TWO)

    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_watching_shows_every_epoch_and_changes_nothing():
    seen = []
    watched = small(validation_fraction=0).fit(
        TEXTS, TWO, watch=lambda epoch, model: seen.append((epoch, model.vectors.output.copy()))
    )
    alone = small(validation_fraction=0).fit(TEXTS, TWO)

    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3, 4]
    assert not np.array_equal(seen[0][1], seen[1][1])
    np.testing.assert_array_equal(seen[-1][1], watched.model_.vectors.output)
    np.testing.assert_array_equal(watched.decision_function(NEW), alone.decision_function(NEW))


def test_batches_hold_every_text_once_and_little_padding():
    lengths = np.random.default_rng(0).integers(1, 400, 10_000)
    found = list(batches(lengths, 100, np.random.default_rng(1)))

    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(10_000))
    assert sum(len(batch) * lengths[batch].max() for batch in found) < 1.05 * lengths.sum()
    assert not np.all(np.diff([lengths[batch].max() for batch in found]) >= 0)


def test_a_batch_with_a_few_very_long_texts_is_cut_so_that_little_is_filled_up():
    lengths = np.sort(np.append(np.random.default_rng(0).integers(20, 200, 97), [900, 3000, 9000]))
    found = parts(np.arange(100), lengths)

    np.testing.assert_array_equal(np.concatenate(found), np.arange(100))
    assert sum(len(part) * lengths[part].max() for part in found) < 1.5 * lengths.sum() < 0.05 * 100 * 9000
    assert len(found) < 15
    assert len(parts(np.arange(100), np.full(100, 50))) == 1


@pytest.mark.parametrize("settings", [{}, {"encoder": "lstm"}, {"score": "additive", "penalty": 0.1}])
def test_cutting_a_batch_changes_nothing_but_the_order_of_sums(settings, monkeypatch):
    texts = [" ".join([text] * (40 if i % 9 == 0 else 1)) for i, text in enumerate(TEXTS)]
    given = {"dropout": 0, "validation_fraction": 0, "optimizer": "sgd", "batch_size": len(texts), **settings}
    monkeypatch.setattr(neural_training, "_TENSOR", 1)
    cut = small(**given).fit(texts, TWO)
    monkeypatch.setattr(neural_training, "_WASTE", np.inf)
    whole = small(**given).fit(texts, TWO)

    np.testing.assert_allclose(cut.decision_function(NEW), whole.decision_function(NEW), rtol=1e-4, atol=1e-5)
    assert cut.course_[0]["loss"] == pytest.approx(whole.course_[0]["loss"], rel=1e-5)
    assert cut.decision_function(NEW).tobytes() != whole.decision_function(NEW).tobytes()


# -- stopping and going on -----------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize(
    "settings", [{}, {"encoder": "lstm", "optimizer": "adamw"}, {"optimizer": "sgd", "validation_fraction": 0}]
)
@pytest.mark.parametrize("at", [1, 3, 6])
def test_a_training_that_goes_on_ends_where_an_uninterrupted_one_ends(settings, at, tmp_path):
    def kill(epoch, model):
        if epoch == at:
            raise Killed

    clf = small(epochs=6, checkpoint=tmp_path / "point", **settings)
    with pytest.raises(Killed):
        clone(clf).fit(TEXTS, TWO, watch=kill)
    epochs = []
    resumed = clone(clf).fit(TEXTS, TWO, watch=lambda epoch, model: epochs.append(epoch))
    small(epochs=6, **settings).fit(TEXTS, TWO).save(tmp_path / "whole")
    resumed.save(tmp_path / "resumed")

    assert epochs == ([0] if at == 1 else []) + list(range(at, 7))
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_killed_process_leaves_a_checkpoint_to_go_on_from(tmp_path):
    script = (
        "import os, signal; from regard import NeuralAttentionClassifier as C\n"
        f"def kill(epoch, model): epoch == 3 and os.kill(os.getpid(), signal.SIGKILL)\n"
        f"C(dim=8, epochs=5, n_threads=1, checkpoint='point').fit({TEXTS!r}, {TWO!r}, watch=kill)"
    )
    killed = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    resumed = small(epochs=5, checkpoint=tmp_path / "point").fit(TEXTS, TWO)
    whole = small(epochs=5).fit(TEXTS, TWO)

    assert killed.returncode == -9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["point"]
    np.testing.assert_array_equal(resumed.decision_function(NEW), whole.decision_function(NEW))


@pytest.mark.parametrize("change", [{"scale": 1.0}, {"random_state": 1}, {"epochs": 5}])
def test_the_checkpoint_of_another_training_is_refused(change, tmp_path):
    small(checkpoint=tmp_path / "point").fit(TEXTS, TWO)
    before = (tmp_path / "point").read_bytes()

    with pytest.raises(DataError, match="other data or settings; remove it"):
        small(checkpoint=tmp_path / "point", **change).fit(TEXTS, TWO)
    with pytest.raises(DataError, match="other data or settings"):
        small(checkpoint=tmp_path / "point").fit([*TEXTS[1:], "more"], TWO)
    assert (tmp_path / "point").read_bytes() == before


def test_a_model_is_no_checkpoint(tmp_path):
    small().fit(TEXTS, TWO).save(tmp_path / "m.regard")

    with pytest.raises(DataError, match="must be a file that training wrote"):
        small(checkpoint=tmp_path / "m.regard").fit(TEXTS, TWO)


# -- word vectors --------------------------------------------------------------------------------------------------

VECTORS = {"good": [1, 2, 3], "Bad": [4, 5, 6], "BAD": [7, 8, 9], "unseen": [0, 0, 0], "a": [0.5, -0.5, 1e-3]}
LINES = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items())


def written(form, folder):
    path = folder / f"vectors.{form}"
    if form == "txt":
        path.write_text(LINES)
    elif form == "vec":
        path.write_text(f"{len(VECTORS)} 3\n{LINES}")
    elif form == "txt.gz":
        path.write_bytes(gzip.compress(LINES.encode()))
    else:
        words = np.frombuffer("\n".join(VECTORS).encode(), np.uint8)
        save_file({"words": words, "vectors": np.array(list(VECTORS.values()), np.float32)}, path)
    return path


@pytest.mark.parametrize("form", ["txt", "vec", "txt.gz", "safetensors"])
def test_training_starts_from_given_vectors(form, tmp_path):
    starts = {}

    def see(epoch, model):
        if epoch == 0:
            starts.update(zip(model.vocabulary.word_list, model.vectors.embedding, strict=True))

    NeuralAttentionClassifier(epochs=1, vectors=written(form, tmp_path)).fit(TEXTS, TWO, watch=see)

    np.testing.assert_allclose(starts["good"], [1, 2, 3])
    np.testing.assert_allclose(starts["bad"], [4, 5, 6], err_msg="the first of several capitalisations")
    assert np.abs(starts["film"]).max() <= 0.1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("good 1 2 3\nbad 1 2\n", "equally many numbers a line; line 2 has 2"),
        ("good 1 two 3\n", "line 1 has b'good 1 two 3'|line 1 has"),
        ("other 1 2 3\n", "has a vector for none of"),
    ],
)
def test_vectors_that_cannot_be_read_are_refused(content, said, tmp_path):
    (tmp_path / "v.txt").write_text(content)

    with pytest.raises(DataError, match=said):
        small(dim=None, vectors=tmp_path / "v.txt").fit(TEXTS, TWO)


def test_vectors_must_be_there_and_of_the_right_size(tmp_path):
    with pytest.raises(DataError, match="there is none at"):
        small(vectors=tmp_path / "none.txt").fit(TEXTS, TWO)
    with pytest.raises(SettingError, match="must be that of `vectors`, 3; got 8"):
        small(vectors=written("txt", tmp_path)).fit(TEXTS, TWO)
    (tmp_path / "v.safetensors").write_bytes(b"no safetensors")
    with pytest.raises(DataError, match="should be a safetensors file"):
        small(dim=None, vectors=tmp_path / "v.safetensors").fit(TEXTS, TWO)


# -- settings ------------------------------------------------------------------------------------------------------


def test_the_setting_score_lives_beside_the_method():
    clf = small(score="additive")

    assert clone(clf).get_params()["score"] == "additive"
    assert clf.set_params(score="dot", scale=3.0).get_params()["score"] == "dot"
    search = GridSearchCV(small(epochs=1), {"score": ["dot", "additive"], "scale": [1.0, 10.0]}, cv=2)
    assert search.fit(TEXTS, TWO).best_params_["score"] in ("dot", "additive")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encoder": "lstn"}, r"`encoder` must be None, 'affine', 'lstm' or 'conv'; got 'lstn'. Did you mean 'lstm'"),
        ({"encoder": 3}, "`encoder` must be"),
        ({"score": "dott"}, "`score` must be 'dot' or 'additive'"),
        ({"optimizer": "sgdd"}, "`optimizer` must be"),
        ({"scale": 0}, "`scale` must be a number above 0"),
        ({"dropout": 1}, "`dropout`"),
        ({"word_dropout": -0.1}, "`word_dropout`"),
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1"),
        ({"patience": 0}, "`patience` must be a whole number of at least 1 or None"),
        ({"hidden": 9}, "without an encoder"),
        ({"encoder": "lstm", "hidden": 7}, "must be even"),
        ({"encoder": "conv", "widths": (3, 4)}, "must be odd"),
        ({"encoder": "conv", "widths": ()}, "must be odd"),
        ({"device": "abacus"}, "`device` must be 'auto' or a device"),
        ({"learning_rate": -1}, "`learning_rate`"),
        ({"class_weight": {"perhaps": 2}}, "labels of the data"),
    ],
)
def test_settings_out_of_range_are_named(settings, said):
    with pytest.raises(SettingError, match=said):
        small(**settings).fit(TEXTS, TWO)


def test_a_step_too_far_is_an_error_and_not_a_model():
    with pytest.raises(SettingError, match="lower `learning_rate`"):
        small(learning_rate=1e30, encoder="affine").fit(TEXTS, TWO)


def test_without_pytorch_the_error_names_the_extra():
    script = "import sys; sys.modules['torch'] = None; import regard; regard.NeuralAttentionClassifier"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert "MissingExtraError: NeuralAttentionClassifier needs packages" in ended.stderr
    assert "regard[torch]" in ended.stderr
