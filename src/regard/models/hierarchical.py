"""A trained hierarchical attention network as a model of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.models.hierarchical_network import HierarchicalNetwork, HierarchicalShape
from regard.models.neural import NeuralModel
from regard.models.table import chunks
from regard.tokens import Place, Tokens, Vocabulary
from regard.tokens.sentences import sentences

LONGEST = 60  # words in a sentence; a longer one goes on as another


@dataclass(frozen=True)
class HierarchicalModel(NeuralModel):
    """A hierarchical attention network.

        score = Σ weight[i, t] polarity[i, t],   weight[i, t] = α[i] α[i, t],   polarity[i, t] = W' h[i, t]

    over the known words ``t`` of the sentences ``i``. With the paper's ``sentence_encoder="gru"`` a sentence is not
    the sum of its words any more: the sum still holds, and each word has the polarity of its whole sentence, W' r[i].
    """

    kind: ClassVar[str] = "HierarchicalAttentionClassifier"

    network: HierarchicalNetwork

    @property
    def exact(self) -> bool:
        """No: a word's weight depends on the sentence around it, whatever reads the words."""
        return False

    def scores(self, texts: Sequence[str], n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each text on each side: (texts, sides)."""
        found = [self.token_scores(marked(self.vocabulary, chunk, n_threads)) for chunk in chunks(texts)]
        return np.concatenate(found) if found else np.empty((0, self.sides))

    @classmethod
    def _new_network(cls, said: dict[str, Any]) -> HierarchicalNetwork:
        return HierarchicalNetwork(HierarchicalShape.from_dict(said))

    def _numbered(self, texts: Sequence[str], places: Sequence[list[Place]]) -> Tokens:  # noqa: ARG002 - found again
        return marked(self.vocabulary, texts)


def pieces(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The sentences of all texts, and how many each has."""
    cut = [[text[start:end] for start, end in sentences(text)] for text in texts]
    return [piece for each in cut for piece in each], np.array([len(each) for each in cut], np.int64)


def marked(
    vocabulary: Vocabulary, texts: Sequence[str], n_threads: int | None = None, longest: int = LONGEST
) -> Tokens:
    """The known words of texts, with the mark ``len(vocabulary)`` between sentences."""
    found, counts = pieces(texts)
    return with_marks(vocabulary.tokens(found, n_threads), counts, len(vocabulary), longest)


def with_marks(tokens: Tokens, counts: NDArray[np.int64], mark: int, longest: int = LONGEST) -> Tokens:
    """Sentences joined to texts.

    Parameters
    ----------
    tokens : Tokens
        A document for each sentence; unknown words are left out, and sentences without others too.
    counts : (texts,)
        How many sentences each text has.
    mark : int
        What to put between two sentences.
    longest : int
        After so many known words a sentence goes on as another.
    """
    known = tokens.ids >= 0
    sentence = np.repeat(np.arange(len(tokens)), np.diff(tokens.starts))[known]
    ids = tokens.ids[known]
    text = np.repeat(np.arange(len(counts)), counts)[sentence]
    begins = np.append(True, sentence[1:] != sentence[:-1])[: len(ids)]
    run = np.arange(len(ids)) - np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
    begins |= run % longest == 0
    marks = np.flatnonzero(begins & np.append(False, text[1:] == text[:-1])[: len(ids)])
    lengths = np.bincount(text, minlength=len(counts)) + np.bincount(text[marks], minlength=len(counts))
    return Tokens(np.insert(ids, marks, mark).astype(np.int32), np.append(0, np.cumsum(lengths)))
