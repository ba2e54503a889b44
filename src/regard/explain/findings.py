"""Can the scores of a model be read? Its directions, and a plain word on each condition; ``docs/reading.md``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.explain.entries import Floats, inner_model
from regard.models.hardmax.model import HardmaxModel
from regard.models.model import Model
from regard.models.table import TableModel
from regard.models.vectors import Vectors

Verdict = Literal["ok", "caution", "no"]

_LARGEST_SCALE = 50.0  # beyond, the paper sees attention scores of positive and negative words part
_FACTOR = 10.0  # how far outside the range a scale is doubtful and not yet hopeless
# The cosine of V and W times λ/√d is about the size of term D beside E, and times √d/λ that of A beside B.
_LITTLE, _MUCH = 0.3, 0.8
_APART, _MIXED = 0.7, 0.5  # areas under the curve
_ENOUGH = 10  # words of a kind
_LED = 0.5  # of the way to a leader


@dataclass(frozen=True)
class Directions:
    """How the direction that reads attention lies to the one that reads polarity.

    Attributes
    ----------
    dot : (sides,)
        ``V·W``. With the additive score ``V`` is what reads the embedding to first order, ``M'V``.
    attention_norm : float
        ``|V|``.
    output_norm : (sides,)
        ``|W|``.
    angle : (sides,)
        Between them, in degrees; NaN where one of them is zero.
    """

    dot: Floats
    attention_norm: float
    output_norm: Floats
    angle: Floats


@dataclass(frozen=True)
class Finding:
    """One condition under which scores can be read, and whether it holds.

    Attributes
    ----------
    name : str
        What was looked at.
    value : float or None
        What was found; None where it cannot be said.
    verdict : "ok", "caution", "no" or None
        None where it cannot be said; ``meaning`` then has the reason.
    meaning : str
        One sentence on what that means.
    change : str
        One sentence on what to change.
    """

    name: str
    value: float | None
    verdict: Verdict | None
    meaning: str
    change: str


def directions(model: Any) -> Directions:
    """``V·W``, ``|V|``, ``|W|`` and the angle between them, for each side of a model.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    """
    return vector_directions(inner_model(model).vectors)


def vector_directions(vectors: Vectors) -> Directions:
    """The same from the vectors themselves."""
    v, w = _v(vectors), vectors.output.astype(np.float64)
    norms = np.linalg.norm(w, axis=0)
    cosines = _cosines(v, w)
    return Directions(w.T @ v, float(np.linalg.norm(v)), norms, np.degrees(np.arccos(np.clip(cosines, -1, 1))))


def _v(vectors: Vectors) -> Floats:
    v = vectors.attention.astype(np.float64)
    return v if vectors.additive is None else np.asarray(vectors.additive.T.astype(np.float64) @ v)


def _cosines(v: Floats, w: Floats) -> Floats:
    """NaN where one of the two is zero."""
    lengths = np.linalg.norm(v) * np.linalg.norm(w, axis=0)
    cosines: Floats = np.divide(w.T @ v, lengths, out=np.full(w.shape[1], np.nan), where=lengths > 0)
    return cosines


def reading(model: Any) -> list[Finding]:
    """Whether the scores of a model can be read, in plain language: the scale, the directions, the words.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    """
    inner = inner_model(model)
    if isinstance(inner, HardmaxModel):
        return [_step(inner), _separation(inner)]
    if inner.kind == "HierarchicalAttentionClassifier":  # its scores have no λ, and two layers lie behind them
        return [_separation(inner)]
    return [_scale(inner), _lean(inner), _separation(inner)]


def cautions(findings: list[Finding]) -> list[Finding]:
    """Those that are not all right."""
    return [finding for finding in findings if finding.verdict in ("caution", "no")]


_FINE = "Nothing needs to change."


def _step(model: HardmaxModel) -> Finding:
    name = "weight that goes through leaders"
    passed = 1 - (1 + model.alpha) ** -model.layers
    found = (
        f"With α = {model.alpha:.3g} and {model.layers} layers a follower ends {passed:.0%} of its way to its leader"
    )
    if passed >= _LED:
        return Finding(
            name, passed, "ok", f"{found}: the leaders decide, and reading them is reading the model.", _FINE
        )
    return Finding(
        name,
        passed,
        "caution",
        f"{found}, so most words speak for themselves too, and leaders alone do not tell the prediction.",
        "Read contributions, which hold for every α, or train with alpha=1, where leaders decide, less accurately.",
    )


def _is_table(model: Model) -> bool:
    """Whether two numbers a word were learned themselves, and not read off vectors."""
    return isinstance(model, TableModel) and model.space is None


def _scale(model: Model) -> Finding:
    name = "scale λ"
    if _is_table(model):
        return Finding(
            name,
            model.about.get("parameters", {}).get("scale"),
            "ok",
            "Any λ can be read: this model learns its two numbers a word directly, so λ is only the unit of the "
            "attention score and the training takes the same path with every λ.",
            _FINE,
        )
    value, size = float(model.vectors.scale), len(model.vectors.attention)
    low = float(np.sqrt(size))
    high = max(_LARGEST_SCALE, low)
    span = f"from √d = {low:.3g} to {high:.3g} for width {size}"
    if low <= value <= high:
        return Finding(name, value, "ok", f"λ is in the range in which scores can be read, {span}.", _FINE)
    verdict: Verdict = "caution" if low / _FACTOR <= value <= high * _FACTOR else "no"
    if value < low:
        return Finding(
            name,
            value,
            verdict,
            f"λ is below the range in which scores can be read, {span}: attention settles on a few words early, and "
            "polarity mixes with it (term A).",
            f"Train with λ of at least {low:.3g}.",
        )
    return Finding(
        name,
        value,
        verdict,
        f"λ is above the range in which scores can be read, {span}: attention becomes nearly even, and the scores of "
        "the two sides drift apart (term D).",
        f"Train with λ of at most {high:.3g}.",
    )


def _lean(model: Model) -> Finding:
    name = "cosine of V and W"
    if _is_table(model):
        return Finding(
            name,
            0.0,
            "ok",
            "Attention and polarity are two separate numbers here, so V·W is zero by construction and neither leaks "
            "into the other.",
            _FINE,
        )
    vectors = model.vectors
    w = vectors.output.astype(np.float64)
    if w.shape[1] > 1:
        w = w - w.mean(axis=1, keepdims=True)  # what all classes share moves no probability
    cosines = _cosines(_v(vectors), w)
    if np.isnan(cosines).all():
        return Finding(
            name,
            None,
            None,
            "V or W is zero, so there is no angle between them: the model has learned nothing yet.",
            "Train for more epochs, or with a larger step.",
        )
    k = int(np.nanargmax(np.abs(cosines)))
    cosine, scale, root = float(cosines[k]), float(vectors.scale), float(np.sqrt(len(vectors.attention)))
    leak = abs(cosine) * max(scale / root, root / scale)
    angle = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    found = f"V and W are {angle:.0f}° apart (cosine {cosine:+.2f})"
    if leak <= _LITTLE:
        return Finding(
            name,
            cosine,
            "ok",
            f"{found}, which with λ = {scale:g} hardly sets the scores of one side above the other's.",
            _FINE,
        )
    favoured = _favoured(model, k, cosine)
    effect = (
        f"words for {favoured} get attention for their side, and those of the other side lose it (term D)"
        if scale >= root
        else f"words that get attention are pushed towards {favoured} (term A)"
    )
    return Finding(
        name,
        cosine,
        "caution" if leak <= _MUCH else "no",
        f"{found}, and with λ = {scale:g} that matters: {effect}; V·W follows the balance of the classes.",
        "Bring λ nearer to √d, even out the classes, penalise V·W in training, or use the table, where it is zero by "
        "construction.",
    )


def _favoured(model: Model, side: int, cosine: float) -> str:
    if model.sides == 1:
        return repr(model.classes.tolist()[int(cosine > 0)])
    label = repr(model.classes.tolist()[side])
    return label if cosine > 0 else f"all but {label}"


def _separation(model: Model) -> Finding:
    name = "polar words above neutral ones"
    table = model.word_table
    codes, names = table.kind_codes(), table.kind_names()
    attention = table.attention.astype(np.float64)
    neutral = attention[codes == 1]
    polar = [(names[2 + k], attention[codes == 2 + k]) for k in range(len(table.classes))]
    few = [f"{len(scores)} {kind}" for kind, scores in [*polar, ("neutral", neutral)] if len(scores) < _ENOUGH]
    enough = [(kind, scores) for kind, scores in polar if len(scores) >= _ENOUGH]
    if len(neutral) < _ENOUGH or not enough:
        return Finding(
            name,
            None,
            None,
            f"Too few words to compare: {', '.join(few)}, and at least {_ENOUGH} of a kind are needed.",
            "Train on more texts, or keep rarer words with a smaller min_count.",
        )
    together = area_under_curve(np.concatenate([scores for _, scores in enough]), neutral)
    areas = {kind: area_under_curve(scores, neutral) for kind, scores in enough}
    worst = min(areas, key=areas.__getitem__)
    share = "more than 99.9%" if 0.9995 < together < 1 else f"{together:.1%}"
    if areas[worst] >= _APART:
        return Finding(
            name,
            together,
            "ok",
            f"A polar word scores above a neutral one in {share} of pairs, so a high attention score marks a "
            "word that matters.",
            _FINE,
        )
    return Finding(
        name,
        together,
        "caution" if areas[worst] >= _MIXED else "no",
        "A high attention score does not mark every word that matters: a polar word scores above a neutral one in "
        f"{share} of pairs, and one of the kind {worst!r} in {areas[worst]:.1%} (a coin would reach 50%).",
        "Bring λ and V·W into their ranges, or read contributions (weight · polarity) in place of attention.",
    )


def area_under_curve(above: NDArray[np.floating[Any]], below: NDArray[np.floating[Any]]) -> float:
    """How often one of ``above`` exceeds one of ``below``; a tie counts one half.

    Examples
    --------
    >>> area_under_curve(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(below)
    less = np.searchsorted(ordered, above, "left")
    not_more = np.searchsorted(ordered, above, "right")
    return float((less + not_more).mean() / (2 * len(ordered)))
