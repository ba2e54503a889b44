"""Correcting sentences: one mistake, one correction; words by words, rare words by letters."""

import numpy as np
import pytest
import torch

from regard.errors import SettingError
from regard.reproduce.systems.nested_gec import learned, measured
from regard.systems.data.errors_in_sentences import (
    RARE,
    UNSEEN,
    common_words,
    make_corrections,
    misspelt,
)
from regard.systems.edits import edits
from regard.systems.nested_gec import COPIED, END, START, NestedCorrector

SENTENCES = [["the", "dog", "often", "likes", "a", "bone"], ["a", "lantern"], ["dog"]]


def model_of(**options):
    torch.manual_seed(0)
    sizes = {"dim": 8, "hidden": 8, "letter_dim": 6, "letter_hidden": 8, "dropout": 0.0}
    return NestedCorrector(["the", "dog", "often", "likes", "a"], **{**sizes, **options}).eval()


# -- the data --------------------------------------------------------------------------------------------------------


def test_every_mistake_is_one_edit_and_clean_sentences_have_none():
    data = make_corrections(400, 1)

    assert all(len(edits(one.source, one.target)) == len(one.kinds) for one in data)
    assert {kind for one in data for kind in one.kinds} == {"agreement", "article", "preposition", "order", "spelling"}
    assert 0.1 < np.mean([not one.kinds for one in data]) < 0.5


def test_targets_have_words_of_the_vocabulary_and_rare_ones_only():
    known = set(common_words())
    data = make_corrections(400, 2)

    assert {word for one in data for word in one.target} <= known | set(RARE)
    assert not set(RARE) & known
    assert not set(UNSEEN) & (set(RARE) | known)
    assert len(known) == len(common_words())


def test_articles_go_by_the_sound_of_the_next_word():
    for one in make_corrections(400, 3):
        for article, word in zip(one.target, one.target[1:], strict=False):
            if article in ("a", "an"):
                assert (article == "an") == (word[0] in "aeiou" or word == "honest"), one.target


def test_a_slip_is_one_letter_and_never_the_first():
    rng = np.random.default_rng(0)
    for word in RARE:
        slip = misspelt(word, rng)
        assert slip != word
        assert slip[0] == word[0]
        assert len(edits(list(word), list(slip))) == 1
    with pytest.raises(SettingError, match="three letters"):
        misspelt("ox", rng)


def test_the_same_seed_makes_the_same_sentences():
    assert make_corrections(20, 4) == make_corrections(20, 4)


# -- the model -------------------------------------------------------------------------------------------------------


def test_a_sentence_does_not_depend_on_those_beside_it():
    model = model_of()

    together = model.correct(SENTENCES, longest=5)

    for source, said in zip(SENTENCES, together, strict=True):
        alone = model.correct([source], longest=5)[0]
        assert alone.words == said.words
        torch.testing.assert_close(alone.weights, said.weights)


def test_padding_does_not_change_the_loss():
    model = model_of()
    pairs = [(source, source) for source in SENTENCES[:2]]
    each = [model.loss([source], [target]) for source, target in pairs]
    sizes = [len(target) + 1 for _, target in pairs]
    letters = [5, 8]  # "bone" and "lantern", each with its end: the only unknown words

    both = model.loss(*map(list, zip(*pairs, strict=True)))

    words = [model_of(attention="words").loss([source], [target]) for source, target in pairs]
    spelling = [one - word for one, word in zip(each, words, strict=True)]
    expected = sum(w * n for w, n in zip(words, sizes, strict=True)) / sum(sizes)
    expected += sum(s * n for s, n in zip(spelling, letters, strict=True)) / sum(letters)
    torch.testing.assert_close(both, expected)


def test_an_unknown_word_is_read_by_its_letters_and_a_known_one_is_not():
    model = model_of()
    read = model.read([["the", "bone"], ["the", "boen"], ["the", "dog"]])

    assert not torch.equal(read.words[0], read.words[1])
    model.spelled.weight.data.zero_()
    again = model.read([["the", "bone"], ["the", "boen"], ["the", "dog"]])
    torch.testing.assert_close(again.words[0], again.words[1])
    torch.testing.assert_close(again.words[2], read.words[2])


@torch.no_grad()
def test_letters_are_sought_in_the_word_attended_to_most():
    model = model_of()
    source = ["the", "lantern", "often"]
    read = model.read([source])
    weights = torch.tensor([[0.2, 0.7, 0.1]])

    _, _, attended = model._letters(read, torch.tensor([0]), torch.zeros(1, 8), weights, torch.tensor([[START]]), None)

    assert attended.shape[-1] == len("lantern")
    assert attended.sum().item() == pytest.approx(1.0)
    moved = torch.tensor([[0.7, 0.2, 0.1]])
    _, _, other = model._letters(read, torch.tensor([0]), torch.zeros(1, 8), moved, torch.tensor([[START]]), None)
    assert not other[..., len("the") :].any()


def unknown_only(model):
    """A model that says one unknown word and ends."""
    model.out.weight.data.zero_()
    model.out.bias.data.fill_(-9.0)
    model.out.bias.data[3] = 9.0
    return model


def test_without_letters_an_unknown_word_is_copied_and_without_attention_it_cannot_be():
    copied = unknown_only(model_of(attention="words")).correct([["bone"]], longest=1)[0]
    lost = unknown_only(model_of(attention=None)).correct([["bone"]], longest=1)[0]
    spelled = unknown_only(model_of()).correct([["bone"]], longest=1, longest_word=6)[0]

    assert copied.words == ["bone"]
    assert copied.unknown == [True]
    assert lost.words == [COPIED]
    assert len(spelled.words[0]) <= 6
    assert spelled.letters[0].shape[1] == len("bone")


def test_greedy_words_are_those_the_loss_would_choose():
    model = model_of(attention="words")
    source = SENTENCES[0]
    said = model.correct([source], longest=6)[0]
    numbers = [START, *(3 if new else model.numbers[word] for word, new in zip(said.words, said.unknown, strict=True))]

    read = model.read([source])
    h, _, _ = model._say(read, torch.tensor([numbers]), model._begin(read))
    scores = model.out(h[0])
    scores[:, [0, 1]] = -torch.inf

    best = scores.argmax(-1).tolist()
    assert best[: len(said.words)] == numbers[1:]
    assert best[-1] == END or len(said.words) == 6


def test_a_saved_model_corrects_the_same(tmp_path):
    model = model_of()
    model.save(tmp_path / "gec.regard")

    again = NestedCorrector.load(tmp_path / "gec.regard")

    assert again.vocabulary == model.vocabulary
    for one, other in zip(again.correct(SENTENCES, longest=4), model.correct(SENTENCES, longest=4), strict=True):
        assert one.words == other.words


def test_wrong_calls_are_told():
    with pytest.raises(SettingError, match="`attention`"):
        model_of(attention="letters")
    with pytest.raises(SettingError, match="distinct"):
        NestedCorrector(["a", "a"])
    with pytest.raises(SettingError, match="a word at least"):
        model_of().correct([["a"], []])
    with pytest.raises(SettingError, match="a word at least"):
        model_of().correct([])


def test_letters_beyond_the_alphabet_are_read_as_unknown():
    assert model_of().letter_numbers("aé") == [4, 3]


def test_it_can_be_trained_and_measured():
    cell = {"sentences": 60, "tests": 40, "epochs": 1, "attention": "nested", "learning_rate": 0.005, "seed": 0}

    found = measured(learned(cell, lambda doing, share: None), make_corrections(20, 3))

    assert 0 <= found["words"]["f"] <= 1
    assert set(found["kinds"]) == {"agreement", "article", "preposition", "order", "spelling"}


def test_a_perfect_corrector_gets_full_marks():
    class Perfect(NestedCorrector):
        def correct(self, sources, **options):
            answers = {tuple(one.source): one.target for one in data}
            return [type("Said", (), {"words": answers[tuple(source)]}) for source in sources]

    data = make_corrections(60, 5)
    found = measured(Perfect(common_words()), data)

    assert found["words"] == found["spelling"] == {"p": 1.0, "r": 1.0, "f": 1.0}
    assert found["rare"] == found["misspelt"] == found["exact"] == 1.0
