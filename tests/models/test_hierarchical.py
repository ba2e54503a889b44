"""Hierarchical attention: two levels without padding, an exact sum over words, one face with the other classifiers."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from sklearn.base import clone

from regard import load
from regard.audit.linear import ModelSource
from regard.errors import DataError, SettingError
from regard.explain import explain, sentence_parts
from regard.models import HierarchicalAttentionClassifier
from regard.models.hierarchical import marked, with_marks
from regard.models.hierarchical_network import Cut, HierarchicalNetwork, HierarchicalShape
from regard.nn.hierarchical import HierarchicalAttention
from regard.report import report
from regard.tokens import Tokens, Vocabulary

TEXTS = [
    "We went there. A good film! It was long.",
    "Great film. We went there.",
    "We went there. It was long. A bad film.",
    "An awful film... We went there.",
] * 8
LABELS = ["good", "good", "bad", "bad"] * 8


def fitted(**settings):
    options = {"dim": 12, "hidden": 12, "min_count": 1, "learning_rate": 0.02, "epochs": 6, "n_threads": 1}
    return HierarchicalAttentionClassifier(validation_fraction=0, **{**options, **settings}).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def clf():
    return fitted()


def shape(**options):
    known = {
        "words": 9,
        "sides": 1,
        "dim": 8,
        "hidden": 8,
        "encoder": "conv",
        "bidirectional": True,
        "widths": (3,),
        "score": "additive",
        "scale": 1.0,
        "dropout": 0.0,
    }
    return HierarchicalShape(**{**known, **options})


# Three texts of the words 0 to 8; 9 stands between sentences and -1 fills up.
IDS = torch.tensor([[1, 2, 9, 3, 9, 4, 5, 6], [7, 9, 8, 1, 2, -1, -1, -1], [3, 3, -1, -1, -1, -1, -1, -1]])


def network(**options):
    torch.manual_seed(1)
    return HierarchicalNetwork(shape(**options)).eval()


def test_texts_are_folded_into_sentences_and_back():
    cut = Cut.of(IDS, 9)

    folded = cut.fold(IDS)

    assert folded.tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6], [7, 0, 0], [8, 1, 2], [3, 3, 0]]
    assert cut.there.tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    back = cut.unfold(folded[..., None].float(), IDS)[..., 0]
    assert torch.equal(back, torch.where((IDS >= 0) & (IDS < 9), IDS, 0).float())


@pytest.mark.parametrize("encoder", ["none", "gru", "conv", "lstm"])
@pytest.mark.parametrize("sentence_encoder", ["none", "weights", "gru"])
def test_the_weights_and_polarities_of_words_add_up_to_the_score(encoder, sentence_encoder):
    model = network(encoder=encoder, sentence_encoder=sentence_encoder)

    h, attended = model.attend(IDS)
    scores = model(IDS)

    there = model.speaks(IDS)
    torch.testing.assert_close((attended.weights[..., None] * model.read(h)).sum(1), scores)
    torch.testing.assert_close(attended.weights.sum(-1), torch.ones(3))
    again = torch.softmax(torch.where(there, attended.scores, -torch.inf), -1)
    torch.testing.assert_close(again, attended.weights)
    assert not attended.weights[~there].any()


@pytest.mark.parametrize("flat", [False, True])
def test_the_levels_are_those_of_the_mechanism_on_padded_texts(flat):
    model = network(encoder="none", sentence_encoder="none", flat=flat)
    both = HierarchicalAttention(8)
    both.words, both.sentences = model.attention, model.sentences
    padded = torch.tensor([[[1, 2, -1], [3, -1, -1], [4, 5, 6]], [[7, -1, -1], [8, 1, 2], [-1, -1, -1]]])

    found = both(model.embedding(padded.clamp_min(0)), mask=padded >= 0)

    torch.testing.assert_close(model.read(found.context), model(IDS[:2]))
    torch.testing.assert_close(found.weights[padded >= 0], model.attend(IDS[:2])[1].weights[model.speaks(IDS[:2])])


def test_a_text_does_not_depend_on_the_texts_beside_it():
    for sentence_encoder in ("weights", "gru"):
        model = network(encoder="gru", sentence_encoder=sentence_encoder)
        together = model(IDS)
        for i, width in enumerate((8, 5, 2)):
            torch.testing.assert_close(model(IDS[i : i + 1, :width])[0], together[i])


def test_the_paper_s_network_reads_a_sentence_among_its_neighbours_and_the_default_does_not():
    other = IDS.clone()
    other[0, 3] = 8  # the second sentence of the first text

    for sentence_encoder, differs in (("weights", False), ("gru", True)):
        model = network(sentence_encoder=sentence_encoder)
        before, after = model.attend(IDS)[0][0, 0], model.attend(other)[0][0, 0]
        assert torch.equal(before, after) != differs


def test_learning_and_reading_give_the_same_scores():
    model = network(sentence_encoder="weights")
    read = model(IDS)
    model.train()

    torch.testing.assert_close(model(IDS), read)  # without dropout the modes agree


def test_every_parameter_learns():
    for sentence_encoder in ("weights", "gru"):
        model = network(encoder="gru", sentence_encoder=sentence_encoder).train()
        model(IDS).square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0 or name.endswith("weight_hh_l0"), name


# -- texts -----------------------------------------------------------------------------------------------------------


def test_marks_stand_between_sentences_with_known_words_and_after_so_many():
    tokens = Tokens(np.array([1, -1, 2, -1, -1, 3, 4, 5, 6, 7, 0], np.int32), np.array([0, 3, 5, 10, 11, 11]))

    found = with_marks(tokens, np.array([3, 0, 1, 1]), 9, longest=2)

    assert [found[d].tolist() for d in range(4)] == [[1, 2, 9, 3, 4, 9, 5, 6, 9, 7], [], [0], []]


def test_the_words_of_marked_texts_are_the_words_of_the_texts():
    vocabulary, tokens = Vocabulary.learn(TEXTS, ngrams=1, min_count=1, n_threads=1)

    found = marked(vocabulary, TEXTS[:4], 1)

    for document in range(4):
        ids = found[document]
        assert ids[ids != len(vocabulary)].tolist() == tokens[document].tolist()
    assert (found[0] == len(vocabulary)).sum() == 2


# -- the estimator ---------------------------------------------------------------------------------------------------


def test_it_learns_and_its_weights_find_the_word_that_tells(clf):
    assert clf.score(TEXTS, LABELS) == 1.0
    one = explain(clf, "We went there. A bad film.")[0]
    assert max(one.parts, key=lambda part: abs(part.contribution)).text in ("bad", "a", "film")


@pytest.mark.parametrize("sentence_encoder", [None, "weights", "gru"])
def test_an_explanation_adds_up(sentence_encoder):
    model = fitted(sentence_encoder=sentence_encoder, epochs=2)
    texts = ["It was long. A good<br />film here, unknownword. Bad!", "good", "", "nothingknown. Here too."]

    for text, score in zip(texts, model.decision_function(texts), strict=True):
        one = explain(model, text)[0]
        assert abs(one.residual) < 1e-9
        assert one.score == pytest.approx(score, abs=1e-6)
        assert sum(part.contribution for part in one.parts) == pytest.approx(score, abs=1e-6)


def test_sentences_share_the_attention_and_their_contributions_add_up(clf):
    text = "We went there. It was long.<br />A good film!"

    said = sentence_parts(explain(clf, text)[0])

    assert [part.text for part in said] == ["We went there.", "It was long.", "A good film!"]
    assert [text[part.start : part.end] for part in said] == [part.text for part in said]
    assert sum(part.weight for part in said) == pytest.approx(1)
    assert sum(part.contribution for part in said) == pytest.approx(clf.decision_function([text])[0], abs=1e-6)
    ids = torch.from_numpy(marked(clf.model_.vocabulary, [text]).ids[None].astype(np.int64))
    _, _, upper = clf.model_.network._levels(ids, Cut.of(ids, len(clf.model_.vocabulary)))
    np.testing.assert_allclose([part.weight for part in said], upper.weights[0].detach(), rtol=1e-5)


def test_a_word_by_itself_is_a_text_of_one_word(clf):
    table = clf.model_.word_table

    for word in ("good", "awful"):
        row = table.vocabulary.word_list.index(word)
        alone = clf.model_.attend(word)
        np.testing.assert_allclose(alone.attention[0], table.attention[row], atol=1e-5)
        np.testing.assert_allclose(alone.polarity[0], table.polarity[row], atol=1e-5)
    assert set(clf.table_["word"]) >= {"good", "awful"}


def test_a_saved_model_is_the_same(clf, tmp_path):
    clf.save(tmp_path / "han.regard")

    again = load(tmp_path / "han.regard")

    assert isinstance(again, HierarchicalAttentionClassifier)
    assert again.set_params(n_threads=1).get_params() == clf.get_params()  # how many threads is not kept
    np.testing.assert_array_equal(again.decision_function(TEXTS), clf.decision_function(TEXTS))


def test_the_same_seed_gives_the_same_model(clf):
    np.testing.assert_array_equal(fitted().decision_function(TEXTS), clf.decision_function(TEXTS))
    assert (fitted(random_state=1).decision_function(TEXTS) != clf.decision_function(TEXTS)).any()


def test_scikit_learn_can_clone_and_set_it(clf):
    other = clone(clf).set_params(dim=6, attention="flat")

    assert not hasattr(other, "model_")
    assert (other.dim, other.attention, other.hidden) == (6, "flat", 12)


def test_without_attention_words_of_a_sentence_weigh_the_same():
    model = fitted(attention="flat", epochs=1)

    found = model.model_.attend("A good film. We went there.")

    np.testing.assert_allclose(found.weights, 1 / 6, rtol=1e-5)


def test_several_classes_have_a_side_each():
    labels = ["a", "b", "c", "c"] * 8
    model = HierarchicalAttentionClassifier(
        dim=12, hidden=12, min_count=1, learning_rate=0.02, epochs=6, validation_fraction=0, n_threads=1
    ).fit(TEXTS, labels)

    assert model.predict_proba(TEXTS[:3]).shape == (3, 3)
    one = explain(model, TEXTS[0])[0]
    assert abs(one.residual) < 1e-9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 7}, "`hidden` must be even"),
        ({"encoder": "affine"}, "`encoder` must be"),
        ({"sentence_encoder": "lstm"}, "`sentence_encoder` must be"),
        ({"encoder": None, "hidden": 10}, "`hidden` must be `dim`"),
        ({"widths": (2,)}, "`widths` must be odd"),
        ({"dropout": 1.0}, "`dropout` must be"),
    ],
)
def test_wrong_settings_are_told(settings, message):
    with pytest.raises(SettingError, match=message):
        fitted(**settings)


def test_texts_without_frequent_words_are_told():
    with pytest.raises(DataError, match="min_count"):
        fitted(min_count=1000)


def test_its_attention_is_audited_as_that_of_any_model(clf):
    source = ModelSource(clf.model_)
    text = "It was long. A good<br />film here."
    (batch,) = source.batches([text, "bad"])

    words = [text[span.start : span.end] for span in source.spans(text)]
    effects, _ = batch.leave_one_out()

    assert words == ["It", "was", "long", "A", "good", "film"]
    assert batch.starts.tolist() == [0, 6, 7]
    loudest = explain(clf, text)[0].without([4])  # the same words, "good" masked
    before, after = batch.chances[0, 1], loudest.probabilities["good"]
    assert effects[4] == pytest.approx(before - after if batch.explained[0] else after - before, abs=1e-6)
    assert "neighbours" in source.removal


def test_a_report_shows_it(clf):
    page = report(clf, TEXTS[:4], LABELS[:4])

    assert not page.exact
    assert len(page.documents.items) == 4
