"""Memory networks: stories, hops, ages, and what padding may not change."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from regard.errors import SettingError
from regard.nn.masks import MaskError
from regard.reproduce.systems.memory_network import learned, measured, supported
from regard.systems.data.stories import FACTS, WORDS, batch_of, encode, make_stories, make_story
from regard.systems.memory_network import MemoryNetwork, positioned


def followed(story, asked, latest):
    """The answer by reading, from the end, what was last said: who holds it, and where they went."""
    while True:
        for i in range(len(story.sentences) - 1, -1, -1):
            words = story.sentences[i].split()
            if words[0] == asked and words[1] == "went":
                return words[-1], [*latest, i]
            if (words[-1] == asked and words[1] == "took") or (words[1] == asked and words[2] == "is"):
                asked, latest = (words[0] if words[1] == "took" else words[-1]), [*latest, i]
                break
        else:
            raise AssertionError(f"nothing about {asked}")


@pytest.mark.parametrize("facts", FACTS)
def test_an_answer_follows_from_the_supporting_sentences_and_from_nothing_later(facts):
    for story in make_stories(60, [3, facts], [facts]):
        answer, supports = followed(story, story.question.split()[-1], [])

        assert answer == story.answer
        assert tuple(supports) == story.supports
        assert len(supports) == facts


def test_the_same_seed_tells_the_same_stories():
    assert make_stories(9, 5) == make_stories(9, 5)
    assert make_stories(9, 5) != make_stories(9, 6)


def test_a_story_without_room_for_its_facts_is_refused():
    with pytest.raises(SettingError, match="from 6 sentences"):
        make_story(3, np.random.default_rng(0), shortest=4)
    with pytest.raises(SettingError, match="1, 2 or 3"):
        make_story(4, np.random.default_rng(0))
    with pytest.raises(SettingError, match="words of the stories"):
        encode("where is waldo")


def network(**options):
    torch.manual_seed(0)
    return MemoryNetwork(len(WORDS), 16, **options).eval()


def test_padding_changes_nothing():
    model = network(hops=2)
    stories = make_stories(6, 1)
    together = model(batch_of(stories).sentences, batch_of(stories).question)

    for i, story in enumerate(stories):
        batch = batch_of([story])
        alone = model(batch.sentences, batch.question)
        torch.testing.assert_close(alone.scores[0], together.scores[i])
        size = batch.sentences.shape[1]
        torch.testing.assert_close(alone.weights[:, 0], together.weights[:, i, :size])
        assert not together.weights[:, i, size:].any()


def test_a_masked_sentence_is_one_that_was_never_told():
    model = network(hops=2)
    story = make_stories(1, 1)[0]
    batch = batch_of([story])
    keep = torch.ones(batch.sentences.shape[:2], dtype=torch.bool)
    keep[:, 2] = False

    masked = model(batch.sentences, batch.question, mask=keep)
    without = model(batch.sentences[:, keep[0]], batch.question)

    torch.testing.assert_close(masked.scores, without.scores)
    assert not masked.weights[..., 2].any()


def test_a_story_without_sentences_is_answered_without_nan():
    model = network()
    question = encode("where is mary")[None]

    said = model(torch.zeros(1, 4, 6, dtype=torch.long), question)

    assert torch.isfinite(said.scores).all()
    assert not said.weights.any()


def test_a_hop_is_the_formula():
    model = network(hops=2, memories=20)
    batch = batch_of(make_stories(2, 4, shortest=7, longest=7))

    k, v = (positioned(table(batch.sentences), batch.sentences != 0) for table in (model.key, model.value))
    age = torch.arange(6, -1, -1)
    k, v = k + model.key_age(age), v + model.value_age(age)
    u = positioned(model.key(batch.question), batch.question != 0)
    for hop in range(2):
        a = torch.softmax((k @ u[..., None])[..., 0], -1)
        torch.testing.assert_close(model(batch.sentences, batch.question).weights[hop], a)
        u = u @ model.attention.map.weight.T + (a[..., None] * v).sum(1)

    torch.testing.assert_close(model(batch.sentences, batch.question).scores, u @ model.answer.weight.T)


def test_position_encoding_is_the_papers():
    words = torch.ones(1, 3, 2)
    there = torch.tensor([[True, True, False]])

    # J = 2, d = 2: l[j, k] = (1 - j/2) - (k/2)(1 - j)
    expected = [sum((1 - j / 2) - k / 2 * (1 - j) for j in (1, 2)) for k in (1, 2)]

    torch.testing.assert_close(positioned(words, there), torch.tensor([expected]))


def test_without_attention_every_sentence_weighs_the_same():
    batch = batch_of(make_stories(3, 1, shortest=8, longest=8))

    said = network(attention=False)(batch.sentences, batch.question)

    torch.testing.assert_close(said.weights, torch.full_like(said.weights, 1 / 8))


def test_a_saved_network_answers_the_same(tmp_path):
    model = network(hops=2)
    model.save(tmp_path / "memory.regard")
    batch = batch_of(make_stories(3, 1))

    again = MemoryNetwork.load(tmp_path / "memory.regard")

    assert torch.equal(again(batch.sentences, batch.question).scores, model(batch.sentences, batch.question).scores)


def test_double_precision_stays_double():
    batch = batch_of(make_stories(2, 1))

    assert network().double()(batch.sentences, batch.question).scores.dtype == torch.float64


def test_wrong_calls_are_told():
    model = network()
    batch = batch_of(make_stories(2, 1))
    with pytest.raises(SettingError, match="`question` must hold the numbers of words"):
        model(batch.sentences, batch.question.float())
    with pytest.raises(MaskError):
        model(batch.sentences, batch.question, mask=torch.ones(batch.sentences.shape[:2]))
    with pytest.raises(SettingError, match="`memories`"):
        MemoryNetwork(9, memories=0)
    with pytest.raises(SettingError, match="`hops`"):
        MemoryNetwork(9, hops=0)


def test_support_counts_sentences_that_any_hop_attends_to_most():
    batch = batch_of(make_stories(40, 2, [2]))
    found = batch.supports.nonzero()[:, 1].view(-1, 2)
    size = batch.supports.shape[1]
    both = torch.stack([one_hot(found[:, 1], size), one_hot(found[:, 0], size)]).float()

    assert supported(both, batch) == 1.0
    assert supported(both[:1], batch) == 0.0


@pytest.mark.slow
def test_one_fact_is_learned_in_seconds():
    cell = {"stories": 3_000, "tests": 300, "linear": 1, "epochs": 4, "dim": 24, "learning_rate": 0.02, "seed": 1}

    model = learned({**cell, "hops": 1, "attention": True}, lambda doing, share: None)

    assert measured(model, make_stories(300, 9))["1"]["right"] > 0.7
