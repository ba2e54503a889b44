"""What must hold for every mechanism and every weighing, whatever is listed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product

import pytest
import torch

from regard.errors import SettingError
from regard.nn import CATALOGUE, causal_mask
from tests.nn.cases import (
    DIM,
    FLAT,
    KEYED,
    NAMES,
    QUERIED,
    SUMS_TO_ONE,
    WEIGHINGS,
    build,
    call,
    empty_rows,
    inputs,
    kin,
    loss,
    masked,
)

PAIRS = [(name, weigh) for name, weigh in product(NAMES, WEIGHINGS) if weigh == "softmax" or CATALOGUE[name].weighable]
every = pytest.mark.parametrize(("name", "weigh"), PAIRS)
each = pytest.mark.parametrize("name", NAMES)
HALF = (torch.float16, torch.bfloat16)


def close(a, b, tolerance=1e-9):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


# 1. One rule for masks


@each
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32])
def test_a_mask_that_is_not_boolean_is_refused_with_advice(name, dtype):
    given = masked(inputs())
    given = replace(given, mask=given.mask.to(dtype))

    with pytest.raises(TypeError, match=r"boolean tensor, True = may attend.*bias="):
        call(name, build(name), given)


@pytest.mark.parametrize("name", QUERIED)
def test_a_mask_may_have_any_number_of_axes(name):
    module, given = build(name), inputs()
    everything = call(name, module, given).context

    for shape in ((), (6,), (1, 1), (1, 1, 1)):
        for need_weights in (True, False):
            full, none = (
                call(name, module, replace(given, mask=torch.full(shape, fill)), need_weights=need_weights)
                for fill in (True, False)
            )
            close(full.context, everything)
            assert (none.context == 0).all()


@pytest.mark.parametrize("name", QUERIED)
def test_a_source_is_prepared_under_the_same_rule(name):
    module, given = build(name), inputs()

    with pytest.raises(TypeError, match="boolean tensor, True = may attend"):
        module.precompute(given.key, mask=torch.ones(3, 1, 6))
    with pytest.raises(SettingError, match="S = 6"):
        module.precompute(given.key, mask=torch.ones(3, 1, 4, dtype=torch.bool))


@pytest.mark.parametrize("name", QUERIED)
def test_a_bias_that_is_no_number_to_add_is_refused_with_advice(name):
    with pytest.raises(SettingError, match=r"bias.*Masks go to `mask=`"):
        call(name, build(name), inputs(), bias=torch.ones(3, 4, 6, dtype=torch.bool))


@every
def test_a_masked_slot_gets_exactly_nothing(name, weigh):
    given = masked(inputs())
    module = build(name, weigh)

    weights = call(name, module, given).weights

    if CATALOGUE[name].form == "codes":
        assert (weights[~kin(given.mask, module)] == 0).all()
        return
    if CATALOGUE[name].form == "items":
        return  # the weights are those of items; components below
    rows = given.mask[..., 0, :] if CATALOGUE[name].form == "pool" else given.mask
    if weights.ndim > rows.ndim:  # heads
        rows = rows.unsqueeze(-3)
    assert (weights.masked_select(~rows) == 0).all()


@pytest.mark.parametrize(
    ("name", "weigh"),
    [
        (name, weigh)
        for name, weigh in PAIRS
        if weigh in SUMS_TO_ONE and CATALOGUE[name].weighable and not name.startswith("luong_local")
    ],
)
def test_weights_sum_to_one_where_the_weighing_says_so(name, weigh):
    given = masked(inputs(), empty=False)

    outcome = call(name, build(name, weigh), given)

    mass = outcome.weights.sum((-1, -2)) if CATALOGUE[name].form == "documents" else outcome.weights.sum(-1)
    close(mass, torch.ones_like(mass))


# 2. Nothing to attend to


@every
def test_a_row_with_nothing_to_attend_to_is_zero_and_so_are_its_gradients(name, weigh):
    given = masked(inputs())
    given = replace(given, mask=given.mask.clone())
    given.mask[0] = False  # a whole batch of empty rows
    leaves = [x.requires_grad_() for x in given.tensors()]
    module = build(name, weigh)

    outcome = call(name, module, given)
    nothing = outcome.context[empty_rows(name, given)]
    grads = torch.autograd.grad(
        loss(outcome), [*leaves, *(p for p in module.parameters() if p.requires_grad)], allow_unused=True
    )

    assert nothing.numel()
    assert (nothing == 0).all()
    assert all(grad is None or grad.isfinite().all() for grad in grads)
    assert all(grad is None or (grad[0] == 0).all() for grad in grads[1:3])
    assert all(x.isfinite().all() for x in (outcome.context, outcome.weights))


@every
def test_a_batch_of_empty_rows_gives_no_gradient_to_any_parameter(name, weigh):
    given = masked(inputs())
    given = replace(given, mask=torch.zeros_like(given.mask))
    module = build(name, weigh)
    parameters = list(module.parameters())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the detector warns that it is slow
        detector = torch.autograd.detect_anomaly(check_nan=True)
    with detector:
        outcome = call(name, module, given)
        grads = (
            torch.autograd.grad(loss(outcome), parameters, allow_unused=True) if outcome.context.requires_grad else []
        )

    assert (outcome.context == 0).all()
    assert (outcome.weights == 0).all()
    assert all(grad is None or (grad == 0).all() for grad in grads)


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("garbage", [float("nan"), float("inf")])
def test_nothing_in_the_padding_gets_out_not_even_nan(name, garbage):
    given = inputs()
    given = replace(given, mask=(torch.arange(6) < 4).expand(3, 4, 6))
    module = build(name)
    clean = call(name, module, given)
    dirty = replace(given, key=given.key.clone(), value=given.value.clone())
    dirty.key[:, 4:] = garbage
    dirty.value[:, 4:] = garbage

    outcome = call(name, module, dirty)
    grads = []
    if outcome.context.requires_grad:
        grads = torch.autograd.grad(loss(outcome), list(module.parameters()), allow_unused=True)

    close(outcome.context, clean.context)
    assert all(grad is None or grad.isfinite().all() for grad in grads)


# 3. Padding and order


@pytest.mark.parametrize(("name", "weigh"), [pair for pair in PAIRS if pair[0] in KEYED])
def test_appending_padding_changes_nothing(name, weigh):
    given = masked(inputs(), empty=False)
    more = inputs(seed=9, size=3)
    longer = replace(
        given,
        key=torch.cat([given.key, 50 * more.key], -2),
        value=torch.cat([given.value, 50 * more.value], -2),
        mask=torch.cat([given.mask, torch.zeros(3, 4, 3, dtype=torch.bool)], -1),
    )
    module = build(name, weigh)

    short, long = call(name, module, given), call(name, module, longer)

    kept = CATALOGUE[name].combine == "gate"  # one context for each source
    close(long.context[..., :6, :] if kept else long.context, short.context)
    if CATALOGUE[name].form != "items":
        close(long.weights[..., :6], short.weights)
        assert (long.weights[..., 6:] == 0).all()


@pytest.mark.parametrize(
    ("name", "weigh"), [pair for pair in PAIRS if pair[0] in KEYED and not CATALOGUE[pair[0]].positional]
)
def test_the_order_of_the_sources_does_not_matter_without_positions(name, weigh):
    given = masked(inputs())
    order = torch.randperm(6, generator=torch.Generator().manual_seed(2))
    other = replace(given, key=given.key[:, order], value=given.value[:, order], mask=given.mask[..., order])
    module = build(name, weigh)

    straight, shuffled = call(name, module, given), call(name, module, other)

    close(shuffled.context, straight.context)
    if CATALOGUE[name].form != "items":
        close(shuffled.weights, straight.weights[..., order])


# 4. Asking for weights


@every
def test_asking_for_weights_changes_neither_output_nor_gradients(name, weigh):
    module = build(name, weigh)

    def run(need_weights):
        given = masked(inputs())
        leaves = [x.requires_grad_() for x in given.tensors()] + list(module.parameters())
        outcome = call(name, module, given, need_weights=need_weights)
        if not outcome.context.requires_grad:
            return outcome, []
        return outcome, torch.autograd.grad(loss(outcome), leaves, allow_unused=True, materialize_grads=True)

    (asked, asked_grads), (not_asked, grads) = run(True), run(False)

    assert asked.weights is not None
    assert not_asked.weights is None
    close(not_asked.context, asked.context)
    for a, b in zip(asked_grads, grads, strict=True):
        close(b, a)


@each
def test_training_differs_by_dropout_alone(name):
    module, given = build(name), masked(inputs())

    close(call(name, module.train(), given).context, call(name, module.eval(), given).context)
    if hasattr(module, "dropout"):
        module.dropout = 0.5
        for part in module.modules():
            if hasattr(part, "dropout"):
                part.dropout = 0.5
        outcomes = []
        for need_weights in (True, False):
            torch.manual_seed(3)
            outcomes.append(call(name, module.train(), given, need_weights=need_weights).context)
        close(*outcomes)
        assert not torch.allclose(outcomes[0], call(name, module.eval(), given).context)


# 5. Gradients and halves


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_the_slopes(name):
    module = build(name, seed=5)
    given = masked(inputs(lead=(2,), steps=2, size=4), seed=4)
    leaves = [x.requires_grad_() for x in given.tensors()]
    parameters = list(module.parameters())

    def context(*_):
        return call(name, module, given, need_weights=False).context

    tensors = [*leaves, *parameters] if CATALOGUE[name].form != "codes" else parameters
    assert torch.autograd.gradcheck(context, tensors, fast_mode=True)


@pytest.mark.parametrize("weigh", [w for w in WEIGHINGS if w not in FLAT])
def test_gradients_of_every_weighing_are_the_slopes(weigh):
    module = build("general", weigh, seed=5)
    given = masked(inputs(lead=(2,), steps=2, size=4), seed=4)
    leaves = [x.requires_grad_() for x in given.tensors()]

    assert torch.autograd.gradcheck(lambda *_: call("general", module, given).context, leaves)
    assert torch.autograd.gradcheck(lambda *_: call("general", module, given).weights, leaves[:2])


@every
@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_runs_and_stays_finite(name, weigh, dtype):
    module = build(name, weigh, dtype)
    given = masked(inputs(dtype=dtype))
    wide = 1 if weigh == "literal" else 20  # shares of any sign have no bound
    given = replace(given, query=given.query * wide, key=given.key * wide)
    leaves = [x.detach().requires_grad_() for x in given.tensors()]
    given = replace(given, query=leaves[0], key=leaves[1], value=leaves[2])

    for need_weights in (True, False):
        outcome = call(name, module, given, need_weights=need_weights)
        assert outcome.context.dtype == dtype
        assert outcome.context.isfinite().all()
        if outcome.weights is not None:
            assert outcome.weights.dtype == dtype
            assert outcome.weights.isfinite().all()
        if outcome.context.requires_grad and weigh != "literal":
            grads = torch.autograd.grad(outcome.context.float().sum(), leaves, allow_unused=True)
            assert all(grad is None or grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize(("name", "weigh"), [pair for pair in PAIRS if pair[1] != "literal"])  # which has no bound
@pytest.mark.parametrize("dtype", [torch.float32, *HALF])
def test_huge_scores_stay_finite(name, weigh, dtype):
    size = 1e4 if dtype == torch.float32 else 100.0
    given = masked(inputs(dtype=dtype))
    leaves = [x.detach().requires_grad_() for x in (size * given.query, size * given.key, given.value)]
    given = replace(given, query=leaves[0], key=leaves[1], value=leaves[2])
    module = build(name, weigh, dtype)

    for need_weights in (True, False):
        outcome = call(name, module, given, need_weights=need_weights)
        assert outcome.context.isfinite().all()
        assert (outcome.context[empty_rows(name, given)] == 0).all()
        assert outcome.weights is None or outcome.weights.isfinite().all()
        if outcome.context.requires_grad:
            wanted = [*leaves, *module.parameters()]
            grads = torch.autograd.grad(outcome.context.float().sum(), wanted, allow_unused=True)
            assert all(grad is None or grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("need_weights", [True, False])
def test_autocast_runs_and_stays_near(name, need_weights):
    module, given = build(name, dtype=torch.float32), masked(inputs(dtype=torch.float32))
    leaves = [x.requires_grad_() for x in given.tensors()]

    with torch.autocast("cpu", torch.bfloat16):
        outcome = call(name, module, given, need_weights=need_weights)
    grads = torch.autograd.grad(outcome.context.float().sum(), [*leaves, *module.parameters()], allow_unused=True)

    assert all(grad is None or grad.isfinite().all() for grad in grads)
    if name != "hardmax":  # whose choice may flip
        close(outcome.context.float(), call(name, module, given).context, 0.1)


# 6. Shapes


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 1, 3)])
def test_any_number_of_leading_axes(name, lead):
    module = build(name)
    given = masked(inputs(lead=lead), empty=False)

    whole = call(name, module, given, need_weights=False).context
    asked = call(name, module, given)

    close(asked.context, whole)
    if len(lead) > 1:
        flat = replace(
            given,
            query=given.query.flatten(0, -3),
            key=given.key.flatten(0, -3),
            value=given.value.flatten(0, -3),
            mask=given.mask.flatten(0, -3),
        )
        close(asked.context.flatten(0, len(lead) - 1), call(name, module, flat).context)


@pytest.mark.parametrize("name", QUERIED)
@pytest.mark.parametrize(("ours", "theirs"), [((2, 1), (1, 3)), ((2, 3), (3,)), ((), (3,)), ((3,), ())])
def test_leading_axes_broadcast(name, ours, theirs):
    module, asks, source = build(name), inputs(lead=ours), inputs(lead=theirs, seed=5)
    lead = torch.broadcast_shapes(ours, theirs)
    mask = torch.rand(*lead, 4, 6, generator=torch.Generator().manual_seed(3)) < 0.6
    given = [asks.query, source.key, source.value]
    wide = [x.expand(*lead, *x.shape[-2:]) for x in given]

    for need_weights in (True, False):
        whole = module(*wide, mask=mask, need_weights=need_weights)
        broadcast = module(*given, mask=mask, need_weights=need_weights)
        close(broadcast.context, whole.context)
        if need_weights:
            close(broadcast.weights, whole.weights)


@pytest.mark.parametrize("name", QUERIED)
@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
@pytest.mark.parametrize(("steps", "size"), [(2, 5), (5, 2), (1, 4), (4, 1)])
def test_every_alignment_of_causal_is_its_mask(name, align, steps, size):
    module, given = build(name), inputs(steps=steps, size=size)
    ahead = causal_mask(steps, size, align)
    by_mask = call(name, module, replace(given, mask=ahead)).context

    for need_weights in (True, False):
        context = call(name, module, given, causal=align, need_weights=need_weights).context
        close(context, by_mask)
        assert (context[:, ~ahead.any(-1)] == 0).all()


@pytest.mark.parametrize("name", QUERIED)
def test_one_query_and_more_queries_than_sources(name):
    module = build(name)
    for steps, size in ((1, 6), (9, 3), (1, 1)):
        given = inputs(steps=steps, size=size)
        outcome = call(name, module, given)
        assert outcome.context.shape == (3, steps, DIM)
        assert outcome.weights.shape[-2:] == (steps, size)


@pytest.mark.parametrize(("name", "weigh"), [pair for pair in PAIRS if pair[0] in KEYED])
@pytest.mark.parametrize("need_weights", [True, False])
def test_no_sources_give_zeros(name, weigh, need_weights):
    given = inputs(size=0)

    context = call(name, build(name, weigh), given, need_weights=need_weights).context

    assert (context == 0).all()


@pytest.mark.parametrize("name", QUERIED)
@pytest.mark.parametrize("need_weights", [True, False])
def test_no_queries_give_nothing(name, need_weights):
    outcome = call(name, build(name), inputs(steps=0), need_weights=need_weights)

    assert outcome.context.shape == (3, 0, DIM)
    if need_weights:
        assert outcome.weights.shape[-2:] == (0, 6)
    else:
        assert outcome.weights is None


@pytest.mark.parametrize("name", QUERIED)
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_source_prepared_once_serves_many_queries(name, need_weights):
    module, given = build(name), inputs()
    mask = (torch.arange(6) < torch.tensor([6, 4, 0])[:, None])[:, None].expand(3, 4, 6)
    memory = module.precompute(given.key, given.value, mask=mask)

    prepared = module(given.query, memory, mask=mask, need_weights=need_weights)
    plain = module(given.query, given.key, given.value, mask=mask, need_weights=need_weights)

    close(prepared.context, plain.context)
    if need_weights:
        close(prepared.weights, plain.weights)


@pytest.mark.parametrize("name", QUERIED)
def test_a_mask_without_an_axis_of_queries_is_refused_with_advice(name):
    mask = torch.ones(3, 6, dtype=torch.bool)

    with pytest.raises(SettingError, match=r"T = 4.*mask\[:, None\]"):
        call(name, build(name), replace(inputs(), mask=mask))


@pytest.mark.parametrize("name", QUERIED)
def test_causal_says_where_queries_and_sources_meet(name):
    module, square = build(name), inputs(steps=6)

    here = call(name, module, square, causal=True).weights
    assert (here.masked_select(torch.ones(6, 6, dtype=torch.bool).triu(1)) == 0).all()
    with pytest.raises(SettingError, match=r"top-left.*bottom-right"):
        call(name, module, inputs(), causal=True)
    late = call(name, module, inputs(), causal="bottom-right").weights
    assert (late.masked_select(torch.ones(4, 6, dtype=torch.bool).triu(3)) == 0).all()


@pytest.mark.parametrize("name", QUERIED)
def test_a_bias_of_minus_infinity_is_a_mask(name):
    module, given = build(name), masked(inputs())
    bias = torch.zeros(given.mask.shape, dtype=torch.float64).masked_fill(~given.mask, float("-inf"))

    by_mask = call(name, module, given)
    for need_weights in (True, False):
        by_bias = call(name, module, replace(given, mask=None), bias=bias, need_weights=need_weights)
        close(by_bias.context, by_mask.context)


# 7. State


@each
def test_modules_remember_nothing(name):
    module = build(name)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    attributes = set(vars(module))
    first, second = masked(inputs(seed=1)), masked(inputs(seed=2, size=5))

    one = call(name, module, first).context
    call(name, module, second)
    again = call(name, module, first).context

    close(again, one)
    assert set(vars(module)) == attributes
    for key, value in module.state_dict().items():
        close(value, before[key])


@pytest.mark.parametrize("name", [name for name in NAMES if CATALOGUE[name].stateful])
def test_a_step_at_a_time_is_the_same_as_all_at_once_even_for_interleaved_batches(name):
    module = build(name)
    batches = [masked(inputs(seed=seed, size=size), empty=False) for seed, size in ((1, 6), (2, 5))]
    batches = [replace(given, mask=given.mask[:, :1].expand(given.mask.shape)) for given in batches]
    whole = [call(name, module, given) for given in batches]

    states, steps = [None, None], [[], []]
    for step in range(4):
        for i, given in enumerate(batches):
            now = replace(given, query=given.query[:, step : step + 1], mask=given.mask[:, step : step + 1])
            outcome = call(name, module, now, state=states[i])
            states[i] = outcome.state
            steps[i].append(outcome.context)

    for i in range(2):
        close(torch.cat(steps[i], -2), whole[i].context)
        close(states[i], whole[i].state)
