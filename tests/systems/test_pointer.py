"""Problems made of their own inputs, and the networks that point at them."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from regard.errors import ModelFileError, SettingError
from regard.reproduce.request import Asked
from regard.reproduce.systems.pointer import cells_of, measured, show, work
from regard.systems.data import pointer as data
from regard.systems.data.pointer import (
    TASKS,
    Problems,
    from_the_lowest,
    is_simple,
    make,
    nearest_first,
    polygon_area,
    shortest_tour,
    tour_length,
)
from regard.systems.pointer import PointerNetwork, VocabularyDecoder
from regard.systems.training import Recipe, seeded, train

SQUARE = np.array([[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.4, 0.5]]])
every_task = pytest.mark.parametrize("task", TASKS)


@pytest.fixture(params=["pointer", "pointer that may repeat", "pointer of all", "vocabulary"])
def network(request):
    with seeded(3):
        build = {
            "pointer": lambda: PointerNetwork(2, 8),
            "pointer that may repeat": lambda: PointerNetwork(2, 8, again=True),
            "pointer of all": lambda: PointerNetwork(2, 8, every=True),
            "vocabulary": lambda: VocabularyDecoder(2, 8, positions=7),
        }[request.param]
        return build().double().eval()


def problems(task="hull", sizes=(4, 7), seed=0):
    drawn = make(task, 3, sizes, seed)
    return torch.from_numpy(drawn.inputs), torch.from_numpy(drawn.answers), torch.from_numpy(drawn.lengths)


# -- problems and their answers ------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(3, 14))
@settings(max_examples=40)
def test_hulls_are_those_of_scipy(seed, size):
    drawn = make("hull", 2, [size], seed)

    for points, answer in zip(drawn.inputs, drawn.answers, strict=True):
        corners = ConvexHull(points).vertices  # counterclockwise in the plane
        np.testing.assert_array_equal(answer[answer >= 0], np.roll(corners, -corners.argmin()))


@given(st.integers(0, 10_000), st.integers(3, 6))
@settings(max_examples=15)
def test_no_order_of_the_cities_is_shorter_than_the_shortest_tour(seed, size):
    points = make("tour", 2, [size], seed).inputs
    orders = np.array([[0, *rest] for rest in permutations(range(1, size))])
    all_lengths = [tour_length(np.repeat(one[None], len(orders), 0), orders).min() for one in points]

    found = shortest_tour(points)

    np.testing.assert_allclose(tour_length(points, found), all_lengths)
    assert (polygon_area(points, found) >= 0).all()
    assert (found[:, 0] == 0).all()
    assert (tour_length(points, nearest_first(points)) >= tour_length(points, found) - 1e-12).all()


def test_many_tours_are_worked_out_in_parts(monkeypatch):
    points = make("tour", 5, [6], 0).inputs
    at_once = shortest_tour(points)

    monkeypatch.setattr(data, "TABLE", 2 * (6 << 6))

    np.testing.assert_array_equal(shortest_tour(points), at_once)


def test_sorting_sorts_different_numbers():
    drawn = make("sorting", 20, [6], 0)
    ordered = np.take_along_axis(drawn.inputs[..., 0], drawn.answers, 1)

    assert (np.diff(ordered, axis=1) > 0).all()


@every_task
def test_problems_of_several_sizes_stand_together(task):
    drawn = make(task, 2, [4, 6], 1)

    assert drawn.inputs.shape[:2] == drawn.answers.shape == (4, 6)
    assert drawn.lengths.tolist() == [4, 4, 6, 6]
    assert (drawn.inputs[:2, 4:] == 0).all()
    assert (drawn.answers < drawn.lengths[:, None]).all()
    np.testing.assert_array_equal(make(task, 2, [4, 6], 1).inputs, drawn.inputs)


def test_polygons_are_told_from_bow_ties():
    square, tie, short, twice = [0, 2, 1, 3], [0, 1, 2, 3], [0, 2, -1, -1], [0, 2, 1, 0]
    orders = np.array([square, tie, short, twice])

    assert is_simple(np.repeat(SQUARE, 4, 0), orders).tolist() == [True, False, False, False]


def test_a_hull_is_right_wherever_it_starts_but_not_the_other_way_round():
    class Says(PointerNetwork):
        def __init__(self, order):
            super().__init__(2, 4)
            self.order = torch.tensor([order])

        def point(self, inputs, lengths=None, *, width=1):
            return type("Said", (), {"positions": self.order})

    square = Problems(SQUARE, np.array([5]), np.array([[0, 2, 1, 3, -1]]))

    assert measured(Says([1, 3, 0, 2]), "hull", square) == {"exact": 1.0, "area": 1.0}
    assert measured(Says([2, 0, 3, 1]), "hull", square) == {"exact": 0.0, "area": 1.0}
    assert measured(Says([0, 2, 1]), "hull", square) == {"exact": 0.0, "area": 0.5}
    assert measured(Says([0, 1, 2, 3]), "hull", square) == {"exact": 0.0, "area": 0.0}
    np.testing.assert_array_equal(from_the_lowest(np.array([[3, 1, 2, -1]])), [[1, 2, 3, -1]])


def test_a_page_shows_what_is_finished_and_says_what_is_not():
    asked = Asked("pointer-network", quick=True, seeds=1)
    cells = [cell for cell in cells_of(asked) if cell["task"] == "sorting"]

    shown = show(asked, cells, [work(cell, lambda doing, share: None)[0] for cell in cells])

    assert "Convex hulls of 10 points, exact: not measured" in shown.reading
    assert [picture.name for picture in shown.pictures] == ["sorting"]
    assert shown.table.rows[1][2] == "no words for them"


# -- networks ------------------------------------------------------------------------------------------------------


def test_padding_changes_nothing(network):
    inputs, answers, lengths = problems("tour" if network.every else "hull")
    dirty = inputs.clone()
    dirty[:3, 4:] = torch.nan

    together, found = network(dirty, answers, lengths), network.point(dirty, lengths)
    apart, alone = network(inputs[:3, :4], answers[:3, :4]), network.point(inputs[:3, :4])

    torch.testing.assert_close(together[:3, :5, :5], apart)
    assert (together[:3, :, 5:].exp() == 0).all()
    steps = alone.positions.shape[1]
    assert torch.equal(found.positions[:3, :steps], alone.positions)
    torch.testing.assert_close(found.score[:3], alone.score)


def test_an_answer_scores_what_its_steps_say(network):
    inputs, _, lengths = problems()
    found = network.point(inputs, lengths)

    log_p = network(inputs, found.positions, lengths)
    steps = found.weights.shape[1]
    slots = torch.nn.functional.pad(found.positions + 1, (0, 1))[:, :steps]
    said = found.weights.sum(-1) > 0
    picked = log_p[:, :steps].gather(-1, slots[..., None])[..., 0]

    torch.testing.assert_close(torch.where(said, picked, 0).sum(1), found.score, check_dtype=False)
    torch.testing.assert_close(torch.where(said[..., None], log_p[:, :steps].exp(), 0), found.weights)


def test_inputs_are_pointed_at_once_unless_told_otherwise(network):
    inputs, _, lengths = problems()

    positions = network.point(inputs, lengths).positions

    for row, length in zip(positions.tolist(), lengths.tolist(), strict=True):
        said = [j for j in row if j >= 0]
        assert all(j < length for j in said)
        assert network.again or len(set(said)) == len(said)
        if network.every:
            assert sorted(said) == list(range(length))


def test_a_beam_as_wide_as_all_answers_finds_the_best():
    with seeded(0):
        network = PointerNetwork(1, 8, every=True).double()
    inputs = torch.tensor([[[0.3], [0.1], [0.9]]], dtype=torch.float64)
    orders = list(permutations(range(3)))

    @torch.no_grad()
    def score(order):
        log_p = network(inputs, torch.tensor([order]))[0]
        return float(sum(log_p[t, j + 1] for t, j in enumerate(order)))

    found = network.point(inputs, width=6)

    assert float(found.score) == pytest.approx(max(map(score, orders)), rel=1e-5)
    assert tuple(found.positions[0].tolist()) == max(orders, key=score)
    assert float(network.point(inputs, width=1).score) <= float(found.score) + 1e-6


def test_the_loss_counts_every_step_and_the_end(network):
    inputs, answers, lengths = problems("tour" if network.every else "hull")
    log_p = network(inputs, answers, lengths)

    steps = []
    for row, answer in zip(log_p, answers.tolist(), strict=True):
        said = [j for j in answer if j >= 0]
        steps += [-row[t, j + 1] for t, j in enumerate(said)]
        if not network.every:
            steps.append(-row[len(said), 0])

    torch.testing.assert_close(network.loss(inputs, answers, lengths), torch.stack(steps).mean())


def test_the_gradient_is_the_slope_of_the_loss(network):
    inputs, answers, lengths = problems("tour" if network.every else "hull")
    network.loss(inputs, answers, lengths).backward()

    for name, parameter in network.named_parameters():
        if parameter.grad is None:  # the pointer alone has an end to look at
            assert name == "end"
            continue
        direction = torch.sin(torch.arange(parameter.numel(), dtype=torch.float64)).view_as(parameter)
        with torch.no_grad():
            moved = []
            for sign in (1, -1):
                parameter += sign * 1e-6 * direction
                moved.append(network.loss(inputs, answers, lengths))
                parameter -= sign * 1e-6 * direction
        slope = (moved[0] - moved[1]) / 2e-6
        torch.testing.assert_close((parameter.grad * direction).sum(), slope, rtol=1e-4, atol=1e-7)


def test_the_pointer_follows_its_sources_when_they_change_places():
    network = PointerNetwork(2, 8)
    states, sources = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
    allowed = torch.rand(2, 3, 6) > 0.3
    allowed[..., 0] = True
    places = torch.tensor([3, 0, 5, 1, 4, 2])

    moved = network.say(states, sources[:, places], allowed[..., places])

    torch.testing.assert_close(moved, network.say(states, sources, allowed)[..., places])


def test_it_learns_to_sort_and_sorts_more_than_it_learned():
    drawn = make("sorting", 1200, [3, 4, 5], 0)
    inputs, answers = torch.from_numpy(drawn.inputs).float(), torch.from_numpy(drawn.answers)
    lengths = torch.from_numpy(drawn.lengths)
    with seeded(0):
        network = PointerNetwork(1, 24, every=True)

    def loss(batch):
        rows = torch.from_numpy(batch)
        return network.loss(inputs[rows], answers[rows], lengths[rows])

    train(network, drawn.lengths, loss, Recipe(3, 64, 0.01))

    assert measured(network, "sorting", make("sorting", 200, [5], 1))["exact"] > 0.9
    assert measured(network, "sorting", make("sorting", 200, [8], 2))["exact"] > 0.6


def test_a_vocabulary_has_words_for_so_many_positions(network):
    inputs = torch.rand(1, 8, 2, dtype=torch.float64)

    if isinstance(network, VocabularyDecoder):
        with pytest.raises(SettingError, match="words for 7 positions; got 8 inputs"):
            network.point(inputs)
    else:
        assert network.point(inputs).weights.shape[-1] == 9


def test_a_network_is_kept_in_a_file(network, tmp_path):
    inputs, answers, lengths = problems()
    network.about["trained on"] = "hulls"
    network.save(tmp_path / "network.regard")

    again = type(network).load(tmp_path / "network.regard")

    assert again.about == network.about
    torch.testing.assert_close(again(inputs, answers, lengths), network(inputs, answers, lengths))
    with pytest.raises(ModelFileError, match="must hold a"):
        (VocabularyDecoder if type(network) is PointerNetwork else PointerNetwork).load(tmp_path / "network.regard")


def test_errors_say_what_to_do():
    network = PointerNetwork(2, 8)
    points = torch.rand(2, 4, 2)

    with pytest.raises(SettingError, match=r"\(batch, n, 2\), n >= 1; got \(2, 4, 3\)"):
        network.point(torch.rand(2, 4, 3))
    with pytest.raises(SettingError, match=r"2 numbers from 1 to 4; got \[0, 5\]"):
        network.point(points, torch.tensor([0, 5]))
    with pytest.raises(SettingError, match="positions of real inputs"):
        network(points, torch.tensor([[0, 3], [1, 2]]), torch.tensor([3, 4]))
    with pytest.raises(SettingError, match=r"must be \(2, T\)"):
        network(points, torch.tensor([0, 1]))
    with pytest.raises(SettingError, match="even; got 7"):
        PointerNetwork(2, 7)
    with pytest.raises(SettingError, match="exclude each other"):
        PointerNetwork(2, 8, every=True, again=True)
    with pytest.raises(SettingError, match="Did you mean 'sorting'"):
        make("sort", 1, [3], 0)
    with pytest.raises(SettingError, match="2 to 13 cities; got 14"):
        make("tour", 1, [14], 0)
    with pytest.raises(SettingError, match="at least 3 points; got 2"):
        make("hull", 1, [2], 0)
    with pytest.raises(SettingError, match="one size and one problem"):
        make("hull", 0, [3], 0)
    with pytest.raises(SettingError, match="1 to 100 different numbers"):
        make("sorting", 1, [101], 0)
