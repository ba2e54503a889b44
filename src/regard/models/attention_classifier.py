"""The flagship: from texts to a table of words, each with a loudness and a side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from regard.errors import DataError
from regard.models.estimator import TextClassifier
from regard.models.progress import progress_bar
from regard.models.settings import checked, one_of, whole
from regard.models.table import TableModel
from regard.models.training import fit_table
from regard.models.width import fit_vectors
from regard.tokens import Vocabulary
from regard.tokens.ready import say_if_compiling


class AttentionClassifier(TextClassifier):
    """A text classifier in which every word and phrase has two numbers: how loudly it speaks, which side it takes.

        weight[j] ∝ exp(attention[j]),   score = bias + Σⱼ weight[j] polarity[j]

    over the words and phrases ``j`` of a text, each time they occur. The contributions weight · polarity add up to the
    score, so an explanation estimates nothing.

    Parameters
    ----------
    ngrams : int, default 2
        The longest phrase that may have a row of the table, in words.
    min_count : int or "auto", default "auto"
        How often a word or phrase must occur in the training texts to have a row; "auto" keeps all up to four million
        tokens (fewer, with dozens of classes) and asks for more as the texts grow, so that the table stays of a size.
    width : int, default 2
        How many numbers ``e`` a word or phrase has. Two are attention and polarity themselves. More make the paper's
        own model, learned as the paper learns it: attention is e·V / scale and polarity e·W, and the directions V and
        W are learned too. What comes of it is a table all the same, which keeps its vectors (``model_.vectors``). The
        paper has width=100, ngrams=1, min_count=1.
    attention : "learned", "frozen" or "flat", default "learned"
        Frozen attention stays as the counts start it; with a larger width V stays as it was drawn, and vectors are
        learned for W alone. Flat attention is the same for all words, which makes the model a plain average. Both are
        there to find out what learned attention is worth.
    scale : float, default 10.0
        The λ of the paper: attention is loudness / scale. With two numbers steps are in proportion, so training takes
        the same path for every scale; it is the unit in which ``loudness_`` is written. With more it matters.
    epochs : int or "auto", default "auto"
        Passes over the texts; "auto" takes as many, up to five (40 with a larger width), as serve held-out texts best.
    dropout : float or "auto", default "auto"
        The share of a text's rows that is left out in each step; "auto" leaves out more of longer texts, up to a half.
        With a larger width the same share of the dimensions is left out too, and "auto" is a half.
    learning_rate : float, default 1.0
        Multiplies every step.
    validation_fraction : float, default 0.1
        The share of the texts held out to choose the epochs and to measure accuracy, where ``fit`` is given no
        validation texts. The final table is learned from all texts.
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
    model_ : TableModel
        The table itself.
    table_ : polars.DataFrame
        The same for reading: word, attention, polarity, counts, gamma, kind.
    classes_ : (classes,)
        The labels.
    validation_ : dict or None
        Accuracy and macro-F1 on the held-out texts.
    n_iter_ : int
        Epochs.

    Examples
    --------
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> clf = AttentionClassifier(validation_fraction=0).fit(texts, ["+", "+", "-", "-"] * 5)
    >>> clf.predict(["a good one", "an awful one"]).tolist()
    ['+', '-']
    """

    kind = "AttentionClassifier"

    def __init__(
        self,
        *,
        ngrams: int = 2,
        min_count: int | Literal["auto"] = "auto",
        width: int = 2,
        attention: Literal["learned", "frozen", "flat"] = "learned",
        scale: float = 10.0,
        epochs: int | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        learning_rate: float = 1.0,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.ngrams = ngrams
        self.min_count = min_count
        self.width = width
        self.attention = attention
        self.scale = scale
        self.epochs = epochs
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    # -- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None) -> Self:
        """Learn the table.

        Parameters
        ----------
        X : (texts,)
            A list, an array or a pandas or Polars series of strings.
        y : (texts,)
            Their labels: strings, whole numbers or booleans, of two classes or more.
        validation : (texts, labels), optional
            Texts to choose the number of epochs by and to measure accuracy on, in place of a held-out share.
        """
        texts, classes, codes = self._training_data(X, y)
        whole(self.ngrams, "ngrams", at_least=1)
        automatic = isinstance(self.min_count, str) and self.min_count == "auto"
        if not automatic:
            whole(self.min_count, "min_count", at_least=1, instead=" or 'auto'")
        whole(self.width, "width", at_least=2)
        one_of(self.attention, "attention", ("learned", "frozen", "flat"))
        settings = checked(self, classes, codes)
        say_if_compiling(self.verbose)
        with progress_bar(self.verbose) as report:
            report("Counting words", 0.0)
            enough = _enough(len(classes)) if automatic else int(self.min_count)
            vocabulary, tokens = Vocabulary.learn(
                texts, ngrams=self.ngrams, min_count=enough, n_threads=settings.n_threads
            )
            if not len(vocabulary):
                raise DataError(
                    f"Training needs words that occur often enough (min_count={self.min_count}); the {len(texts)} "
                    "texts have none: lower min_count or check the column of texts."
                )
            rows = vocabulary.rows(tokens, settings.n_threads)
            del tokens
            held_out = None
            if validation is not None:
                new, new_codes = self._validation_data(validation, classes)
                held_out = vocabulary.rows(vocabulary.tokens(new, settings.n_threads), settings.n_threads), new_codes
            known = rows, len(vocabulary), codes, len(classes)
            if self.width == 2:
                fitted = fit_table(*known, settings, report, held_out)
            else:
                fitted = fit_vectors(*known, self.width, settings, report, held_out)
        self.classes_ = classes
        self.n_iter_ = fitted.epochs
        self.validation_ = fitted.validation
        self.model_ = TableModel(
            vocabulary,
            fitted.attention,
            fitted.polarity,
            fitted.bias,
            classes,
            fitted.counts,
            self._about(len(texts)),
            fitted.space,
        )
        return self

    @property
    def loudness_(self) -> NDArray[np.float64]:
        """The attention scores times ``scale``: what the paper writes e·V."""
        check_is_fitted(self)
        return np.asarray(self.model_.attention.astype(np.float64) * self.scale)


def _enough(classes: int) -> Callable[[int], int]:
    """How often a word must occur, from how many tokens there are: the table has a number a row for each class."""
    sides = 1 if classes == 2 else classes
    return lambda tokens: max(1, -(-tokens // 4_000_000), -(-tokens * sides // 80_000_000))
