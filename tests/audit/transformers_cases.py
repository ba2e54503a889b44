"""Small random transformers with tokenisers trained on the spot: nothing is fetched from anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "A great film, truly a great film!",
    "The plot is dull and the jokes aren't funny.",
    "I don't know what to say about it; well-made, though.",
    "Unwatchable rubbish from start to finish.",
    "An unforgettable, heart-warming and quietly funny story.",
    "Too long, too loud, too much of everything.",
]
SPECIALS = {
    "bert": {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"},
    "roberta": {"unk": "<unk>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"},
    "gpt2": {"eos": "<|endoftext|>"},
    "xlm": {"unk": "<unk>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"},
}


def tokenizer(kind, longest=None):
    """Trained on ``TEXTS``: BERT's, RoBERTa's, GPT-2's or XLM-R's way of cutting."""
    signs = SPECIALS[kind]
    unknown = signs.get("unk")
    special = [signs[name] for name in ("pad", "unk", "cls", "sep", "mask", "eos") if name in signs]
    bytes_ = pre_tokenizers.ByteLevel.alphabet()
    if kind == "bert":
        made = Tokenizer(models.WordPiece(_pieces(special), unk_token=unknown))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        made.add_special_tokens(special)
        trainer = None  # its trainer comes to another vocabulary each time
    elif kind == "xlm":
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=120, special_tokens=special, unk_token=unknown, show_progress=False
        )
    else:
        made = Tokenizer(models.BPE(unk_token=None))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=360, special_tokens=special, initial_alphabet=bytes_, show_progress=False
        )
    if trainer is not None:
        made.train_from_iterator(TEXTS, trainer)
    if kind == "gpt2":
        made.post_processor = processors.ByteLevel(trim_offsets=False)
    else:
        cls, sep = signs["cls"], signs["sep"]
        ends = [(sign, made.token_to_id(sign)) for sign in (cls, sep)]
        made.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", special_tokens=ends)
    names = {f"{name}_token": sign for name, sign in signs.items()}
    length = {} if longest is None else {"model_max_length": longest}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names, **length)


def _pieces(special):
    """Every letter, at the start of a word and within; every other word; some endings."""
    said = " ".join(TEXTS).lower()
    letters, words = sorted(set(said) - {" "}), sorted(set(re.findall("[a-z]+", said)))
    endings = ("##ing", "##ly", "##able", "##ish", "##o", "##t")
    found = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *words[::2], *endings])
    return {piece: i for i, piece in enumerate(found)}


def model(kind, words, labels=("negative", "positive"), seed=0, **more):
    """Two layers, two heads, as loud as a trained one."""
    torch.manual_seed(seed)
    size = len(words)
    names = {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    pad = {"pad_token_id": words.pad_token_id}
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=size, n_embd=16, n_layer=2, n_head=2, n_positions=64, pad_token_id=None, **names, **more
        )
    elif kind == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=size, dim=16, n_layers=2, n_heads=2, hidden_dim=16, max_position_embeddings=64, **names, **more
        )
    elif kind == "bert":
        config = transformers.BertConfig(vocab_size=size, max_position_embeddings=64, **small, **pad, **names, **more)
    else:
        config = transformers.RobertaConfig(
            vocab_size=size, max_position_embeddings=66, **small, pad_token_id=1, **names, **more
        )
    made = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for name, weights in made.named_parameters():
            if weights.dim() == 2:
                weights.normal_(std=0.5 if "embed" in name or "wte" in name else 0.4)
    return made


def folder(path: Path, kind="bert", **more) -> Path:
    """A model and its tokeniser, as people save them."""
    words = tokenizer({"distilbert": "bert"}.get(kind, kind))
    made = model(kind, words, **more)
    made.save_pretrained(path)
    words.save_pretrained(path)
    return path


def table(path: Path, labels=("negative", "positive")) -> Path:
    """Labelled texts as JSON Lines."""
    lines = [json.dumps({"text": text, "label": labels[i % len(labels)]}) for i, text in enumerate(TEXTS)]
    path.write_text("\n".join(lines))
    return path
