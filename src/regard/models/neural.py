"""A trained network as a model of texts: it scores them, and takes one text apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models import store
from regard.models.model import Attended, pack_classes, predicted, unpack_classes
from regard.models.network import PADDING, AttentionNetwork, Shape
from regard.models.table import TableModel, chunks
from regard.models.vectors import Vectors
from regard.tokens import Place, Token, Tokens, Vocabulary, tokenize

# How many padded tokens go through the network at a time, when nothing is learned.
_AT_ONCE = 1 << 15
_TAKEN_APART = 1000  # texts at a time


@dataclass(frozen=True)
class NeuralModel:
    """An attention classifier as a network.

        score = Σⱼ weight[j] polarity[j],   weight = softmax(attention),   polarity[j] = W' h[j]

    over the known words ``j`` of a text; a text without any scores zero.

    Attributes
    ----------
    vocabulary
        The words that have an embedding.
    network
        In evaluation mode.
    classes : (classes,)
        The labels, in order.
    counts : (words, classes)
        How often the word occurs in the training texts of each class.
    about
        Settings and measurements, ready for JSON.
    """

    kind: ClassVar[str] = "NeuralAttentionClassifier"

    vocabulary: Vocabulary
    network: AttentionNetwork
    classes: NDArray[Any]
    counts: NDArray[np.integer[Any]]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def sides(self) -> int:
        """One for two classes, otherwise one a class."""
        return self.network.shape.sides

    @property
    def bias(self) -> NDArray[np.float64]:
        """Zero: the papers' models have none."""
        return np.zeros(self.sides)

    @property
    def exact(self) -> bool:
        """Whether words speak the same in every text: without an encoder that reads their neighbours."""
        return self.network.shape.encoder in ("none", "affine")

    @cached_property
    def vectors(self) -> Vectors:
        """Embeddings, directions and scale."""
        return self.network.vectors()

    @cached_property
    def word_table(self) -> TableModel:
        """Each word as a text of its own: its global attention and polarity."""
        alone = Tokens(np.arange(len(self.vocabulary), dtype=np.int32), np.arange(len(self.vocabulary) + 1))
        attention = np.empty(len(self.vocabulary), np.float32)
        polarity = np.empty((len(self.vocabulary), self.sides), np.float32)
        for words, _, scores, sides in self._read(alone):
            attention[words], polarity[words] = scores[:, 0], sides[:, 0]
        return TableModel(
            self.vocabulary, attention, polarity, self.bias, self.classes, self.counts, self.about, self.vectors
        )

    # -- predicting ----------------------------------------------------------------------------------------------

    def scores(self, texts: Sequence[str], n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each text on each side: (texts, sides)."""
        if self.exact:
            return self.word_table.scores(texts, n_threads)
        found = [self.token_scores(self.vocabulary.tokens(chunk, n_threads)) for chunk in chunks(texts)]
        return np.concatenate(found) if found else np.empty((0, self.sides))

    def token_scores(self, tokens: Tokens) -> NDArray[np.float64]:
        """The score of each document on each side: (documents, sides)."""
        found = np.zeros((len(tokens), self.sides))
        for texts, keep, attention, polarity in self._read(tokens):
            found[texts] = np.einsum("ts,tsk->tk", _softmax(attention, keep), polarity)
        return found

    def attend(self, text: str, masked: frozenset[int] = frozenset()) -> Attended:
        """Take one text apart. A masked word gets no weight; its neighbours have read it all the same."""
        if self.exact:
            return self.word_table.attend(text, masked)
        found = next(self.attend_many([text]))
        return found if not masked else _silenced(found, masked)

    def attend_many(self, texts: Sequence[str]) -> Iterator[Attended]:
        """``attend`` for each of many texts, in their order."""
        if self.exact:
            yield from map(self.word_table.attend, texts)
            return
        for start in range(0, len(texts), _TAKEN_APART):
            some = texts[start : start + _TAKEN_APART]
            tokens = [tokenize(text) for text in some]
            places = [self.vocabulary.places(text, cut) for text, cut in zip(some, tokens, strict=True)]
            scores: list[NDArray[np.float64]] = [np.empty(0)] * len(tokens)
            sides = [np.empty((0, self.sides))] * len(tokens)
            for batch, keep, attention, polarity in self._read(self._numbered(some, places)):
                for i, document in enumerate(batch):
                    scores[document] = attention[i, keep[i]]
                    sides[document] = polarity[i, keep[i]]
            for cut, each, attention, polarity in zip(tokens, places, scores, sides, strict=True):
                yield _attended(cut, each, attention, polarity)

    def _numbered(self, texts: Sequence[str], places: Sequence[list[Place]]) -> Tokens:  # noqa: ARG002 - for children
        """What the network reads of texts whose known words were found."""
        ids = np.array([place.row for each in places for place in each], np.int32)
        return Tokens(ids, np.append(0, np.cumsum([len(each) for each in places])))

    def _read(self, tokens: Tokens) -> Any:
        """Batches of like length: which documents, their real places, attention (B, T) and polarity (B, T, sides)."""
        known = drop_unknown(tokens)
        lengths = np.diff(known.starts)
        order = np.argsort(lengths, kind="stable")
        order = order[np.searchsorted(lengths[order], 1) :]
        device = self.network.output.weight.device
        with torch.inference_mode():
            for batch in _runs(order, lengths):
                ids = padded(known, batch).to(device)
                h, attended = self.network.attend(ids)
                sides = h.double() @ self.network.output.weight.double().T
                assert attended.scores is not None, "scores come with the weights"
                keep = self.network.speaks(ids).cpu().numpy()
                yield batch, keep, attended.scores.double().cpu().numpy(), sides.cpu().numpy()

    def predictions(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The label of each text."""
        return predicted(scores, self.classes)

    # -- keeping -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file."""
        about = {**self.about, **pack_classes(self.classes), "network": self.network.shape.to_dict()}
        tensors: dict[str, NDArray[Any]] = {
            "words": self.vocabulary.arena,
            "ends": self.vocabulary.ends,
            "counts": self.counts,
        }
        store.write(path, self.kind, about, {**tensors, **network_arrays(self.network)})

    @classmethod
    def unpack(cls, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """The model that a file holds."""
        classes = unpack_classes(about)
        vocabulary = Vocabulary(tensors["words"], tensors["ends"])
        vocabulary.check()
        network = cls._new_network(about.pop("network")).eval()
        counts = tensors["counts"]
        sides = 1 if len(classes) == 2 else len(classes)
        if (network.shape.words, network.shape.sides) != (len(vocabulary), sides):
            raise ValueError("the network must have an embedding for each word and a side for each class")
        if counts.shape != (len(vocabulary), len(classes)) or not np.issubdtype(counts.dtype, np.integer):
            raise ValueError("counts must hold whole numbers in the shape (words, classes)")
        try:
            load_network(network, tensors)
        except RuntimeError as error:  # PyTorch's word for parameters that are missing or of another shape
            raise ValueError(str(error)) from error
        if not all(bool(torch.isfinite(parameter).all()) for parameter in network.parameters()):
            raise ValueError("the parameters must be finite")
        return cls(vocabulary, network, classes, counts, about)

    @classmethod
    def _new_network(cls, said: dict[str, Any]) -> AttentionNetwork:
        """A network of the shape that a file tells, still to be filled."""
        return AttentionNetwork(Shape.from_dict(said))

    def with_about(self, about: dict[str, Any]) -> Self:
        """The same model, with other things said about it."""
        return replace(self, about=about)


def network_arrays(network: AttentionNetwork, prefix: str = "network.") -> dict[str, NDArray[Any]]:
    """The parameters as arrays, by name."""
    return {prefix + name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}


def load_network(
    network: AttentionNetwork, tensors: dict[str, NDArray[Any]], prefix: str = "network."
) -> AttentionNetwork:
    """Fill in the parameters that ``network_arrays`` returned."""
    state = {
        name.removeprefix(prefix): torch.from_numpy(array.copy())
        for name, array in tensors.items()
        if name.startswith(prefix)
    }
    network.load_state_dict(state)
    return network


def drop_unknown(tokens: Tokens) -> Tokens:
    """The words that have an embedding, in their order."""
    known = tokens.ids >= 0
    if known.all():
        return tokens
    before = np.concatenate([[0], np.cumsum(known)])
    return Tokens(tokens.ids[known], before[tokens.starts])


def padded(tokens: Tokens, documents: NDArray[np.intp]) -> Tensor:
    """Some documents as one tensor (documents, longest), filled up with ``PADDING``."""
    starts = tokens.starts[documents]
    lengths = tokens.starts[documents + 1] - starts
    place = np.arange(lengths.max(initial=0))
    real = place < lengths[:, None]
    ids = np.full(real.shape, PADDING, np.int64)
    ids[real] = tokens.ids[(starts[:, None] + place)[real]]
    return torch.from_numpy(ids)


def _attended(
    tokens: list[Token], places: list[Place], attention: NDArray[np.float64], polarity: NDArray[np.float64]
) -> Attended:
    weights = _softmax(attention, np.ones(len(attention), bool)) if len(attention) else attention
    return Attended(tokens, places, attention, weights, polarity, weights @ polarity)


def _silenced(found: Attended, masked: frozenset[int]) -> Attended:
    """The same text, in which masked words do not speak."""
    kept = [i for i, place in enumerate(found.places) if place.first not in masked]
    attention, polarity = found.attention[kept].astype(np.float64), found.polarity[kept].astype(np.float64)
    return _attended(found.tokens, [found.places[i] for i in kept], attention, polarity)


def _runs(order: NDArray[np.intp], lengths: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Documents in order of length, cut where the padded batch would grow too large."""
    runs, start = [], 0
    for i, document in enumerate(order):
        if i > start and (i + 1 - start) * lengths[document] > _AT_ONCE:
            runs.append(order[start:i])
            start = i
    return [*runs, order[start:]] if start < len(order) else runs


def _softmax(scores: NDArray[np.float64], keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights over the last axis; nothing where ``keep`` is false."""
    scores = np.where(keep, scores, -np.inf)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exps / exps.sum(axis=-1, keepdims=True))
