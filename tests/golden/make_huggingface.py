"""Record what ferret and Captum say of a small transformer, into huggingface.npz beside this file.

ferret-xai 0.4.2 pins old versions of fifteen packages, so it is unpacked without them, and only its measures are
imported, which need none of them:

    pip install --no-deps --target FOLDER ferret-xai==0.4.2
    pip install captum
    python tests/golden/make_huggingface.py FOLDER
"""

import json
import sys
import types
from pathlib import Path

import numpy as np
import torch
from captum.attr import FeatureAblation
from captum.metrics import infidelity

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.audit.transformers_cases import model, tokenizer  # noqa: E402

from regard.audit.kernels import mix  # noqa: E402

# Every word is one sub-word, and there are ten, so that shares of the words are whole numbers of them.
TEXTS = (
    "a great film and a great story from start to",
    "too long and too loud too much of the plot",
    "the plot is dull and the film is much too",
)
MASKS, UNITS = 100, 7


def ferret(path):
    """Its measures of faithfulness, without what the package itself imports."""
    package = types.ModuleType("ferret")
    package.__path__ = [str(path / "ferret")]
    sys.modules["ferret"] = package
    from ferret.evaluators import faithfulness_measures
    from ferret.explainers.explanation import Explanation

    return faithfulness_measures, Explanation


def masks(seed, n):
    """The sets that the audit draws for a seed: see ``kernels.infidelity``."""
    state, whole = int(mix(np.uint64(seed))), 1 << 64
    drawn = np.zeros((MASKS, n))
    for mask in drawn:
        for j in range(n):
            state = (state * 6364136223846793005 + 1442695040888963407) % whole
            mask[j] = state >> 63
    return drawn


def main(path):
    words = tokenizer("bert")
    network = model("bert", words)
    measures, explanation = ferret(path)
    out = {f"weights/{name}": value.numpy() for name, value in network.state_dict().items()}
    out["config"] = np.frombuffer(json.dumps(network.config.to_dict(), default=str).encode(), np.uint8)
    out["tokenizer"] = np.frombuffer(words.backend_tokenizer.to_str().encode(), np.uint8)
    generator = np.random.default_rng(0)
    for i, text in enumerate(TEXTS):
        inputs = words(text, return_tensors="pt")
        tokens = words.convert_ids_to_tokens(inputs["input_ids"][0])
        assert len(tokens) == 12, tokens
        with torch.no_grad():
            target = int(network(**inputs).logits.argmax())
        scores = generator.random(12)
        given = explanation(text, tokens, scores, "random", target)
        loo = measures.TauLOO_Evaluation(network, words)
        out[f"{i}/scores"] = scores[1:-1]
        out[f"{i}/leave one out"] = -loo.compute_leave_one_out_occlusion(text, target).numpy()
        out[f"{i}/tau"] = loo.compute_evaluation(given, target).score
        for name, evaluator in (
            ("comprehensiveness", measures.AOPC_Comprehensiveness_Evaluation),
            ("sufficiency", measures.AOPC_Sufficiency_Evaluation),
        ):
            out[f"{i}/{name}"] = evaluator(network, words).compute_evaluation(given, target).score
        ablation = FeatureAblation(
            lambda ids, target=target: torch.softmax(network(input_ids=ids).logits, 1)[:, target]
        )
        with torch.no_grad():
            found = ablation.attribute(inputs["input_ids"], baselines=words.mask_token_id)
        out[f"{i}/masked"] = found[0, 1:-1].numpy()

    attention, said, bias = generator.normal(size=UNITS), generator.normal(size=UNITS), generator.normal()
    loud, spoken = torch.tensor(attention).exp(), torch.tensor(said + bias)

    def chance(keep):
        total = (keep * loud).sum(dim=1)
        score = torch.where(total > 0, (keep * loud * spoken).sum(dim=1) / total.clamp_min(1e-300), bias)
        return torch.sigmoid(score)

    whole, phi = torch.ones(1, UNITS, dtype=torch.float64), torch.tensor(generator.normal(size=(1, UNITS)))
    drawn = torch.tensor(masks(3, UNITS))
    found = infidelity(chance, lambda keep: (drawn, keep - drawn), whole, phi, n_perturb_samples=MASKS, normalize=True)
    out |= {"infidelity/attention": attention, "infidelity/said": said + bias, "infidelity/bias": np.array([bias])}
    out |= {"infidelity/phi": phi[0].numpy(), "infidelity/value": found[0].item()}
    np.savez_compressed(Path(__file__).with_name("huggingface.npz"), **out)
    print(len(out), "arrays")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
