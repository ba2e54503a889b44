"""The papers' networks as an estimator: embeddings, an encoder or none, one attention."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray

from regard.corpus.splits import stratified_mask
from regard.errors import DataError, SettingError
from regard.models.estimator import TextClassifier
from regard.models.network import AttentionNetwork, Shape
from regard.models.neural import NeuralModel, drop_unknown
from regard.models.neural_training import Documents, Recipe, learn, measured, undisturbed
from regard.models.pretrained import read_vectors
from regard.models.progress import progress_bar
from regard.models.settings import class_weights, number, one_of, seed_of, whole
from regard.tokens import Tokens, Vocabulary
from regard.tokens.ready import say_if_compiling
from regard.tokens.threads import thread_count

LEARNING_RATES = {"adagrad": 0.02, "adamw": 0.001, "sgd": 0.015}
_DIM = 100


class NeuralAttentionClassifier(TextClassifier):
    """An attention classifier with embeddings, and an encoder or none: the models of Sun and Lu (2020).

        h = encoder(e),   a = h·V / λ  (dot)  or  V·tanh(A h) / λ  (additive)
        score = Σⱼ softmax(a)[j] · W' h[j]

    over the known words ``j`` of a text. Contributions weight · polarity add up to the score whatever the encoder; only
    without one, or with an affine one, does a word speak the same in every text.

    Parameters
    ----------
    encoder : None, "affine", "lstm" or "conv", default None
        h = e, h = M e, an LSTM, or convolutions of ``widths`` (DP, DP-A, DP-L, and FLAN of Serrano and Smith 2019).
    score : "dot" or "additive", default "dot"
        DP or AD.
    attention : "learned", "frozen" or "flat", default "learned"
        Frozen attention keeps V and A as they were drawn, and the rest is learned through the values alone; flat
        attention is the same for all words. Both are there to find out what learned attention is worth.
    scale : float, default 10.0
        λ: far below 1 attention settles on single words before it has learned which; from some 50 on it is nearly flat.
    dim : int, optional
        The size of e; 100, or that of ``vectors``.
    hidden : int, optional
        The size of h; ``dim``, if not given. Without an encoder it is that of e.
    bidirectional : bool, default True
        Whether the LSTM reads backwards too; each direction has half of ``hidden``.
    widths : sequence of int, default (3, 5)
        Of the convolutions, odd; they share ``hidden`` evenly.
    dropout : float, default 0.5
        The share of numbers left out of e and of the attended vector, in training.
    word_dropout : float, default 0.0
        The share of words whose e is zero altogether, in training: an encoder then learns to do without any one word.
    l2 : float, default 0.0
        The penalty on the squares of the encoder's weights and of A.
    penalty : float, default 0.0
        On |V·W|, which otherwise pulls the attention of opposite words apart.
    vectors : path, optional
        Word vectors to start from: GloVe's or fastText's text format, or safetensors (``regard.models.pretrained``).
    min_count : int, default 1
        How often a word must occur in the training texts to have an embedding.
    optimizer : "adagrad", "adamw" or "sgd", default "adagrad"
    learning_rate : float or "auto", default "auto"
        0.02 for Adagrad, 0.001 for AdamW, 0.015 for plain gradient descent.
    epochs : int, default 40
        At most.
    patience : int or None, default 8
        Stop after so many epochs that did not serve held-out texts better.
    batch_size : int, default 100
        Texts in a step.
    validation_fraction : float, default 0.1
        The share of texts held out to choose the epoch, where ``fit`` is given no validation texts. With 0 the last
        epoch is kept.
    class_weight : dict, "balanced" or None, default None
        How much each class counts.
    checkpoint : path, optional
        Written after every epoch; a training that finds its own there goes on from it, to the same result as if it
        had never stopped.
    device : str, default "auto"
        "cpu", "cuda", ...; "auto" takes CUDA where there is a device.
    random_state : int, RandomState or None, default 0
        The same seed, data and number of threads give the same model.
    n_threads : int or None, default None
        All cores, if None.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    model_ : NeuralModel
        The network and its words.
    table_ : polars.DataFrame
        Each word as a text of its own: word, attention, polarity, counts, gamma, kind.
    course_ : list of dict
        Loss, and accuracy and log loss on held-out texts, by epoch.
    n_iter_ : int
        The epoch that was kept.
    validation_ : dict or None
        What was measured on the held-out texts.

    Examples
    --------
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> clf = NeuralAttentionClassifier(dim=8, epochs=20, validation_fraction=0).fit(texts, ["+", "+", "-", "-"] * 5)
    >>> clf.predict(["a good one", "an awful one"]).tolist()
    ['+', '-']
    """

    kind = "NeuralAttentionClassifier"
    course_: list[dict[str, float]]

    def __init__(
        self,
        *,
        encoder: Literal["affine", "lstm", "conv"] | None = None,
        score: Literal["dot", "additive"] = "dot",
        attention: Literal["learned", "frozen", "flat"] = "learned",
        scale: float = 10.0,
        dim: int | None = None,
        hidden: int | None = None,
        bidirectional: bool = True,
        widths: Sequence[int] = (3, 5),
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        l2: float = 0.0,
        penalty: float = 0.0,
        vectors: str | os.PathLike[str] | None = None,
        min_count: int = 1,
        optimizer: Literal["adagrad", "adamw", "sgd"] = "adagrad",
        learning_rate: float | Literal["auto"] = "auto",
        epochs: int = 40,
        patience: int | None = 8,
        batch_size: int = 100,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self._score = score  # `score` is scikit-learn's method
        self.attention = attention
        self.scale = scale
        self.dim = dim
        self.hidden = hidden
        self.bidirectional = bidirectional
        self.widths = widths
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.l2 = l2
        self.penalty = penalty
        self.vectors = vectors
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

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        watch: Callable[[int, NeuralModel], None] | None = None,
    ) -> Self:
        """Learn the network, and keep the epoch after which held-out texts were classified best.

        Parameters
        ----------
        X : (texts,)
            A list, an array or a pandas or Polars series of strings.
        y : (texts,)
            Their labels: strings, whole numbers or booleans, of two classes or more.
        validation : (texts, labels), optional
            Texts to choose the epoch by, in place of a held-out share.
        watch : callable, optional
            Called with 0 and the model before the first epoch, and with the number of each finished epoch.
        """
        texts, classes, codes = self._training_data(X, y)
        shape, recipe = self._checked(classes, codes)
        n_threads = thread_count(self.n_threads)
        device = _device(self.device)
        new: tuple[list[str], NDArray[np.intp]] | None = None
        if validation is not None:
            new = self._validation_data(validation, classes)
        elif self.validation_fraction > 0:
            out = stratified_mask(codes, self.validation_fraction, recipe.seed)
            if out.any():
                new = [texts[i] for i in np.flatnonzero(out)], codes[out]
                texts, codes = [texts[i] for i in np.flatnonzero(~out)], codes[~out]
        say_if_compiling(self.verbose)
        with progress_bar(self.verbose) as report, undisturbed(n_threads, device):
            report("Counting words", 0.0)
            vocabulary, tokens = self._learn_words(texts, n_threads)
            if not len(vocabulary):
                raise DataError(
                    f"Training needs words that occur often enough (min_count={self.min_count}); the {len(texts)} "
                    "texts have none: lower min_count or check the column of texts."
                )
            training = _spoken(Documents(drop_unknown(tokens), codes))
            held_out = Documents(self._numbered(vocabulary, new[0], n_threads), new[1]) if new else None
            network = self._network(shape, vocabulary, recipe).to(device).eval()
            counts = _counts(training, len(vocabulary), len(classes))
            model = self._model_of(vocabulary, network, classes, counts)
            progress = learn(
                model,
                training,
                held_out,
                recipe,
                report=report,
                watch=watch,
                checkpoint=self.checkpoint,
            )
            self.validation_ = None
            if held_out is not None:
                self.validation_ = {
                    **measured(model, held_out),
                    "course": [step["log_loss"] for step in progress.course],
                }
        self.classes_ = classes
        self.course_ = progress.course
        self.n_iter_ = progress.best_epoch
        self.model_ = model.with_about({**self._about(len(training)), "course": progress.course})
        return self

    def _learn_words(self, texts: list[str], n_threads: int) -> tuple[Vocabulary, Tokens]:
        """The words that occur often enough, and the texts as their numbers."""
        return Vocabulary.learn(texts, ngrams=1, min_count=self.min_count, n_threads=n_threads)

    def _numbered(self, vocabulary: Vocabulary, texts: list[str], n_threads: int) -> Tokens:
        """Other texts as the numbers of known words."""
        return vocabulary.tokens(texts, n_threads)

    def _model_of(
        self, vocabulary: Vocabulary, network: Any, classes: NDArray[Any], counts: NDArray[np.integer[Any]]
    ) -> NeuralModel:
        """The model that holds a network."""
        return NeuralModel(vocabulary, network, classes, counts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings; that of the constructor's ``score``, too, whose name is a method's here."""
        return {**super().get_params(deep), "score": self._score}

    def set_params(self, **params: Any) -> Self:
        """Change settings."""
        self._score = params.pop("score", self._score)
        super().set_params(**params)
        return self

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """A fitted estimator around a model that was learned before."""
        loaded = super().from_model(model)
        loaded.course_ = model.about.get("course", [])
        return loaded

    def _checked(self, classes: NDArray[Any], codes: NDArray[np.intp]) -> tuple[Shape, Recipe]:
        """The settings, each in its range; the number of words is not known yet."""
        one_of(self.encoder, "encoder", (None, "affine", "lstm", "conv"))
        one_of(self._score, "score", ("dot", "additive"))
        one_of(self.attention, "attention", ("learned", "frozen", "flat"))
        one_of(self.optimizer, "optimizer", ("adagrad", "adamw", "sgd"))
        number(self.scale, "scale", above=0)
        number(self.dropout, "dropout", at_least=0, below=1)
        number(self.word_dropout, "word_dropout", at_least=0, below=1)
        number(self.l2, "l2", at_least=0)
        number(self.penalty, "penalty", at_least=0)
        number(self.validation_fraction, "validation_fraction", at_least=0, below=1)
        for name in ("dim", "hidden", "patience", "n_threads"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, at_least=1, instead=" or None")
        for name in ("min_count", "epochs", "batch_size"):
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
        dim = self.dim or _DIM
        hidden = self.hidden or dim
        if self.encoder is None and hidden != dim:
            raise SettingError(f"`hidden` is `dim` ({dim}) without an encoder, for h = e; got {hidden}: leave it out.")
        if self.encoder == "lstm" and self.bidirectional and hidden % 2:
            raise SettingError(f"`hidden` must be even for an LSTM that reads both ways; got {hidden}.")
        if self.encoder == "conv" and hidden < len(widths):
            raise SettingError(f"`hidden` must be at least the number of widths, {len(widths)}; got {hidden}.")
        sides = 1 if len(classes) == 2 else len(classes)
        shape = Shape(
            0,
            sides,
            dim,
            hidden,
            self.encoder or "none",
            bool(self.bidirectional),
            tuple(int(width) for width in widths),
            self._score,
            float(self.scale),
            float(self.dropout),
            float(self.word_dropout),
            self.attention,
        )
        rate = LEARNING_RATES[self.optimizer] if self.learning_rate == "auto" else float(self.learning_rate)
        recipe = Recipe(
            self.optimizer,
            rate,
            float(self.l2),
            float(self.penalty),
            int(self.epochs),
            self.patience,
            int(self.batch_size),
            class_weights(self.class_weight, classes, codes),
            seed_of(self.random_state),
        )
        return shape, recipe

    def _network(self, shape: Shape, vocabulary: Vocabulary, recipe: Recipe) -> AttentionNetwork:
        """The network before training, drawn from the seed."""
        found = None
        if self.vectors is not None:
            found = read_vectors(self.vectors, vocabulary.word_list)
            dim = found[1].shape[1]
            if self.dim not in (None, dim):
                raise SettingError(f"`dim` must be that of `vectors`, {dim}; got {self.dim}: leave it out.")
            hidden = self.hidden if self.hidden and self.encoder else dim
            shape = replace(shape, dim=dim, hidden=hidden)
        torch.manual_seed(recipe.seed)
        network = AttentionNetwork(replace(shape, words=len(vocabulary)), sparse=self.optimizer != "adamw")
        if found is not None:
            with torch.no_grad():
                network.embedding.weight[torch.from_numpy(found[0])] = torch.from_numpy(found[1])
        return network


def _spoken(documents: Documents) -> Documents:
    """Those with a word at least."""
    tokens = documents.tokens
    kept = np.flatnonzero(np.diff(tokens.starts))
    return Documents(Tokens(tokens.ids, np.append(tokens.starts[kept], tokens.starts[-1])), documents.codes[kept])


def _counts(documents: Documents, words: int, classes: int) -> NDArray[np.integer[Any]]:
    """How often each word occurs in the texts of each class: (words, classes). Marks are not counted."""
    tokens = documents.tokens
    of_token = np.repeat(documents.codes, np.diff(tokens.starts))
    counts = np.bincount(tokens.ids.astype(np.int64) * classes + of_token, minlength=words * classes)
    counts = counts[: words * classes]
    return counts.reshape(words, classes).astype(np.min_scalar_type(int(counts.max(initial=0))))


def _device(asked: str) -> torch.device:
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(asked)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"`device` must be 'auto' or a device of PyTorch that is there, such as 'cpu'; got {asked!r}."
        ) from error
    return device
