"""A hardmax transformer as an estimator: words gather around leaders, and the mean of all decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.models.estimator import TextClassifier
from regard.models.hardmax.model import HardmaxModel
from regard.models.hardmax.training import Recipe, fit_hardmax
from regard.models.progress import progress_bar
from regard.models.settings import class_weights, number, seed_of, whole
from regard.tokens import Vocabulary
from regard.tokens.ready import say_if_compiling
from regard.tokens.threads import thread_count

_RAREST = 2


class HardmaxClassifier(TextClassifier):
    """A pure-attention hardmax transformer (Alcalde, Fantuzzi and Zuazua 2024), trained as it is used.

        x[i] ← x[i] + α / (1 + α) · (mean of x over C[i] - x[i])   in each layer,   C[i] = {j : x[i]·x[j] is largest}
        score = bias + W' (mean of the final x)

    over the words of a text, which start at their embeddings. Words gather around *leaders*, which stay where they are.
    The choice ``C`` is constant almost everywhere, so the exact gradient flows through the means: nothing is softened
    in training. Contributions of words add up to the score.

    Parameters
    ----------
    dim : int, default 2
        The dimension of the embeddings.
    layers : int, default 8
        How many.
    alpha : float, default 0.03
        Where the step α of all layers starts; it is learned, and stays positive. From about 1 on a few leaders decide
        alone after eight layers; small ones let every word speak, and predict better.
    ngrams : int, default 1
        The longest phrase that may have an embedding, in words.
    min_count : int or "auto", default "auto"
        How often a word or phrase must occur in the training texts to have an embedding; "auto" is 2 (1 in fewer than
        1,000 texts).
    epochs : int or "auto", default "auto"
        Passes over the texts; "auto" makes six and keeps the one after which held-out texts had the lowest log loss.
    dropout : float or "auto", default "auto"
        The share of a text's rows that is left out in each step; "auto" leaves out more of longer texts, up to a half.
    learning_rate : float, default 1.0
        Multiplies every step.
    validation_fraction : float, default 0.1
        The share of the texts held out to choose the epoch and to measure accuracy, where ``fit`` is given no
        validation texts.
    class_weight : dict, "balanced" or None, default None
        How much each class counts.
    random_state : int, RandomState or None, default 0
        The same seed and data give the same model, byte by byte, whatever ``n_threads``.
    n_threads : int or None, default None
        All cores, if None.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    model_ : HardmaxModel
        Embeddings, ``W``, bias and α.
    table_ : polars.DataFrame
        Each word by itself: the logarithm of its length as attention, polarity, counts, gamma, kind.
    course_ : list of dict
        By epoch: α, loss, and accuracy and log loss of held-out texts.
    n_iter_ : int
        The epoch that was kept.
    validation_ : dict or None
        What was measured on the held-out texts.

    Examples
    --------
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> clf = HardmaxClassifier(validation_fraction=0).fit(texts, ["+", "+", "-", "-"] * 5)
    >>> clf.predict(["a good one", "an awful one"]).tolist()
    ['+', '-']
    """

    kind = "HardmaxClassifier"
    course_: list[dict[str, float]]

    def __init__(
        self,
        *,
        dim: int = 2,
        layers: int = 8,
        alpha: float = 0.03,
        ngrams: int = 1,
        min_count: int | Literal["auto"] = "auto",
        epochs: int | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        learning_rate: float = 1.0,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.dim = dim
        self.layers = layers
        self.alpha = alpha
        self.ngrams = ngrams
        self.min_count = min_count
        self.epochs = epochs
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        watch: Callable[[int, HardmaxModel], None] | None = None,
    ) -> Self:
        """Learn the transformer, and keep the epoch after which held-out texts were predicted best.

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
        recipe = self._checked(classes, codes)
        say_if_compiling(self.verbose)
        with progress_bar(self.verbose) as report:
            report("Counting words", 0.0)
            automatic = isinstance(self.min_count, str)
            enough = (_RAREST if len(texts) >= 1000 else 1) if automatic else int(self.min_count)
            vocabulary, tokens = Vocabulary.learn(
                texts, ngrams=self.ngrams, min_count=enough, n_threads=recipe.n_threads
            )
            if not len(vocabulary):
                raise DataError(
                    f"Training needs words that occur often enough (min_count={self.min_count}); the {len(texts)} "
                    "texts have none: lower min_count or check the column of texts."
                )
            rows = vocabulary.rows(tokens, recipe.n_threads)
            held_out = None
            if validation is not None:
                new, new_codes = self._validation_data(validation, classes)
                held_out = vocabulary.rows(vocabulary.tokens(new, recipe.n_threads), recipe.n_threads), new_codes

            def make(state: Any, counts: NDArray[np.integer[Any]]) -> HardmaxModel:
                now = state.embedding.copy(), state.output.copy(), state.bias.copy(), float(np.exp(state.step[0]))
                return HardmaxModel(vocabulary, *now, recipe.layers, classes, counts)

            learned = fit_hardmax(rows, codes, make, len(vocabulary), len(classes), recipe, report, held_out, watch)
        self.classes_ = classes
        self.course_ = learned.course
        self.n_iter_ = learned.epochs
        self.validation_ = learned.validation
        self.model_ = HardmaxModel(
            vocabulary,
            learned.embedding,
            learned.output,
            learned.bias,
            learned.alpha,
            recipe.layers,
            classes,
            learned.counts,
            {**self._about(len(texts)), "alpha": learned.alpha, "course": learned.course},
        )
        return self

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """A fitted estimator around a model that was learned before."""
        loaded = super().from_model(model)
        loaded.course_ = model.about.get("course", [])
        return loaded

    def _checked(self, classes: NDArray[Any], codes: NDArray[np.intp]) -> Recipe:
        """The settings, each in its range."""
        for name in ("dim", "layers", "ngrams"):
            whole(getattr(self, name), name, at_least=1)
        for name in ("min_count", "epochs"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value == "auto"):
                whole(value, name, at_least=1, instead=" or 'auto'")
        number(self.alpha, "alpha", above=0)
        if not (isinstance(self.dropout, str) and self.dropout == "auto"):
            number(self.dropout, "dropout", at_least=0, below=1)
        number(self.learning_rate, "learning_rate", above=0)
        number(self.validation_fraction, "validation_fraction", at_least=0, below=1)
        if self.n_threads is not None:
            whole(self.n_threads, "n_threads", at_least=1, instead=" or None")
        return Recipe(
            int(self.dim),
            int(self.layers),
            float(self.alpha),
            self.epochs,
            "auto" if isinstance(self.dropout, str) else float(self.dropout),
            float(self.learning_rate),
            float(self.validation_fraction),
            class_weights(self.class_weight, classes, codes),
            seed_of(self.random_state),
            thread_count(self.n_threads),
        )
