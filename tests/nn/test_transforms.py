"""Every mechanism under PyTorch's own transformations."""

from __future__ import annotations

import copy
import io
import warnings

import pytest
import torch

from regard.nn import CATALOGUE
from tests.nn.cases import KEYED, NAMES, QUERIED, build, call, inputs, masked

# Each of these tests starts a tracer; a mechanism with loops over steps is traced step by step.


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's compilers warn of their own future
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("need_weights", [True, False])
def test_compiles_in_one_piece(name, need_weights):
    module, given = build(name).eval(), masked(inputs(lead=(2,), steps=2, size=5))
    run = torch.compile(
        lambda given: call(name, module, given, need_weights=need_weights).context,
        backend="eager",
        fullgraph=True,
    )

    torch.testing.assert_close(run(given), call(name, module, given).context)


@pytest.mark.parametrize("name", ["general", "additive", "luong_local_p", "location_sensitive", "multi_head"])
def test_compiles_with_gradients(name):
    module, given = build(name).eval(), masked(inputs(lead=(2,), steps=2, size=5))
    run = torch.compile(lambda given: call(name, module, given).context, backend="aot_eager", fullgraph=True)
    parameters = list(module.parameters())

    ours = torch.autograd.grad(run(given).sum(), parameters, allow_unused=True)
    plain = torch.autograd.grad(call(name, module, given).context.sum(), parameters, allow_unused=True)

    torch.testing.assert_close([g for g in ours if g is not None], [g for g in plain if g is not None])


@pytest.mark.parametrize("name", QUERIED)
def test_exports(name):
    module, given = build(name).eval(), masked(inputs(lead=(2,), steps=2, size=5))

    program = torch.export.export(module, (given.query, given.key, given.value), {"mask": given.mask})
    result = program.module()(given.query, given.key, given.value, mask=given.mask)

    torch.testing.assert_close(result.context, call(name, module, given).context)
    torch.testing.assert_close(result.weights, call(name, module, given).weights)


@pytest.mark.parametrize("name", ["pool", "dual_local", "dual_global", "dual", "hierarchical"])
def test_exports_without_a_query(name):
    module = build(name).eval()
    key = inputs(lead=(2, 3) if name == "hierarchical" else (2,)).key
    mask = torch.rand(key.shape[:-1]) < 0.7

    program = torch.export.export(module, (key,), {"mask": mask})

    torch.testing.assert_close(program.module()(key, mask=mask).context, module(key, mask=mask).context)


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("need_weights", [True, False])
def test_vmap_is_a_batch(name, need_weights):
    module, given = build(name).eval(), masked(inputs())

    def one(query, key, value, mask):
        return call(name, module, type(given)(query, key, value, mask), need_weights=need_weights).raw

    mapped = torch.vmap(one)(*given.tensors(), given.mask)

    torch.testing.assert_close(mapped.context, call(name, module, given).context)
    if need_weights:
        torch.testing.assert_close(mapped.weights, call(name, module, given).weights)


@pytest.mark.parametrize("name", [name for name in QUERIED if name != "hardmax"])
def test_gradients_per_example_by_vmap(name):
    module, given = build(name).eval(), inputs(steps=2, size=5)
    parameters = {key: value.detach() for key, value in module.named_parameters()}

    def total(parameters, query, key, value):
        result = torch.func.functional_call(module, parameters, (query, key, value))
        return result.context.square().sum()

    each = torch.vmap(torch.func.grad(total, argnums=2), in_dims=(None, 0, 0, 0))(parameters, *given.tensors())

    for i in range(3):
        alone = torch.func.grad(total, argnums=2)(parameters, *(x[i] for x in given.tensors()))
        torch.testing.assert_close(each[i], alone)


@pytest.mark.parametrize("name", NAMES)
def test_weights_travel_in_a_state_dict(name):
    one, other, given = build(name, seed=1), build(name, seed=2), masked(inputs())
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)

    other.load_state_dict(torch.load(file, weights_only=True))

    torch.testing.assert_close(call(name, other, given).context, call(name, one, given).context)
    torch.testing.assert_close(call(name, copy.deepcopy(one), given).context, call(name, one, given).context)


def test_every_form_is_covered():
    assert {CATALOGUE[name].form for name in NAMES} == {"query", "pool", "documents", "items", "codes"}


@pytest.mark.parametrize("name", ["additive", "luong_local_p", "general", "cosine", "squared_distance"])
def test_differentiates_twice(name):
    module, given = build(name), inputs(lead=(1,), steps=2, size=3)
    leaves = [x.requires_grad_() for x in given.tensors()]

    assert torch.autograd.gradgradcheck(lambda *_: call(name, module, given).context, leaves)
