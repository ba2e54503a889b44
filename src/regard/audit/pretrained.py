"""A folder or a name on the hub becomes a model and its tokeniser, or a sentence on why it does not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from regard.audit.queried import LEFT_OUT
from regard.errors import DataError, MissingExtraError, ModelFileError, SettingError, nearest

NAMES = {
    "last-cls": "last-layer attention",
    "heads-mean": "mean attention",
    "rollout": "attention rollout",
    "grad-x-input": "gradient × input",
    "leave-one-out": LEFT_OUT,
}
_HEAD = re.compile(r"head:(\d+)\.(\d+)")


def pretrained(name: str | os.PathLike[str], download: bool = False) -> tuple[Any, Any]:
    """The model, in single precision, and its tokeniser.

    Parameters
    ----------
    name
        A folder, or a name on the hub whose files are in the cache of Hugging Face.
    download
        Whether to fetch what is not in the cache.
    """
    folder = Path(name)
    if folder.exists():
        _check(folder)
    elif not _may_be_on_the_hub(str(name)):
        raise ModelFileError(f"{name} must be a folder with a model, or its name on the hub; there is no such folder.")
    options = {"local_files_only": folder.exists() or not download, "trust_remote_code": False}
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    with _quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, **options)
            model, found = AutoModelForSequenceClassification.from_pretrained(name, output_loading_info=True, **options)
        except ImportError as error:
            raise MissingExtraError(f"The model {name}", "hf") from error
        except Exception as error:
            raise ModelFileError(_why(str(name), folder.exists(), download, error)) from error
    missing = sorted(found["missing_keys"])
    if missing:
        raise ModelFileError(
            f"{name} must be a trained sequence classifier; it has no weights for {', '.join(missing[:3])}: "
            "fine-tune it first."
        )
    if strange := sorted(map(str, found.get("mismatched_keys", ()))):
        raise ModelFileError(f"The weights of {name} must fit its config.json; {strange[0]} does not.")
    if not getattr(tokenizer, "is_fast", False):
        raise ModelFileError(
            f"{name} must have a fast tokeniser, which knows where sub-words stand; {type(tokenizer).__name__} is "
            "not: save one as tokenizer.json."
        )
    return model.float(), tokenizer


def _check(folder: Path) -> None:
    """What a folder must have, before a library says it in its own words."""
    if not folder.is_dir():
        raise ModelFileError(f"{folder} must be a folder with a model of Transformers; it is a file.")
    config = folder / "config.json"
    if not config.is_file():
        raise ModelFileError(f"{folder} must have a config.json, as `save_pretrained` writes; it has none.")
    try:
        form = json.loads(config.read_text("utf-8"))
    except ValueError as error:
        raise ModelFileError(f"{config} must be JSON; {error}.") from error
    if not isinstance(form, dict) or "model_type" not in form:
        raise ModelFileError(f"{config} must say a model_type; it does not, so it is no model of Transformers.")
    weights = ("*.safetensors", "*.bin")
    if not any(next(folder.glob(pattern), None) for pattern in weights):
        raise ModelFileError(f"{folder} must have the weights, such as model.safetensors; it has none.")
    if not any((folder / file).is_file() for file in ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")):
        raise ModelFileError(f"{folder} must have a fast tokeniser, tokenizer.json; it has none: save it there too.")


def _may_be_on_the_hub(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= 2 and all(part and part.strip(".") and not set(part) & set(' \\:*?"<>|~') for part in parts)


def _why(name: str, local: bool, download: bool, error: Exception) -> str:
    """One sentence."""
    if local:
        first = str(error).strip().splitlines()
        said = first[0] if first else type(error).__name__
        return f"{name} must be a sequence classifier that Transformers can load; it says: {said.rstrip('.:')[:300]}."
    if not download:
        return (
            f"{name} must be a folder, or a model in the cache of Hugging Face; it is neither: give the folder, or let "
            "it be fetched with --download."
        )
    return (
        f"{name} could not be fetched from the hub ({type(error).__name__}): check the name and the network, or give a "
        "folder."
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars and warnings of Transformers, whose meaning is in our errors."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def classes_of(config: Any) -> NDArray[Any]:
    """Names of the classes, in the order of the outputs; of a single output, its absence and itself."""
    problem = getattr(config, "problem_type", None)
    if problem not in (None, "single_label_classification"):
        raise SettingError(
            f"The model must choose one class; its config.json says {problem}: audit one that was trained for that."
        )
    names = [str(config.id2label[i]) for i in range(config.num_labels)]
    names = [f"not {names[0]}", names[0]] if len(names) == 1 else names
    if len(set(names)) < len(names):
        raise SettingError(f"Each class must have its own name; id2label has {', '.join(names)}.")
    return np.array(names)


def named(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """The labels of data as the model's: by name, whatever the case, or by the number of the output.

    Examples
    --------
    >>> named(np.array([1, 0]), np.array(["NEGATIVE", "POSITIVE"])).tolist()
    ['POSITIVE', 'NEGATIVE']
    """
    written = [str(label) for label in labels.tolist()]
    known = {str(name): name for name in classes.tolist()}
    folded = {str(name).casefold(): name for name in classes.tolist()}
    numbers = {str(i): name for i, name in enumerate(classes.tolist())}
    numbers |= {f"{float(i)}": name for i, name in enumerate(classes.tolist())}
    if len(classes) == 2:
        numbers |= {"False": classes[0].item(), "True": classes[1].item()}
    for table, form in ((known, str), (folded, str.casefold), (numbers, str)):
        if len(table) >= len(classes) and all(form(each) in table for each in written):
            return np.array([table[form(each)] for each in written])
    strange = next(each for each in written if each not in known)
    raise DataError(
        f"Labels must be the model's, {', '.join(known)}, or their numbers from 0; got {strange!r}."
        f"{nearest(strange, known)} Say what the data call them with --label-name DATA=MODEL."
    )


def longest(model: Any, tokenizer: Any) -> int:
    """How many sub-words the model reads at most, by its tokeniser, its settings and its table of places."""
    limits = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # Where one row is the padding's, places are counted from the row after it.
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < 10**9]
    return min(known, default=10**9)


def rankings(scores: Sequence[str], config: Any) -> dict[str, str | tuple[int, int]]:
    """What to score by: its name in the audit, and the key of ``NAMES`` or the layer and head.

    Parameters
    ----------
    scores
        Keys of ``NAMES``, ``head:L.H``, or ``heads``.
    """
    layers, heads = (getattr(config, name, 0) or 0 for name in ("num_hidden_layers", "num_attention_heads"))
    found: dict[str, str | tuple[int, int]] = {}
    for asked in scores:
        if asked in NAMES:
            found[NAMES[asked]] = asked
        elif asked == "heads":
            found |= {f"head {layer}.{head}": (layer, head) for layer in range(layers) for head in range(heads)}
        elif match := _HEAD.fullmatch(asked):
            layer, head = int(match[1]), int(match[2])
            if layer >= layers or head >= heads:
                raise SettingError(
                    f"{asked} must be a layer from 0 to {layers - 1} and a head from 0 to {heads - 1} of this model."
                )
            found[f"head {layer}.{head}"] = layer, head
        else:
            known = [*NAMES, "heads", "head:L.H"]
            raise SettingError(f"Scores must be among {', '.join(known)}; got {asked!r}.{nearest(asked, known)}")
    if not found:
        raise SettingError(f"An audit needs scores to test; name one of {', '.join(NAMES)}.")
    return found
