"""What single mechanisms do beyond what all must: each against its formula, written as plainly as can be."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from functools import partial

import pytest
import torch

from regard import nn
from regard.cli.mechanisms import mechanisms
from regard.errors import SettingError

torch.manual_seed(0)
QUERY, KEY, VALUE = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


# Names


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(SettingError, match="Did you mean 'luong_local_p'"):
        nn.mechanism("luong_locl_p", query_dim=8, key_dim=8)


def test_what_is_missing_is_named_with_what_there_is():
    with pytest.raises(SettingError, match=r"query_dim.*takes query_dim, key_dim"):
        nn.mechanism("bahdanau")


@pytest.mark.parametrize("name", ["dot", "memory", "luong_dot"])
def test_sizes_that_cannot_go_together_are_refused(name):
    with pytest.raises(SettingError, match="8 and 6"):
        nn.mechanism(name, query_dim=8, key_dim=6)


def test_unknown_parts_suggest_the_nearest():
    with pytest.raises(SettingError, match="sparsemax"):
        nn.attend(QUERY, KEY, weigh="sparsmax")
    with pytest.raises(SettingError, match="cosine"):
        nn.attend(QUERY, KEY, score="cosin")
    with pytest.raises(SettingError, match="concat"):
        nn.LuongGlobalAttention(8, 8, score="concta")


def test_without_torch_the_error_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None\nimport regard.nn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "MissingExtraError: regard.nn needs packages that are not installed" in run.stderr
    assert "pip install 'regard[torch]'" in run.stderr


def test_the_command_lists_them_all(capsys):
    mechanisms(None, True)
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(nn.CATALOGUE)

    mechanisms("bahdanau", False)
    assert "tanh" in capsys.readouterr().out
    mechanisms("multi_head", False)
    assert "from_torch" in capsys.readouterr().out
    mechanisms(None, False)
    listed = capsys.readouterr().out
    assert "pointer" in listed
    assert "Luong et al. 2015" in listed
    with pytest.raises(SettingError, match="Did you mean 'memory'"):
        mechanisms("memry", False)


@pytest.mark.parametrize("name", [name for name in nn.CATALOGUE if name != "graph"])
def test_two_sizes_are_enough_to_build_a_mechanism(name):
    assert isinstance(nn.mechanism(name, query_dim=8, key_dim=8), torch.nn.Module)


def test_a_graph_is_needed_to_attend_to_ancestors():
    with pytest.raises(SettingError, match=r"'graph' cannot be built.*'ancestors'"):
        nn.mechanism("graph", query_dim=8, key_dim=8)


# Masks


def test_masks_from_lengths_broadcast_to_queries():
    mask = nn.lengths_mask(torch.tensor([2, 0, 3]))

    assert mask.shape == (3, 1, 3)
    assert mask[:, 0].tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert nn.lengths_mask(torch.tensor([2]), 4, heads=True).shape == (1, 1, 1, 4)
    with pytest.raises(SettingError, match="whole numbers"):
        nn.lengths_mask(torch.tensor([2.0]))


def test_causal_masks_say_where_they_meet():
    assert nn.causal_mask(2, 4, "top-left").tolist() == [
        [True, False, False, False],
        [True, True, False, False],
    ]
    assert nn.causal_mask(2, 4, "bottom-right").tolist() == [[True, True, True, False], [True] * 4]
    with pytest.raises(SettingError, match="top-left"):
        nn.causal_mask(2, 4, "left")


def test_a_mask_of_the_wrong_length_is_refused():
    with pytest.raises(SettingError, match="S = 5"):
        nn.attend(QUERY, KEY, mask=torch.ones(2, 3, 4, dtype=torch.bool))


# The core


@pytest.mark.parametrize("weigh", ["softmax", "sparsemax"])
def test_blocks_of_queries_are_all_queries(weigh):
    mask, bias = torch.rand(2, 3, 5) < 0.7, torch.randn(2, 1, 5)

    whole = nn.attend(QUERY, KEY, VALUE, score="distance", weigh=weigh, mask=mask, bias=bias)
    blocks = nn.attend(QUERY, KEY, VALUE, score="distance", weigh=weigh, mask=mask, bias=bias, block=2)

    close(blocks.context, whole.context)
    close(blocks.weights, whole.weights)


@pytest.mark.parametrize(
    "score", ["dot", "scaled_dot", "cosine", "squared_distance", nn.General(8, 8), nn.Biaffine(8, 8)]
)
@pytest.mark.parametrize("width", [3, 8, 11])
def test_the_fused_path_is_the_plain_one(score, width):
    value, bias, mask = torch.randn(2, 5, width), torch.randn(3, 5), torch.rand(2, 3, 5) < 0.7

    for options in ({}, {"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias}, {"causal": "top-left"}):
        plain = nn.attend(QUERY, KEY, value, score=score, **options)
        fused = nn.attend(QUERY, KEY, value, score=score, need_weights=False, **options)
        close(fused.context, plain.context)
        assert fused.weights is None


def test_no_tensor_of_queries_by_sources_is_kept_when_weights_are_not_asked_for():
    query, key = (torch.randn(1, 2, 96, 16, requires_grad=True) for _ in range(2))
    for score in ("dot", "scaled_dot", "cosine", "squared_distance"):
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: (sizes.append(x.numel()), x)[1], lambda x: x):  # noqa: B023
            nn.attend(query, key, score=score, need_weights=False)
        assert max(sizes) < 2 * 96 * 96


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("width", [3, 8, 11])
def test_gradients_of_the_fused_path_are_the_plain_ones_however_far_apart_the_scores(spread, width):
    torch.manual_seed(1)
    mask = torch.rand(2, 3, 5) < 0.7
    mask[0, 0] = False
    slope = torch.randn(2, 3, width)
    leaves = [spread * QUERY, KEY, torch.randn(2, 5, width)]

    for score, options in itertools.product(
        ("dot", "squared_distance"), ({}, {"mask": mask}, {"bias": 5 * torch.randn(3, 5)})
    ):
        grads = []
        for dtype, need_weights in ((torch.float64, True), (torch.float32, False)):
            query, key, value = (x.to(dtype).requires_grad_() for x in leaves)
            context = nn.attend(query, key, value, score=score, need_weights=need_weights, **options).context
            grads.append(torch.autograd.grad(context, (query, key, value), slope.to(dtype)))
        for exact, fused in zip(*grads, strict=True):
            torch.testing.assert_close(fused, exact.float(), atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize("need_weights", [True, False])
def test_distances_keep_their_digits_far_from_zero(need_weights):
    near, offset = torch.randn(30, 16), 1000.0
    exact = torch.softmax(-(torch.cdist((near + offset).double(), (near + offset).double()) ** 2), -1) @ near.double()

    context = nn.attend(near + offset, near + offset, near, score="squared_distance", need_weights=need_weights).context

    torch.testing.assert_close(context, exact.float(), atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("score", [nn.Biaffine(8, 8), nn.SquaredDistance(scale=0.1), nn.Distance(p=3)])
@pytest.mark.parametrize("weigh", ["gate", "smooth", "literal"])
def test_a_window_weighs_the_whole_score(score, weigh):
    local = nn.LuongLocalAttention(8, 8, position="monotonic", window=1, score=score, weigh=weigh)
    near = (torch.arange(5) - torch.arange(3)[:, None]).abs() <= 1

    close(local(QUERY, KEY, VALUE).weights, nn.attend(QUERY, KEY, score=score, weigh=weigh, mask=near).weights)


def test_the_mass_of_a_row_tells_a_gate_from_a_distribution():
    close(nn.attend(QUERY, KEY).mass, torch.ones(2, 3))
    assert (nn.attend(QUERY, KEY, weigh="gate").mass - 1).abs().min() > 1e-3
    local = nn.LuongLocalAttention(8, 8, window=2)(QUERY, KEY)
    assert (local.mass < 1).all()
    with pytest.raises(SettingError, match="need_weights=True"):
        _ = nn.attend(QUERY, KEY, need_weights=False).mass


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
def test_shares_of_almost_nothing_are_nothing(scale):
    scores = torch.linspace(-scale, -scale - 9, 4).requires_grad_()
    weights = nn.ratio(scores, of=torch.nn.functional.softplus)
    (grad,) = torch.autograd.grad(weights, scores, torch.randn(4))

    close(weights.sum(), torch.tensor(1.0 if scale == 1.0 else 0.0))
    assert grad.isfinite().all()


def test_a_function_of_the_users_is_a_score_and_a_weighing():
    result = nn.attend(
        QUERY, KEY, score=lambda q, k: -(q @ k.mT).abs(), weigh=lambda scores, mask: torch.softmax(scores, -1)
    )
    close(result.weights, torch.softmax(-(QUERY @ KEY.mT).abs(), -1))


@pytest.mark.parametrize("weigh", ["softmax", "sparsemax", "entmax15", "smooth", "hardmax", "literal"])
def test_what_a_function_of_the_users_sets_to_minus_infinity_is_masked(weigh):
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    query = QUERY.clone().requires_grad_()

    masked = nn.attend(query, KEY, VALUE, score=lambda q, k: (q @ k.mT).masked_fill(~mask, -torch.inf), weigh=weigh)
    plain = nn.attend(query, KEY, VALUE, score="dot", weigh=weigh, mask=mask)

    close(masked.weights, plain.weights)
    assert (masked.context[:, 1] == 0).all()
    if masked.context.requires_grad:
        (grad,) = torch.autograd.grad(masked.context.sum(), query)
        assert grad.isfinite().all()


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_a_window_with_any_score_is_local_attention(sigma):
    position = "monotonic" if sigma is None else "predictive"
    local = nn.LuongLocalAttention(8, 8, position=position, window=2, score="cosine")
    centre = torch.arange(3.0) if local.predict is None else 5 * torch.sigmoid(local.predict(QUERY)[..., 0])
    weigh = partial(nn.windowed, centre=centre, reach=2, sigma=sigma)

    dense = nn.attend(QUERY, KEY, VALUE, score="cosine", weigh=weigh)

    close(dense.weights, local(QUERY, KEY, VALUE).weights)
    close(dense.context, local(QUERY, KEY, VALUE).context)


def test_luong_takes_any_score():
    def score(q, k):
        return -(q @ k.mT).abs()

    for form in (nn.LuongGlobalAttention, partial(nn.LuongLocalAttention, position="monotonic", window=9)):
        close(form(8, 8, score=score)(QUERY, KEY).weights, torch.softmax(score(QUERY, KEY), -1))


def test_an_empty_source_gives_zeros():
    for weigh in ("softmax", "hardmax", "sparsemax", "smooth"):
        for need_weights in (True, False):
            context = nn.attend(QUERY, KEY[:, :0], weigh=weigh, need_weights=need_weights).context
            assert (context == 0).all()


# Single mechanisms


def test_self_attention_reads_itself():
    module = nn.SelfAttention(8)
    q, k, v = (linear(QUERY) for linear in (module.query, module.key, module.value))

    close(module(QUERY).context, torch.softmax(q @ k.mT / 8**0.5, -1) @ v)


def test_heads_may_have_masks_of_their_own():
    module = nn.MultiHeadAttention(8, 2)
    mask = torch.rand(2, 2, 3, 5) < 0.6

    weights = module(QUERY, KEY, mask=mask).weights

    assert (weights[~mask] == 0).all()
    close(weights.sum(-1), mask.any(-1).float())


def test_heads_may_have_any_size():
    module = nn.MultiHeadAttention(8, 3, key_dim=6, value_dim=5, head_dim=4, head_value_dim=2, out_dim=7)
    result = module(QUERY, torch.randn(2, 5, 6), torch.randn(2, 5, 5))

    assert result.context.shape == (2, 3, 7)
    assert result.weights.shape == (2, 3, 3, 5)
    with pytest.raises(SettingError, match="head_dim"):
        nn.MultiHeadAttention(8, 3)


def test_memory_hops_ask_again():
    module = nn.MemoryAttention(hops=2)
    u = QUERY
    for _ in range(2):
        weights = torch.softmax(u @ KEY.mT, -1)
        context = weights @ VALUE
        u = u + context

    result = module(QUERY, KEY, VALUE)

    close(result.context, context)
    close(result.state, u)
    assert module(QUERY, KEY, VALUE, trace=True).weights.shape == (2, 2, 3, 5)
    with pytest.raises(SettingError, match="size 8; got 6"):
        module(QUERY, KEY, VALUE[..., :6])


def test_luong_joins_what_was_read_with_what_was_asked():
    module = nn.LuongGlobalAttention(8, 8, score="dot")
    result = module(QUERY, KEY, VALUE)

    close(result.context, torch.softmax(QUERY @ KEY.mT, -1) @ VALUE)
    close(result.state, torch.tanh(torch.cat([result.context, QUERY], -1) @ module.attentional.linear.weight.T))


def test_pointers_give_logarithms_for_a_loss():
    module, mask = nn.PointerAttention(8, 8), nn.lengths_mask(torch.tensor([5, 3]), 5)

    logs = module.log_probabilities(QUERY, KEY, mask=mask)

    close(logs.exp(), module(QUERY, KEY, mask=mask).weights)
    close(module.log_probabilities(QUERY, module.precompute(KEY, mask=mask), mask=mask), logs)
    assert logs.isfinite().all()


def test_nested_attention_spells_the_word_attended_to_most():
    module = nn.NestedAttention(8, 8, char_dim=4, char_query_dim=6)
    words = module(QUERY, KEY)
    characters, states = torch.randn(2, 5, 7, 4), torch.randn(2, 3, 2, 6)
    mask = torch.arange(7) < torch.randint(1, 8, (2, 5, 1))

    spelt = module.spell(states, words.weights, characters, mask=mask)

    assert spelt.context.shape == (2, 3, 2, 4)
    for b in range(2):
        for t in range(3):
            k = int(words.weights[b, t].argmax())
            alone = module.characters(states[b, t], characters[b, k], mask=mask[b, k])
            close(spelt.context[b, t], alone.context)


def test_hierarchical_shares_multiply():
    module = nn.HierarchicalAttention(8)
    result = module(torch.randn(2, 4, 6, 8), mask=torch.rand(2, 4, 6) < 0.6)

    close(result.weights.sum((-1, -2)), torch.ones(2))
    close(result.weights, result.words.weights * result.sentences.weights[..., None])


def test_dual_gates_are_their_formulas():
    words, module = torch.randn(6, 8), nn.DualAttention(8, 6, window=3, local_filters=2, filters=2)
    local, whole = module.local.convolve, module.whole.convolve
    padded = torch.nn.functional.pad(words, (0, 0, 1, 1))
    result = module(words)

    for i in range(6):
        score = (padded[i : i + 3].T * local.weight[0]).sum() + local.bias[0]
        close(result.local.weights[i], torch.sigmoid(score))
    score = (words.T * whole.weight[0]).sum() + whole.bias[0]
    close(result.whole.weights, torch.sigmoid(score).expand(6))
    phrase = module.phrases[0]
    gated = torch.nn.functional.pad(result.whole.context, (0, 0, 0, 1))
    answers = [torch.tanh((gated[i : i + 2].T * phrase.weight[0]).sum() + phrase.bias[0]) for i in range(6)]
    close(result.context[2], torch.stack(answers).max())
    with pytest.raises(SettingError, match="longest document"):
        module(torch.randn(7, 8))


def test_a_global_gate_per_word_looks_from_each_word():
    words, module = torch.randn(6, 8), nn.GlobalGate(8, 6, per_word=True)
    filters = module.convolve.weight[0]

    gates = module(words).weights

    for i in range(6):
        score = sum(filters[:, 5 + j - i] @ words[j] for j in range(6)) + module.convolve.bias[0]
        close(gates[i], torch.sigmoid(score))


def test_collaborative_filtering_is_its_formulas():
    module = nn.AttentiveCollaborativeFiltering(4, 6, 5)
    user, items, auxiliary, parts = torch.randn(4), torch.randn(3, 6), torch.randn(3, 6), torch.randn(3, 2, 5)
    result = module(user, items, auxiliary, parts)
    lower, upper = module.components.score, module.items.score

    contents = []
    for item in range(3):
        scores = [lower.out(torch.relu(lower.inputs[0](x) + lower.inputs[1](user)))[0] for x in parts[item]]
        beta = torch.softmax(torch.stack(scores), 0)
        contents.append(beta @ parts[item])
    scores = [
        upper.out(torch.relu(upper.inputs[0](torch.cat([v, p, x])) + upper.inputs[1](user)))[0]
        for v, p, x in zip(items, auxiliary, contents, strict=True)
    ]
    alpha = torch.softmax(torch.stack(scores), 0)

    close(result.weights, alpha)
    close(result.context, alpha @ auxiliary)


def test_a_code_is_a_mixture_of_its_ancestors():
    ancestors = nn.ancestors_of({0: [], 1: [0], 2: [1], 3: [1, 0]})
    assert ancestors.tolist() == [[0, -1, -1], [1, 0, -1], [2, 1, 0], [3, 1, 0]]
    module = nn.GraphAttention(ancestors, 8)
    e, score = module.embedding.weight, module.score

    scores = torch.stack(
        [
            score.v @ torch.tanh(score.query.weight @ e[2] + score.query.bias + score.key.weight @ e[j])
            for j in (2, 1, 0)
        ]
    )
    close(module(torch.tensor(2)).context, torch.softmax(scores, 0) @ e[[2, 1, 0]])
    close(module().context[2], module(torch.tensor(2)).context)
    with pytest.raises(SettingError, match="no cycles"):
        nn.ancestors_of([[1], [2], [0]])


def test_hardmax_points_move_toward_those_they_like_best():
    points = torch.randn(6, 2)
    points[4] = points[1]  # equal points tie
    module = nn.HardmaxAttention(2, alpha=0.5)
    moved = points.clone()
    for i in range(6):
        likes = points.double() @ points[i].double()
        best = [j for j in range(6) if likes[j] >= likes.max() - 1e-12]
        moved[i] = (points[i] + 0.5 * points[best].mean(0)) / 1.5

    close(module(points).context, moved)


def test_sharpening_window_and_memory_of_location_sensitive_attention():
    module = nn.LocationSensitiveAttention(8, 8, width=5, sharpening=2.0, window=1, remember="cumulative")
    result = module(QUERY, KEY)

    close(result.state, torch.full((2, 5), 0.2) + result.weights.sum(-2))
    assert ((result.weights[:, 0] > 0).nonzero()[:, 1] - 2).abs().max() <= 1
    for options in ({"width": 4}, {"mode": "middle"}, {"remember": "all"}):
        with pytest.raises(SettingError):
            nn.LocationSensitiveAttention(8, 8, **options)


def test_keeping_the_highest_scores_weighs_them_by_softmax():
    module = nn.LocationSensitiveAttention(8, 8, mode="content", keep=2)
    result = module(QUERY, KEY)

    best = torch.zeros(2, 3, 5, dtype=torch.bool).scatter(-1, result.scores.topk(2).indices, True)
    close(result.weights, torch.softmax(result.scores.masked_fill(~best, -torch.inf), -1))


def test_averaging_similar_points_by_blocks():
    points = torch.randn(50, 4)
    labels = torch.randn(50, 2)
    distance = torch.cdist(points, points) ** 2

    close(nn.average_similar(points), torch.softmax(-distance, -1) @ points)
    nearest = nn.average_similar(points, labels, weigh=lambda s, mask: nn.top_k(s, mask, k=3), block=7)
    for i in range(50):
        close(nearest[i], labels[distance[i].topk(3, largest=False).indices].mean(0))
