"""The hierarchical attention network as an estimator: words make sentences, sentences make the text."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import SettingError
from regard.models.estimator import TextClassifier
from regard.models.hierarchical import HierarchicalModel, marked, pieces, with_marks
from regard.models.hierarchical_network import HierarchicalNetwork, HierarchicalShape
from regard.models.neural_classifier import LEARNING_RATES, NeuralAttentionClassifier
from regard.models.neural_training import Recipe
from regard.models.settings import class_weights, number, one_of, seed_of, whole
from regard.tokens import Tokens, Vocabulary


class HierarchicalAttentionClassifier(NeuralAttentionClassifier):
    """Attention over the words of each sentence, and over the sentences of the text (HAN; Yang et al. 2016).

        h[i, t] = encoder(e)[i, t],   α[i, :] = softmax(uw · tanh(Ww h[i, :] + bw)),   s[i] = Σₜ α[i, t] h[i, t]
        α = softmax(us · tanh(Ws r + bs)),   r = GRU(s),   score = W' Σᵢ α[i] s[i]

    A word's weight is α[i] α[i, t] and its polarity W'h[i, t], and the contributions add up to the score. For that,
    the GRU over sentences decides their weights, and they themselves are averaged; the paper averages r, with
    ``sentence_encoder="gru"``, where only contributions of whole sentences say what the model did, and words share
    them.

    Parameters
    ----------
    encoder : "gru", "conv", "lstm" or None, default "conv"
        What reads a word among those of its sentence: the paper's GRU; convolutions of ``widths``, several times as
        fast; an LSTM; or nothing.
    sentence_encoder : "weights", "gru" or None, default "weights"
        What a GRU over the sentences is for: their weights alone, weights and values as in the paper, or nothing.
    attention : "learned" or "flat", default "learned"
        "flat" weighs words and sentences evenly: the same network without attention.
    dim, hidden : int, default 100
        The sizes of e and of h; ``hidden`` is even, half of it for each direction of a GRU.
    widths : sequence of int, default (3,)
        Of the convolutions, odd; they share ``hidden`` evenly.
    dropout : float, default 0.3
        The share of numbers left out of e and of the attended vector, in training.
    word_dropout : float, default 0.2
        The share of words whose e is zero altogether, in training.
    l2 : float, default 0.0
        The penalty on the squares of the weights of encoders and attention.
    min_count : int, default 3
        How often a word must occur in the training texts to have an embedding.
    optimizer : "adagrad", "adamw" or "sgd", default "adamw"
    learning_rate : float or "auto", default "auto"
        0.02 for Adagrad, 0.001 for AdamW, 0.015 for plain gradient descent.
    epochs : int, default 10
        At most.
    patience : int or None, default 3
        Stop after so many epochs that did not serve held-out texts better.
    batch_size : int, default 50
        Texts in a step.
    validation_fraction, class_weight, checkpoint, device, random_state, n_threads, verbose
        See ``NeuralAttentionClassifier``.

    Attributes
    ----------
    model_ : HierarchicalModel
        The network and its words. ``regard.explain.sentence_parts`` has what sentences weigh and contribute.
    table_, course_, n_iter_, validation_
        See ``NeuralAttentionClassifier``.

    Examples
    --------
    >>> texts = ["We went. A good film!", "Great film. We went.", "We went. A bad film.", "An awful film. We went."] * 5
    >>> clf = HierarchicalAttentionClassifier(dim=8, hidden=8, min_count=1, learning_rate=0.02, validation_fraction=0)
    >>> clf.fit(texts, ["+", "+", "-", "-"] * 5).predict(["A good one. We went.", "We went. Awful."]).tolist()
    ['+', '-']
    """

    kind = "HierarchicalAttentionClassifier"

    def __init__(
        self,
        *,
        encoder: Literal["gru", "conv", "lstm"] | None = "conv",
        sentence_encoder: Literal["weights", "gru"] | None = "weights",
        attention: Literal["learned", "flat"] = "learned",
        dim: int = 100,
        hidden: int = 100,
        widths: tuple[int, ...] = (3,),
        dropout: float = 0.3,
        word_dropout: float = 0.2,
        l2: float = 0.0,
        min_count: int = 3,
        optimizer: Literal["adagrad", "adamw", "sgd"] = "adamw",
        learning_rate: float | Literal["auto"] = "auto",
        epochs: int = 10,
        patience: int | None = 3,
        batch_size: int = 50,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder  # type: ignore[assignment]  # the parent's has other values
        self.sentence_encoder = sentence_encoder
        self.attention = attention
        self.dim = dim
        self.hidden = hidden
        self.widths = widths
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.l2 = l2
        self.min_count = min_count
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings."""
        settings: dict[str, Any] = TextClassifier.get_params(self, deep)
        return settings

    def set_params(self, **params: Any) -> HierarchicalAttentionClassifier:
        """Change settings."""
        TextClassifier.set_params(self, **params)
        return self

    def _checked(self, classes: NDArray[Any], codes: NDArray[np.intp]) -> tuple[HierarchicalShape, Recipe]:
        """The settings, each in its range; the number of words is not known yet."""
        one_of(self.encoder, "encoder", (None, "gru", "conv", "lstm"))
        one_of(self.sentence_encoder, "sentence_encoder", (None, "weights", "gru"))
        one_of(self.attention, "attention", ("learned", "flat"))
        one_of(self.optimizer, "optimizer", ("adagrad", "adamw", "sgd"))
        number(self.dropout, "dropout", at_least=0, below=1)
        number(self.word_dropout, "word_dropout", at_least=0, below=1)
        number(self.l2, "l2", at_least=0)
        number(self.validation_fraction, "validation_fraction", at_least=0, below=1)
        for name in ("patience", "n_threads"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, at_least=1, instead=" or None")
        for name in ("dim", "hidden", "min_count", "epochs", "batch_size"):
            whole(getattr(self, name), name, at_least=1)
        if self.learning_rate != "auto":
            number(self.learning_rate, "learning_rate", above=0)
        widths = tuple(self.widths)
        for width in widths:
            whole(width, "widths", at_least=1)
        if not widths or any(width % 2 == 0 for width in widths):
            raise SettingError(
                f"`widths` must be odd numbers, one at least, so that a word has a middle; got {widths}."
            )
        dim, hidden = int(self.dim or 0), int(self.hidden or 0)
        if hidden % 2:
            raise SettingError(f"`hidden` must be even, for a GRU that reads both ways; got {hidden}.")
        if self.encoder is None and hidden != dim:
            raise SettingError(f"`hidden` must be `dim` ({dim}) without an encoder, for h = e; got {hidden}.")
        if self.encoder == "conv" and hidden < len(widths):
            raise SettingError(f"`hidden` must be at least the number of widths, {len(widths)}; got {hidden}.")
        shape = HierarchicalShape(
            words=0,
            sides=1 if len(classes) == 2 else len(classes),
            dim=dim,
            hidden=hidden,
            encoder=self.encoder or "none",
            bidirectional=True,
            widths=tuple(int(width) for width in widths),
            score="additive",
            scale=1.0,
            dropout=float(self.dropout),
            word_dropout=float(self.word_dropout),
            sentence_encoder=self.sentence_encoder or "none",
            flat=self.attention == "flat",
        )
        recipe = Recipe(
            self.optimizer,
            LEARNING_RATES[self.optimizer] if self.learning_rate == "auto" else float(self.learning_rate),
            float(self.l2),
            0.0,
            int(self.epochs),
            self.patience,
            int(self.batch_size),
            class_weights(self.class_weight, classes, codes),
            seed_of(self.random_state),
        )
        return shape, recipe

    def _learn_words(self, texts: list[str], n_threads: int) -> tuple[Vocabulary, Tokens]:
        found, counts = pieces(texts)
        vocabulary, tokens = Vocabulary.learn(found, ngrams=1, min_count=self.min_count, n_threads=n_threads)
        return vocabulary, with_marks(tokens, counts, len(vocabulary))

    def _numbered(self, vocabulary: Vocabulary, texts: list[str], n_threads: int) -> Tokens:
        return marked(vocabulary, texts, n_threads)

    def _network(self, shape: Any, vocabulary: Vocabulary, recipe: Recipe) -> HierarchicalNetwork:
        torch.manual_seed(recipe.seed)
        return HierarchicalNetwork(replace(shape, words=len(vocabulary)), sparse=self.optimizer != "adamw")

    def _model_of(
        self, vocabulary: Vocabulary, network: Any, classes: NDArray[Any], counts: NDArray[np.integer[Any]]
    ) -> HierarchicalModel:
        return HierarchicalModel(vocabulary, network, classes, counts)
