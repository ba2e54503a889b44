"""What attention looks like, whatever it means: spread, stop words, directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch, ModelSource
from regard.audit.result import Measure, Result
from regard.audit.source import Floats
from regard.audit.view import View
from regard.explain.findings import directions

if TYPE_CHECKING:
    from regard.tokens import Vocabulary

_PROBED = 50


class Health:
    """Entropy, shares, conicity (Mohankumar et al. 2020), V·W (Sun and Lu 2020), and a probe of padding."""

    name = "health"
    linear = True

    def __init__(self, source: ModelSource) -> None:
        self._source = source
        self._stops = stop_rows(source.model.word_table.vocabulary)
        self._space = source.model.word_table.space if source.model.exact else None

    def measure(self, view: View) -> Seen:
        """Of each document."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        n = len(batch)
        some = np.flatnonzero(view.sizes > 0)
        bounds = batch.starts[:-1][some]

        def added(values: Floats) -> Floats:
            out = np.full(n, np.nan)
            if len(some):
                out[some] = np.add.reduceat(values, bounds)
            return out

        w = batch.weights
        entropy = added(-w * np.log(w, where=w > 0, out=np.zeros_like(w)))
        stops = self._stops[batch.rows].astype(np.float64)
        seen = {
            "entropy": np.where(view.sizes > 1, entropy / np.log(np.maximum(view.sizes, 2)), np.nan),
            "on stop words": added(w * stops),
            "stop words": added(stops) / np.maximum(view.sizes, 1),
        }
        if self._space is not None:
            conicity = np.full(n, np.nan)
            for doc in view.sample.documents.tolist():
                h = self._space.embedding[batch.rows[batch.starts[doc] : batch.starts[doc + 1]]].astype(np.float64)
                middle = h.mean(axis=0)
                sizes = np.linalg.norm(h, axis=1) * np.linalg.norm(middle)
                conicity[doc] = (h @ middle / np.maximum(sizes, 1e-300)).mean()
            seen["conicity"] = conicity
        return seen

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents, and what is true of the model as a whole."""
        stops = seen["stop words"]
        chance = float(stops[np.isfinite(stops)].mean()) if np.isfinite(stops).any() else None
        measures = [
            context.measure("entropy", seen["entropy"]),
            context.measure("attention on stop words", seen["on stop words"], random=chance),
        ]
        if "conicity" in seen:
            measures.append(context.measure("conicity", seen["conicity"]))
        model = self._source.model
        for k, angle in enumerate(directions(model).angle):
            name = "cosine of V and W" if model.sides == 1 else f"cosine of V and W, {model.classes[k]}"
            measures.append(Measure(name, float(np.cos(np.radians(angle))) if np.isfinite(angle) else None))
        texts = context.texts[:_PROBED]
        alone = np.concatenate([model.scores([text], 1) for text in texts])
        measures.append(
            Measure("padding probe", float(np.abs(alone - model.scores(texts)).max()), documents=len(texts))
        )
        return Result(
            "health",
            "What does the attention look like?",
            "entropy: H(weights) / ln n; on stop words: their share of the weights, beside their share of the units "
            "(English list; a phrase counts where all its words do); conicity: mean cos(h_i, mean "
            "h); cosine of V and W; "
            "padding probe: the largest change of a score between a text alone and among others",
            "entropy: neither, 1 is uniform and 0 a single unit; stop words: lower is better; "
            "conicity: lower is better, "
            "near 1 any weights give the same output; cosine and padding probe: near 0 is better",
            "nothing is removed",
            "shares of the attention",
            tuple(measures),
            notes=()
            if "conicity" in seen
            else ("Conicity needs vectors of more than two numbers a word, and this model keeps none.",),
        )


def stop_rows(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which rows are stop words or punctuation, or phrases of nothing else."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = [word in ENGLISH_STOP_WORDS or not any(c.isalnum() for c in word) for word in vocabulary.word_list]
    stops = np.array(words, np.bool_)
    for keys in vocabulary.phrases:
        prefix, last = (keys >> np.uint64(32)).astype(np.intp), (keys & np.uint64(0xFFFFFFFF)).astype(np.intp)
        stops = np.concatenate([stops, stops[prefix] & stops[last]])
    return stops
