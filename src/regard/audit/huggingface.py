"""Sequence classifiers of Transformers, and what people show of them as reasons. Needs the extra ``hf``."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.audit.pretrained import classes_of, longest, named, pretrained, rankings
from regard.audit.queried import Asked, QueriedBatch
from regard.audit.source import Batch, Floats, Places, Span
from regard.audit.subwords import Reader, Reading
from regard.errors import DataError, MissingExtraError, SettingError

if find_spec("transformers") is None:
    raise MissingExtraError("regard.audit.HuggingFaceSource", "hf")

SCORES = ("last-cls", "heads-mean", "rollout", "grad-x-input")
_DOCUMENTS, _WORDS = 64, 2000  # in a batch: enough that many readings have the same length
_SUBWORDS = 1024  # in one pass of the model, whose activations then fit the cache
_WEIGHTS = 16_000_000  # of the attention, in one pass

Input = tuple[Places, Places]


class HuggingFaceSource:
    """A sequence classifier, asked without its words, and the scores that shall explain it.

    The class is read off at one place: at the sign CLS, or at the last sub-word where there is none. With ``A`` the
    weights of a layer seen from there, summed over the sub-words of each word:

        last-cls       mean over the heads of the last layer
        heads-mean     mean over all heads of all layers
        rollout        of Â[last] ··· Â[first],   Â = (I + mean over heads of A) / 2         (Abnar and Zuidema 2020)
        head:L.H       one head of one layer, both counted from 0
        heads          each head by itself
        grad-x-input   Σ e · ∂ log (p / (1 - p)) / ∂e over the embeddings e; p the explained probability
        leave-one-out  p minus p without the word

    Parameters
    ----------
    model : PreTrainedModel
        It is put into evaluation mode. A single output is read as the logit of the second of two classes.
    tokenizer : PreTrainedTokenizerFast
    scores : sequence of str
        What to audit, the main one first.
    removal : {"delete", "mask"}
        Whether a word is deleted from the text, or its sub-words are replaced by the tokeniser's sign for a mask.
    name : str
        What to call it.

    Attributes
    ----------
    classes : (classes,)
        The model's names for them.
    evaluations : int
        Texts that the model was asked about so far.

    Examples
    --------
    >>> source = HuggingFaceSource.load("minilm-sst", scores=["rollout"])  # doctest: +SKIP
    >>> print(audit(source, texts, labels).verdict.text)  # doctest: +SKIP
    """

    exact = False
    units = "words"

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        scores: Sequence[str] = SCORES,
        removal: Literal["delete", "mask"] = "delete",
        name: str = "model",
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise SettingError(
                f"The tokeniser must be a fast one, which knows where sub-words stand; got {type(tokenizer).__name__}."
            )
        if removal not in ("delete", "mask"):
            raise SettingError(f"`removal` must be 'delete' or 'mask'; got {removal!r}.")
        if removal == "mask" and tokenizer.mask_token_id is None:
            raise SettingError(f"The tokeniser of {name} has no sign for a mask: choose the removal 'delete'.")
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.removing = removal
        self.name = name
        self.classes = classes_of(model.config)
        self.rankings = rankings(scores, model.config)
        self.evaluations = 0
        self._reader = Reader(tokenizer, longest(model, tokenizer))
        self._truncated: set[int] = set()
        self._in_use = threading.Lock()

    @classmethod
    def load(cls, name: str | os.PathLike[str], *, download: bool = False, **options: Any) -> HuggingFaceSource:
        """Read a folder that ``save_pretrained`` wrote, or a model of the hub.

        Parameters
        ----------
        name
            The folder, or a name on the hub whose files are in the cache of Hugging Face.
        download
            Whether to fetch a name on the hub that is not in the cache.
        **options
            ``scores``, ``removal`` and ``name``.
        """
        model, tokenizer = pretrained(name, download)
        return cls(model, tokenizer, **{"name": os.path.basename(os.path.normpath(name)), **options})  # noqa: PTH119

    # -- what an audit asks of every source ------------------------------------------------------------------------

    @property
    def removal(self) -> str:
        """How a word is removed, in one sentence."""
        how = (
            f"its sub-words are replaced by {self.tokenizer.mask_token}"
            if self.removing == "mask"
            else "it is deleted from the text, with the spaces in front of it"
        )
        return (
            f"{how}, and the model reads the text again; flips are looked for in steps of 5%, and at every step of "
            "texts up to 20 words"
        )

    @property
    def truncated(self) -> int:
        """How many different texts were longer than the model can read."""
        return len(self._truncated)

    @property
    def about(self) -> dict[str, Any]:
        """What a reader of the audit must know of the model."""
        return {
            "architecture": type(self.model).__name__,
            "sub-words read": self._reader.longest,
            "texts truncated": self.truncated,
            "precision": str(self.model.dtype).removeprefix("torch."),
            "sub-words are cut out": self._reader.cutting is not None or self.removing == "mask",
            "versions": {package: version(package) for package in ("torch", "transformers", "tokenizers")},
        }

    def named(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Labels of data as the model's: see ``pretrained.named``."""
        return named(labels, self.classes)

    def spans(self, text: str) -> list[Span]:
        """Where the words stand that the model reads."""
        return self._reader.read([text])[0].spans

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The texts in their order; what is asked of them is asked when it is needed."""
        for first, readings in self._portions(texts):
            self._truncated |= {hash(reading.text) for reading in readings if reading.truncated}
            sizes = np.array([len(reading.spans) for reading in readings], np.int64)
            yield QueriedBatch(first, sizes, partial(self._answer, readings), partial(self._explain, readings))

    def predict(self, texts: Sequence[str]) -> Floats:
        """The probability of each class: (texts, classes)."""
        return np.concatenate([batch.chances for batch in self.batches(texts)])

    def _portions(self, texts: Sequence[str]) -> Iterator[tuple[int, list[Reading]]]:
        """Texts as they are read, up to a number of texts and of words, and the place of the first one."""
        first, words = 0, 0
        waiting: list[Reading] = []
        for a in range(0, len(texts), _DOCUMENTS):
            for reading in self._reader.read(texts[a : a + _DOCUMENTS]):
                if waiting and (len(waiting) == _DOCUMENTS or words + len(reading.spans) > _WORDS):
                    yield first, waiting
                    first, waiting, words = first + len(waiting), [], 0
                waiting.append(reading)
                words += len(reading.spans)
        if waiting:
            yield first, waiting

    # -- asking ------------------------------------------------------------------------------------------------------

    def _answer(self, readings: list[Reading], asked: list[Asked]) -> Floats:
        """Probabilities of texts without some of their words."""
        inputs: list[Input] = [(_NONE, _NONE)] * len(asked)
        anew = []
        for i, (document, keep) in enumerate(asked):
            reading = readings[document]
            if self.removing == "mask":
                inputs[i] = reading.masked(keep, self.tokenizer.mask_token_id)
            elif reading.cuts_alike(keep):
                inputs[i] = reading.cut(keep)
            else:
                anew.append(i)
        found = self._reader.ids([readings[asked[i].document].without(asked[i].keep) for i in anew])
        for i, each in zip(anew, found, strict=True):
            inputs[i] = each
        return self._probabilities(inputs)

    def _probabilities(self, inputs: list[Input]) -> Floats:
        """(inputs, classes)."""
        out = np.empty((len(inputs), len(self.classes)))
        with self._using_model(), torch.inference_mode():
            for rows, batch in self._passes(inputs, lambda length: _SUBWORDS // length):
                out[rows] = self._chances(self.model(**batch).logits).cpu().numpy()
        self.evaluations += len(inputs)
        if not np.isfinite(out).all():
            raise DataError(f"{self.name} must give finite numbers; it gave NaN for a text: look at its weights.")
        return out

    @contextmanager
    def _using_model(self) -> Iterator[None]:
        """One thread at a time; a model without a sign for padding reads several texts, for none is padded."""
        settings = self.model.config
        with self._in_use:
            padding = settings.pad_token_id
            settings.pad_token_id = -1 if padding is None else padding
            try:
                yield
            finally:
                settings.pad_token_id = padding

    def _chances(self, logits: Tensor) -> Tensor:
        """(texts, classes), in double precision."""
        return torch.softmax(_two(logits.double()), dim=1)

    def _passes(
        self, inputs: Sequence[Input], at_once: Callable[[int], int]
    ) -> Iterator[tuple[NDArray[np.intp], dict[str, Any]]]:
        """Inputs of equal lengths together: nothing is padded, so nothing has to be masked."""
        inputs = [self._something(each) for each in inputs]
        lengths = np.array([len(ids) for ids, _ in inputs], np.int64)
        order = np.argsort(lengths, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(lengths[order])) + 1, len(order))
        start = 0
        for end in ends.tolist():
            size = max(1, at_once(int(lengths[order[start]]))) if end > start else 1
            for a in range(start, end, size):
                rows = order[a : min(a + size, end)]
                yield rows, self._batch([inputs[row] for row in rows.tolist()])
            start = end

    def _something(self, each: Input) -> Input:
        """A text of nothing is read as the sign for a text's beginning, or for its end."""
        if len(each[0]):
            return each
        for sign in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id):
            if sign is not None:
                return np.array([sign], np.int64), np.zeros(1, np.int64)
        raise DataError(
            f"The tokeniser of {self.name} must have a sign for the beginning of a text, to read one of no words; give "
            "it a `bos_token`."
        )

    def _batch(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """What the model is called with."""
        ids, kinds = (torch.from_numpy(np.stack(each)).to(self.model.device) for each in zip(*inputs, strict=True))
        out: dict[str, Any] = {"input_ids": ids}
        if "token_type_ids" in self.tokenizer.model_input_names and "token_type_ids" in self._known:
            out["token_type_ids"] = kinds
        if "use_cache" in self._known:
            out["use_cache"] = False
        return out

    @cached_property
    def _known(self) -> set[str]:
        """What the model can be called with."""
        return set(inspect.signature(self.model.forward).parameters)

    # -- explaining --------------------------------------------------------------------------------------------------

    def _explain(self, readings: list[Reading], batch: QueriedBatch) -> Mapping[str, Floats]:
        """Scores of every word, by each ranking that was asked for."""
        found: dict[str, Floats] = {}
        heads = [which for which in self.rankings.values() if which not in ("grad-x-input", "leave-one-out")]
        weights = self._weights(readings, heads) if heads else {}
        for name, which in self.rankings.items():
            if which == "leave-one-out":
                found[name] = batch.leave_one_out()[0]
            elif which == "grad-x-input":
                found[name] = _by_word(readings, self._gradients(readings, batch.explained))
            else:
                found[name] = _by_word(readings, weights[which])
        return found

    def _weights(self, readings: list[Reading], wanted: list[Any]) -> dict[Any, list[Floats]]:
        """Attention from the place where the class is read off, by sub-word of each text."""
        config = self.model.config
        if getattr(config, "is_encoder_decoder", False):
            raise SettingError(
                f"{self.name} has an encoder and a decoder, so no layer alone looks at the text; audit grad-x-input or "
                "leave-one-out."
            )
        found: dict[Any, list[Floats]] = {which: [np.empty(0)] * len(readings) for which in wanted}
        layers, heads = config.num_hidden_layers, config.num_attention_heads
        inputs = [(reading.ids, reading.kinds) for reading in readings]
        with self._using_model(), self._showing_weights(), torch.inference_mode():
            for rows, batch in self._passes(inputs, lambda length: _WEIGHTS // (layers * heads * length**2)):
                attentions = self.model(**batch, output_attentions=True).attentions
                self._check(attentions, batch["input_ids"])
                place = self._place(batch["input_ids"])
                for which in wanted:
                    seen = _seen(which, attentions, place).double().cpu().numpy()
                    for row, scores in zip(rows.tolist(), seen, strict=True):
                        found[which][row] = scores
        return found

    @contextmanager
    def _showing_weights(self) -> Iterator[None]:
        """Fast kernels make no weights, so the slow one is used while they are wanted."""
        before = self.model.config._attn_implementation  # noqa: SLF001 - Transformers has no other name for it
        self.model.set_attn_implementation("eager")
        try:
            yield
        finally:
            self.model.set_attn_implementation(before)

    def _check(self, attentions: Any, ids: Tensor) -> None:
        """Weights of each layer, head, place and place."""
        texts, length = ids.shape
        if not attentions or any(
            each is None or each.dim() != 4 or each.shape[0] != texts or tuple(each.shape[2:]) != (length, length)
            for each in attentions
        ):
            raise SettingError(
                f"{self.name} gives no attention of every place to every place; audit grad-x-input or leave-one-out."
            )

    def _place(self, ids: Tensor) -> Tensor:
        """Where the class is read off: (texts,)."""
        sign = self.tokenizer.cls_token_id
        last = torch.full((len(ids),), ids.shape[1] - 1, device=ids.device)
        if sign is None:
            return last
        is_sign = ids == sign
        return torch.where(is_sign.any(dim=1), is_sign.int().argmax(dim=1), last)

    def _gradients(self, readings: list[Reading], explained: Places) -> list[Floats]:
        """Gradient times embedding, by sub-word of each text."""
        found = [np.empty(0)] * len(readings)
        inputs = [(reading.ids, reading.kinds) for reading in readings]
        with self._using_model(), torch.enable_grad():
            for rows, batch in self._passes(inputs, lambda length: _SUBWORDS // length):
                with _leaves(self.model.get_input_embeddings()) as leaves:
                    logits = _two(self.model(**batch).logits.double())
                mine = torch.from_numpy(explained[rows]).to(logits.device)[:, None]
                own = logits.gather(1, mine)[:, 0]
                others = logits.scatter(1, mine, -torch.inf).logsumexp(dim=1)
                if len(leaves) != 1:
                    raise SettingError(
                        f"{self.name} must look each sub-word up once, to differentiate in what it finds."
                    )
                (slope,) = torch.autograd.grad((own - others).sum(), leaves)
                scores = (slope.double() * leaves[0].detach().double()).sum(dim=2).cpu().numpy()
                for row, each in zip(rows.tolist(), scores, strict=True):
                    found[row] = each
        return found


_NONE = np.zeros(0, np.int64)


def _two(logits: Tensor) -> Tensor:
    """A single logit is that of the second of two classes."""
    return torch.cat([torch.zeros_like(logits), logits], dim=1) if logits.shape[1] == 1 else logits


def _seen(which: str | tuple[int, int], attentions: Sequence[Tensor], place: Tensor) -> Tensor:
    """Weights from a place of each text: (texts, sub-words).

    Parameters
    ----------
    which
        One of the rankings, or a layer and a head.
    attentions
        Of each layer: (texts, heads, places, places).
    place : (texts,)
    """
    rows = torch.arange(len(place), device=place.device)
    if isinstance(which, tuple):
        layer, head = which
        return attentions[layer][rows, head, place]
    if which == "last-cls":
        return attentions[-1].mean(dim=1)[rows, place]
    if which == "heads-mean":
        return torch.stack([layer.mean(dim=1)[rows, place] for layer in attentions]).mean(dim=0)
    same = torch.eye(attentions[0].shape[2], dtype=torch.float64, device=place.device)
    seen = same[place][:, None]
    for i in reversed(range(len(attentions))):
        seen = seen @ ((same + attentions[i].double().mean(dim=1)) / 2)
    return seen[:, 0]


def _by_word(readings: list[Reading], scores: list[Floats]) -> Floats:
    """Sums over the sub-words of each word of all texts."""
    return np.concatenate([reading.by_word(each) for reading, each in zip(readings, scores, strict=True)])


@contextmanager
def _leaves(embeddings: nn.Module) -> Iterator[list[Tensor]]:
    """Cut the graph at the embeddings, and keep them to differentiate in."""
    kept: list[Tensor] = []

    def keep(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[-1]

    handle = embeddings.register_forward_hook(keep)
    try:
        yield kept
    finally:
        handle.remove()
