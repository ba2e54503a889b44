"""The same numbers as ferret and Captum, recorded by ``golden/make_huggingface.py``.

Where they differ, and why. ferret takes sub-words out, ``regard`` words: the texts here have one for each. ferret's
AOPC is a mean over 10, 20, ..., 100% of the sub-words, rounded down, without those where nothing changes; ours, as
ERASER's, over 1, 5, 10, 20 and 50% of the words, rounded up. At the same shares the probabilities are the same.
ferret's tau compares signed numbers, and so is it compared here; the audit's is of attention with the size of the
effect.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from tokenizers import Tokenizer  # noqa: E402 - they need what was looked for

from regard.audit import HuggingFaceSource, kernels  # noqa: E402
from regard.audit.source import SHARES  # noqa: E402
from regard.audit.view import View  # noqa: E402

GOLDEN = dict(np.load(Path(__file__).parents[1] / "golden" / "huggingface.npz"))
# As in make_huggingface.py: ten words of one sub-word each.
TEXTS = (
    "a great film and a great story from start to",
    "too long and too loud too much of the plot",
    "the plot is dull and the film is much too",
)
TENTHS = np.searchsorted(SHARES, [tenth / 10 for tenth in range(1, 11)])


def source(removal):
    settings = json.loads(GOLDEN["config"].tobytes())
    network = transformers.BertForSequenceClassification(transformers.BertConfig.from_dict(settings))
    weights = {
        name.removeprefix("weights/"): torch.tensor(w) for name, w in GOLDEN.items() if name.startswith("weights/")
    }
    network.load_state_dict(weights)
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(GOLDEN["tokenizer"].tobytes().decode()),
        mask_token="[MASK]",
        cls_token="[CLS]",
        pad_token="[PAD]",
    )
    return HuggingFaceSource(network, words, removal=removal)


def views(removal):
    for i, text in enumerate(TEXTS):
        yield (
            View(next(iter(source(removal).batches([text]))), 0),
            {name.split("/")[1]: value for name, value in GOLDEN.items() if name.startswith(f"{i}/")},
        )


def test_leaving_out_is_ferrets():
    for view, golden in views("delete"):
        np.testing.assert_allclose(view.batch.leave_one_out()[0], golden["leave one out"], atol=1e-6)


def test_tau_with_leaving_out_is_ferrets():
    for view, golden in views("delete"):
        tau = view.tau(golden["scores"], view.batch.leave_one_out()[0])

        np.testing.assert_allclose(tau, golden["tau"], atol=1e-6)


@pytest.mark.parametrize(("measure", "which"), [("comprehensiveness", "removed"), ("sufficiency", "kept")])
def test_aopc_is_ferrets_at_its_own_shares(measure, which):
    for view, golden in views("delete"):
        erasure = view.batch.erase(view.ordered(golden["scores"]))

        aopc = (view.confidence[:, None] - getattr(erasure, which)[:, TENTHS]).mean()

        assert aopc == pytest.approx(float(golden[measure]), abs=1e-6)


def test_masking_is_captums_feature_ablation():
    for view, golden in views("mask"):
        np.testing.assert_allclose(view.batch.leave_one_out()[0], golden["masked"], atol=1e-6)


def test_infidelity_is_captums_where_the_same_sets_are_drawn():
    golden = {name.split("/")[1]: value for name, value in GOLDEN.items() if name.startswith("infidelity/")}
    weights = np.exp(golden["attention"])
    score = np.array([weights @ golden["said"] / weights.sum()])

    # Of the probability of the second class, as Captum was asked.
    found = kernels.infidelity(
        golden["attention"], golden["said"][:, None], golden["bias"], score, 1, golden["phi"][:, None], 100, 3
    )

    assert found[0] == pytest.approx(float(golden["value"]), abs=1e-6)
