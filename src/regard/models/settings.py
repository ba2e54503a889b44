"""What an estimator was asked to do, checked."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from regard.errors import SettingError, nearest
from regard.tokens.threads import thread_count


@dataclass(frozen=True)
class Settings:
    """The settings of a training, each in its range.

    ``class_weight`` has one positive number for each class; ``seed`` is a whole number below 2³².
    """

    scale: float
    epochs: int | Literal["auto"]
    dropout: float | Literal["auto"]
    learning_rate: float
    validation_fraction: float
    class_weight: NDArray[np.float64]
    seed: int
    n_threads: int
    attention: Literal["learned", "frozen", "flat"] = "learned"


def checked(estimator: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> Settings:
    """Check the parameters that all table classifiers share.

    Parameters
    ----------
    estimator
        Whose parameters.
    classes : (classes,)
        The labels in order.
    codes : (documents,)
        The label of each document as a place in ``classes``.
    """
    e = estimator
    number(e.scale, "scale", above=0)
    if not (isinstance(e.epochs, str) and e.epochs == "auto"):
        whole(e.epochs, "epochs", at_least=1, instead=" or 'auto'")
    if not (isinstance(e.dropout, str) and e.dropout == "auto"):
        number(e.dropout, "dropout", at_least=0, below=1)
    number(e.learning_rate, "learning_rate", above=0)
    number(e.validation_fraction, "validation_fraction", at_least=0, below=1)
    if e.n_threads is not None:
        whole(e.n_threads, "n_threads", at_least=1, instead=" or None")
    return Settings(
        float(e.scale),
        e.epochs,
        "auto" if isinstance(e.dropout, str) else float(e.dropout),
        float(e.learning_rate),
        float(e.validation_fraction),
        class_weights(e.class_weight, classes, codes),
        seed_of(e.random_state),
        thread_count(e.n_threads),
        getattr(e, "attention", "learned"),
    )


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**32
    if random_state is not None and not isinstance(random_state, np.random.RandomState):
        raise SettingError(f"`random_state` must be a whole number, a RandomState or None; got {random_state!r}.")
    return int(check_random_state(random_state).randint(2**32, dtype=np.uint32))


def number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
) -> None:
    """Refuse what is not a finite number within its bounds."""
    bounds = [
        *([] if above is None else [f"above {above}"]),
        *([] if at_least is None else [f"at least {at_least}"]),
        *([] if below is None else [f"below {below}"]),
    ]
    x = math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    fits = (above is None or x > above) and (at_least is None or x >= at_least) and (below is None or x < below)
    if not (fits and math.isfinite(x)):
        raise SettingError(f"`{name}` must be a number {' and '.join(bounds)}; got {value!r}.")


def whole(value: Any, name: str, *, at_least: int, instead: str = "") -> None:
    """Refuse what is not a whole number of at least some size."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < at_least:
        raise SettingError(f"`{name}` must be a whole number of at least {at_least}{instead}; got {value!r}.")


def one_of(value: Any, name: str, known: tuple[Any, ...]) -> None:
    """Refuse what is not one of a few values."""
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        close = nearest(value, [each for each in known if isinstance(each, str)]) if isinstance(value, str) else ""
        raise SettingError(
            f"`{name}` must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}; got {value!r}.{close}"
        )


def class_weights(asked: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """A positive number for each class, from what the user asked for."""
    weights = np.ones(len(classes))
    if asked is None:
        return weights
    if isinstance(asked, str) and asked == "balanced":
        counts = np.bincount(codes, minlength=len(classes))
        return np.asarray(len(codes) / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(asked, dict):
        raise SettingError(f"`class_weight` must be None, 'balanced' or a dictionary by label; got {asked!r}.")
    known = {label.item() if isinstance(label, np.generic) else label: k for k, label in enumerate(classes)}
    for label, weight in asked.items():
        if label not in known:
            raise SettingError(f"`class_weight` must name labels of the data, {list(known)[:6]}; got {label!r}.")
        number(weight, f"class_weight[{label!r}]", above=0)
        weights[known[label]] = weight
    return weights
