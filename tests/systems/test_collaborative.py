"""People of planted tastes, and the model that reads their histories."""

import numpy as np
import pytest
import torch
from sklearn.metrics import ndcg_score

from regard.errors import SettingError
from regard.reproduce.request import Asked
from regard.reproduce.systems.collaborative import at_ten, attended, cells_of, popular, recommended, show, work
from regard.systems.collaborative import CollaborativeFilter, bpr_loss
from regard.systems.data.tastes import make
from regard.systems.training import seeded

PEOPLE = torch.tensor([0, 2])
HISTORY = torch.tensor([[3, 1, 4], [5, -1, -1]])


@pytest.fixture(params=["attention", "average", "factors"])
def model(request):
    kind = request.param
    with seeded(2):
        built = CollaborativeFilter(3, 6, 2, 4, 5, 7, history=kind != "factors", attention=kind == "attention")
        built = built.double().see(torch.randn(6, 2, 4, dtype=torch.float64), torch.tensor([2, 1, 2, 2, 1, 2]))
        torch.nn.init.normal_(built.bias)
    return built.eval()


@pytest.fixture(scope="module")
def data():
    return make(5, people=60, items=50, themes=8)


def reads(model):
    return model.settings["history"]


# -- the people ----------------------------------------------------------------------------------------------------


def test_items_are_taken_once_and_what_is_left_out_is_to_the_taste(data):
    taken = np.concatenate([data.history, data.validation[:, None], data.test[:, None]], 1)
    pleasing = (data.themes[..., None] == data.tastes.T[0]).any(1).T  # (people, items)

    assert all(len(set(row)) == len(row) for row in taken)
    np.testing.assert_array_equal(data.by_taste, np.take_along_axis(pleasing, data.history, 1))
    assert pleasing[np.arange(60), data.validation].all()
    assert pleasing[np.arange(60), data.test].all()


def test_people_are_drawn_from_the_seed(data):
    again = make(5, people=60, items=50, themes=8)

    for name, array in vars(data).items():
        np.testing.assert_array_equal(array, getattr(again, name))
    assert not np.array_equal(make(6, people=60, items=50, themes=8).history, data.history)


def test_without_accidents_all_is_by_taste():
    assert make(0, people=20, items=60, themes=6, history=5, accidents=0.0).by_taste.all()


# -- the model -----------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_paper(model):
    """The same with loops over people, items and parts."""
    scores, kind = model(PEOPLE, HISTORY), model.settings
    for row, (person, history) in enumerate(zip(PEOPLE.tolist(), HISTORY.tolist(), strict=True)):
        u = model.user.weight[person]
        taste = u.clone()
        if kind["history"]:
            item, component = model.reader.items.score, model.reader.components.score
            a, p = [], []
            for j in (j for j in history if j >= 0):
                parts = model.components[j][model.real[j]]
                b = torch.cat([component(part[None], u[None]) for part in parts])
                x = torch.softmax(b * kind["attention"], 0) @ parts
                about = torch.cat([model.item.weight[j], model.auxiliary.weight[j], x])
                a.append(item(about[None], u[None])[0])
                p.append(model.auxiliary.weight[j])
            taste = taste + torch.softmax(torch.stack(a) * kind["attention"], 0) @ torch.stack(p)
        for j in range(6):
            torch.testing.assert_close(scores[row, j], taste @ model.item.weight[j] + model.bias[j])


def test_padding_changes_nothing(model):
    wider = torch.nn.functional.pad(HISTORY, (0, 3), value=-1)

    torch.testing.assert_close(model(PEOPLE, wider), model(PEOPLE, HISTORY))
    if reads(model):
        read = model.read(PEOPLE, wider)
        assert (read.weights[wider < 0] == 0).all()
        torch.testing.assert_close(read.weights.sum(-1), torch.ones(2, dtype=torch.float64))


def test_the_order_of_a_history_does_not_matter(model):
    torch.testing.assert_close(model(PEOPLE, HISTORY.flip(1)), model(PEOPLE, HISTORY))


def test_an_empty_history_says_nothing(model):
    nobody = torch.full((2, 3), -1)

    torch.testing.assert_close(model.taste(PEOPLE, nobody), model.user(PEOPLE))


def test_the_loss_is_the_plain_formula():
    better, worse = torch.randn(7, dtype=torch.float64), torch.randn(7, dtype=torch.float64)

    plain = -np.log(1 / (1 + np.exp(-(better - worse).numpy()))).mean()

    assert float(bpr_loss(better, worse)) == pytest.approx(plain)
    assert float(bpr_loss(torch.tensor([900.0]), torch.tensor([-900.0]))) == 0
    assert torch.isfinite(bpr_loss(torch.tensor([-900.0]), torch.tensor([900.0])))


def test_in_training_an_item_does_not_speak_for_itself(model):
    taken, others = torch.tensor([1, 5]), torch.tensor([0, 0])
    without = torch.tensor([[3, 4, -1], [-1, -1, -1]])
    scores = model(PEOPLE, without)

    plain = bpr_loss(scores[[0, 1], taken], scores[[0, 1], others])

    torch.testing.assert_close(model.loss(PEOPLE, taken, others, HISTORY), plain)


def test_the_gradient_is_the_slope_of_the_loss(model):
    given = (PEOPLE, torch.tensor([1, 5]), torch.tensor([0, 2]), HISTORY)
    model.loss(*given).backward()

    for parameter in model.parameters():
        if parameter.grad is None:
            assert not model.settings["attention"]
            continue
        direction = torch.cos(torch.arange(parameter.numel(), dtype=torch.float64)).view_as(parameter)
        with torch.no_grad():
            parameter += 1e-6 * direction
            up = model.loss(*given)
            parameter -= 2e-6 * direction
            slope = (up - model.loss(*given)) / 2e-6
            parameter += 1e-6 * direction
        torch.testing.assert_close((parameter.grad * direction).sum(), slope, rtol=1e-4, atol=1e-8)


def test_what_was_taken_is_not_recommended(model):
    found = model.recommend(PEOPLE, HISTORY, 3)
    scores = model(PEOPLE, HISTORY)

    for row, history in zip(range(2), HISTORY.tolist(), strict=True):
        order = [j for j in scores[row].argsort(descending=True).tolist() if j not in history]
        assert found[row].tolist() == order[:3]


def test_a_model_is_kept_in_a_file_with_the_parts_it_saw(model, tmp_path):
    model.save(tmp_path / "acf.regard")

    again = CollaborativeFilter.load(tmp_path / "acf.regard")

    assert torch.equal(again.components, model.components)
    assert torch.equal(again.real, model.real)
    torch.testing.assert_close(again(PEOPLE, HISTORY), model(PEOPLE, HISTORY))


def test_errors_say_what_to_do(model):
    with pytest.raises(SettingError, match=r"must be \(6, 2, 4\); got \(6, 3, 4\)"):
        model.see(torch.rand(6, 3, 4))
    with pytest.raises(SettingError, match="`people` must be from 0 to 2; got 0 to 3"):
        model(torch.tensor([0, 3]), HISTORY)
    with pytest.raises(SettingError, match="`best` must be 1 to 3"):
        model.recommend(PEOPLE, HISTORY, 4)
    with pytest.raises(SettingError, match="`dim` must be at least 1"):
        CollaborativeFilter(3, 6, 2, 4, dim=0)
    with pytest.raises(SettingError, match="less than 1; got 1"):
        make(0, accidents=1.0)
    with pytest.raises(SettingError, match="number of themes, 2"):
        make(0, themes=2)
    if reads(model):
        with pytest.raises(SettingError, match="`history` must be from -1 to 5"):
            model(PEOPLE, HISTORY + 2)
    else:
        with pytest.raises(SettingError, match="built without `history`"):
            model.read(PEOPLE, HISTORY)


# -- what is measured ----------------------------------------------------------------------------------------------


def test_hits_and_gains_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 40))
    left_out = rng.integers(0, 40, 30)
    best = np.argsort(-scores, 1)[:, :10]

    found = at_ten(best, left_out)

    assert found["gain"] == pytest.approx(ndcg_score(np.eye(40)[left_out], scores, k=10))
    assert found["hit"] == pytest.approx(np.mean([one in row for one, row in zip(left_out, best, strict=True)]))


def test_nothing_seen_is_measured_as_recommended(data):
    model = CollaborativeFilter(60, 50, 3, 16).see(torch.from_numpy(data.components))
    seen = np.concatenate([data.history, data.validation[:, None]], 1)

    for best in (recommended(model, data.history, seen), popular(data, seen), popular(data, seen, knowing=True)):
        assert best.shape == (60, 10)
        assert not (best[..., None] == seen[:, None]).any()


def test_attention_that_knows_the_tastes_is_told_from_one_that_does_not(data):
    model = CollaborativeFilter(60, 50, 3, 16, attention=False).see(torch.from_numpy(data.components))
    found = attended(model, data)

    mixed = data.by_taste.any(1) & ~data.by_taste.all(1)
    assert found["items"] == pytest.approx(data.by_taste[mixed].mean())
    assert found["share of items"] == pytest.approx(data.by_taste[mixed].mean())
    assert found["parts"] == pytest.approx(found["share of parts"])


def test_a_page_shows_what_is_finished():
    asked = Asked("collaborative-filtering", quick=True, seeds=1)
    cells = [cell for cell in cells_of(asked) if cell["kind"] != "average"]

    shown = show(asked, cells, [work(cell, lambda doing, share: None)[0] for cell in cells])

    assert [row[2] for row in shown.table.rows] == ["not run"] * 3
    assert "BPR-MF" in shown.reading
    assert [picture.name for picture in shown.pictures] == ["histories"]
