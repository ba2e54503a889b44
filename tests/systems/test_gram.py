"""Codes over a tree: the worlds they come from, and what GRAM makes of them."""

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import SettingError
from regard.reproduce.request import Asked
from regard.reproduce.systems.gram import attended, cells_of, measured, show, work
from regard.systems.data.ontology import NOTHING, fifths, make_patients, make_world, occurrences
from regard.systems.gram import Gram
from regard.systems.training import seeded

TREE = [[4], [4], [5], [5], [6], [6], []]  # four codes, two groups, a root
SMALL = {"chapters": 2, "groups": 2, "codes": 3}


@pytest.fixture(params=["attention", "average"])
def model(request):
    with seeded(1):
        return Gram(TREE, 4, 5, 6, attention=request.param == "attention", spread=1.0).double().eval()


@pytest.fixture
def visits():
    return torch.tensor([[[0, 2], [1, -1], [3, 0]], [[3, 1], [2, 0], [-1, -1]]])


# -- the world -----------------------------------------------------------------------------------------------------


def test_codes_are_numbered_before_their_groups_chapters_and_root():
    world = make_world(0, **SMALL)

    assert world.codes == 12
    assert world.graph()[0] == [12]
    assert world.graph()[11] == [15]
    assert world.graph()[12:] == [[16], [16], [17], [17], [18], [18], []]
    assert world.edgeless() == [[]] * 12
    for drawn in world.scrambled(0)[:12]:
        assert len(set(drawn)) == 3
        assert min(drawn) >= 12


def test_codes_follow_their_group_as_often_as_the_world_says():
    world = make_world(3, chapters=2, groups=4, codes=5, alike=0.7, own=0.2)
    one = make_patients(world, 20_000, 1, longest=3, at_once=1)[..., 0]

    before, after = one[:, :2].ravel(), one[:, 1:].ravel()
    group = after // 5
    like, own = world.of_group[before // 5], world.of_code[before]
    chance = world.group_shares[group]  # to come for no reason

    assert (
        abs((group == like).mean() - (0.7 + 0.2 * (own == like).mean() + 0.1 * world.group_shares[like].mean())) < 0.01
    )
    assert abs((group == own)[own != like].mean() - (0.2 + 0.1 * world.group_shares[own].mean())) < 0.02
    assert (chance > 0).all()


def test_shares_are_zipfs_and_some_codes_are_rare():
    world = make_world(0)
    counts = occurrences(make_patients(world, 2000, 0), world.codes)

    np.testing.assert_allclose(world.code_shares.sum(1), 1)
    np.testing.assert_allclose(np.sort(world.code_shares[0])[::-1] * np.arange(1, 11), world.code_shares.max())
    assert counts[fifths(counts) == 4].sum() > 8 * counts[fifths(counts) == 0].sum()


def test_visits_fill_up_at_the_end_and_hold_a_code_once():
    visits = make_patients(make_world(0, **SMALL), 300, 2, longest=6, at_once=3)
    there = (visits != NOTHING).any(-1)

    assert there[:, :3].all()
    assert (there[:, :-1] >= there[:, 1:]).all()
    for visit in visits.reshape(-1, 3):
        codes = visit[visit != NOTHING]
        assert len(set(codes)) == len(codes)


def test_fifths_go_from_the_rarest_to_the_commonest():
    assert fifths(np.array([9, 0, 5, 7, 1])).tolist() == [4, 0, 2, 3, 1]


# -- the model -----------------------------------------------------------------------------------------------------


def test_a_code_is_the_mixture_that_the_paper_writes(model):
    e, score = model.attention.embedding.weight, model.attention.score
    found = model.represent()

    for code, kin in enumerate([[0, 4, 6], [1, 4, 6], [2, 5, 6], [3, 5, 6]]):
        scores = torch.stack([score(e[code][None], e[j][None])[0, 0] for j in kin])
        a = torch.softmax(scores if model.settings["attention"] else torch.zeros(3, dtype=torch.float64), 0)
        torch.testing.assert_close(found.weights[code], a)
        torch.testing.assert_close(found.context[code], sum(w * e[j] for w, j in zip(a, kin, strict=True)))


def test_with_no_ancestor_but_a_root_a_code_is_itself_and_what_all_share():
    model = Gram([[3], [3], [3], []], 3, 4, 4, spread=1.0)
    e, found = model.attention.embedding.weight, model.represent()

    own = found.weights[:, :1]
    torch.testing.assert_close(found.context, own * e[:3] + (1 - own) * e[3])


def test_without_edges_it_is_a_model_with_plain_embeddings(visits):
    model = Gram([[]] * 4, 4, 5, 6)

    x = nn.functional.embedding(visits.clamp_min(0), model.attention.embedding.weight) * (visits >= 0)[..., None]
    h, _ = model.recurrent(torch.tanh(x.sum(2)))

    torch.testing.assert_close(model(visits), model.output(h))


def test_neither_padding_nor_the_order_in_a_visit_changes_anything(model, visits):
    wider = nn.functional.pad(visits, (0, 2, 0, 3), value=-1)

    torch.testing.assert_close(model(wider)[:, :3], model(visits))
    torch.testing.assert_close(model.loss(wider), model.loss(visits))
    torch.testing.assert_close(model(visits.flip(-1)), model(visits))


def test_the_loss_is_over_every_code_that_comes(model, visits):
    log_p = model(visits).log_softmax(-1)
    coming = [(0, 0, 1), (0, 1, 3), (0, 1, 0), (1, 0, 2), (1, 0, 0)]

    torch.testing.assert_close(model.loss(visits), -torch.stack([log_p[at] for at in coming]).mean())


def test_the_gradient_is_the_slope_of_the_loss(model, visits):
    model.loss(visits).backward()

    for parameter in model.parameters():
        if parameter.grad is None:  # the score, where all are weighed alike
            assert not model.settings["attention"]
            continue
        direction = torch.cos(torch.arange(parameter.numel(), dtype=torch.float64)).view_as(parameter)
        with torch.no_grad():
            parameter += 1e-6 * direction
            up = model.loss(visits)
            parameter -= 2e-6 * direction
            slope = (up - model.loss(visits)) / 2e-6
            parameter += 1e-6 * direction
        torch.testing.assert_close((parameter.grad * direction).sum(), slope, rtol=1e-4, atol=1e-8)


def test_hits_are_the_codes_among_the_most_probable(model, visits):
    best = model(visits[:, :-1]).argsort(-1, descending=True)[..., :2]
    expected = torch.stack([(best == visits[:, 1:, k : k + 1]).any(-1) for k in range(2)], -1)

    assert torch.equal(model.hits(visits, 2), expected)
    assert model.hits(visits, 9)[visits[:, 1:] >= 0].all()


def test_accuracy_is_counted_by_rarity():
    model = Gram([[]] * 25, 25, 4, 4)
    visits = make_patients(make_world(0, chapters=1, groups=5, codes=5), 40, 0)
    counts = occurrences(visits, 25)

    found = measured(model, visits, counts)

    hit, coming = model.hits(torch.from_numpy(visits)).numpy(), visits[:, 1:]
    for fifth in range(5):
        those = np.isin(coming, np.flatnonzero(fifths(counts) == fifth))
        assert found["fifths"][fifth] == pytest.approx(hit[those].mean())
    assert found["all"] == pytest.approx(hit[coming >= 0].mean())


def test_attention_by_rarity_sums_to_one():
    world = make_world(0, **SMALL)
    found = attended(Gram(world.graph(), 12, 4, 4), np.arange(12))

    np.testing.assert_allclose(np.sum(found["levels"], 1), 1, atol=1e-3)
    assert -1 <= found["correlation"] <= 1


def test_a_page_shows_what_is_finished():
    asked = Asked("gram", quick=True, seeds=1)
    cells = [cell for cell in cells_of(asked) if cell["kind"] in ("attention", "plain")]

    shown = show(asked, cells, [work(cell, lambda doing, share: None)[0] for cell in cells])

    assert [row[2] for row in shown.table.rows] == ["not run"] * 6
    assert "rank correlation" in shown.reading
    assert [picture.name for picture in shown.pictures] == ["levels"]


def test_a_model_is_kept_in_a_file(model, visits, tmp_path):
    model.save(tmp_path / "gram.regard")

    again = Gram.load(tmp_path / "gram.regard")

    assert again.settings == model.settings
    torch.testing.assert_close(again(visits), model(visits))


def test_errors_say_what_to_do(model):
    with pytest.raises(SettingError, match=r"\(batch, T, K\); got \(2, 3\)"):
        model(torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(SettingError, match=r"torch\.float32"):
        model(torch.zeros(2, 3, 1))
    with pytest.raises(SettingError, match="from 0 to 3, or -1"):
        model(torch.full((1, 2, 1), 4))
    with pytest.raises(SettingError, match="the first of 7 nodes"):
        Gram(TREE, 8)
    with pytest.raises(SettingError, match="sum is at most 1"):
        make_world(0, alike=0.8, own=0.3)
    with pytest.raises(SettingError, match="3 visits at least"):
        make_patients(make_world(0, **SMALL), 5, 0, longest=2)
