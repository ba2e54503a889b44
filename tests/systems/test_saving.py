"""Systems in files: what is loaded is what was saved."""

import pytest
import torch

from regard.errors import ModelFileError, SettingError
from regard.models import load_model, store
from regard.systems import EncoderDecoder, Recogniser, Transformer, VisionTransformer
from regard.systems.vision import Convolutional, Dense

IDS, LENGTHS, SAID = torch.tensor([[3, 4, 5], [5, 3, 0]]), torch.tensor([3, 2]), torch.tensor([[1, 4], [1, 3]])
SYSTEMS = {
    "encoder-decoder": (lambda: EncoderDecoder(6, 7, hidden=8, attention="bahdanau"), (IDS, LENGTHS, SAID)),
    "luong": (lambda: EncoderDecoder(6, 7, hidden=8, input_feeding=True, cell="lstm"), (IDS, LENGTHS, SAID)),
    "transformer": (lambda: Transformer(6, 7, dim=8, heads=2), (IDS, LENGTHS, SAID)),
    "recogniser": (lambda: Recogniser(4, 7, hidden=8, width=3), (torch.ones(2, 6, 4), torch.tensor([6, 3]), SAID)),
    "vision": (lambda: VisionTransformer(dim=8), (torch.ones(2, 64),)),
    "convolutional": (lambda: Convolutional(filters=3), (torch.ones(2, 64),)),
    "dense": (lambda: Dense(hidden=5), (torch.ones(2, 64),)),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_loaded_computes_what_was_saved(name, tmp_path):
    make, inputs = SYSTEMS[name]
    model = make().eval()
    model.about = {"symbols": ["a", "b"]}
    model.save(tmp_path / "one.regard")

    before = torch.get_rng_state()
    again = type(model).load(tmp_path / "one.regard")

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(again(*inputs), model(*inputs))
    assert again.settings == model.settings
    assert again.about == {"symbols": ["a", "b"]}
    assert not again.training
    again.save(tmp_path / "two.regard")
    assert (tmp_path / "one.regard").read_bytes() == (tmp_path / "two.regard").read_bytes()


def test_a_loaded_system_can_be_trained_on(tmp_path):
    make, inputs = SYSTEMS["luong"]
    make().save(tmp_path / "model.regard")
    model = EncoderDecoder.load(tmp_path / "model.regard").train()

    model(*inputs).square().mean().backward()

    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_type_of_numbers_is_kept(tmp_path):
    make, inputs = SYSTEMS["encoder-decoder"]
    model = make().double().eval()
    model.save(tmp_path / "model.regard")

    again = EncoderDecoder.load(tmp_path / "model.regard")

    assert again(*inputs).dtype == torch.float64
    assert torch.equal(again(*inputs), model(*inputs))
    with pytest.raises(SettingError, match=r"bfloat16: save `model.float\(\)`"):
        make().bfloat16().save(tmp_path / "half.regard")


def test_a_file_of_another_system_is_refused(tmp_path):
    make, _ = SYSTEMS["dense"]
    make().save(tmp_path / "dense.regard")

    with pytest.raises(ModelFileError, match="must hold a Transformer; it holds a Dense: name another file"):
        Transformer.load(tmp_path / "dense.regard")


def test_parts_that_do_not_fit_together_are_refused(tmp_path):
    model = SYSTEMS["dense"][0]()
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    wrong = [
        ({"settings": {**model.settings, "hidden": 6}, "about": {}}, tensors),
        ({"settings": {**model.settings, "wings": 2}, "about": {}}, tensors),
        ({"about": {}}, tensors),
        ({"settings": model.settings, "about": {}}, {}),
    ]
    for about, arrays in wrong:
        store.write(tmp_path / "dense.regard", "Dense", about, arrays)
        with pytest.raises(ModelFileError, match="do not fit together"):
            Dense.load(tmp_path / "dense.regard")


def test_a_system_is_not_taken_for_a_classifier_of_texts(tmp_path):
    Dense(hidden=5).save(tmp_path / "dense.regard")
    with pytest.raises(ModelFileError, match=r"it holds a Dense. If that is one of `regard systems`, read it with"):
        load_model(tmp_path / "dense.regard")
