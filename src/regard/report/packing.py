"""The model and the report's data as one compressed text that the page unpacks.

The text is base64 of a raw deflate stream: the length of the head (four bytes, little-endian), the head as ASCII JSON,
and the arrays, each in planes: first the lowest byte of every number, then the next. In planes the bytes that hardly
vary, such as exponents and the upper bytes of small counts, stand together and compress to little.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.report.alphabet import alphabet

if TYPE_CHECKING:
    from regard.models.table import TableModel
    from regard.report.data import Report

# Beyond this, the highest level of compression takes half a minute and gains one hundredth.
_LARGE = 1 << 23


def packed(report: Report) -> str:
    """Everything the page needs, as text."""
    model = report.model
    documents = report.documents
    head = {
        "name": report.overview.name,
        "classes": [_exact(label) for label in report.overview.classes],
        "labels": [str(label) for label in report.overview.classes],
        "sides": model.sides,
        "scale": float(report.overview.settings.get("scale", 1.0)),
        "levels": model.vocabulary.level_starts(),
        "kinds": model.kind_names(),
        "limit": report.map.limit,
        "alphabet": alphabet(),
        "words": "\n".join(model.vocabulary.word_list),
        "documents": None
        if documents is None
        else {
            "items": [
                [d.row, d.text, str(d.label) if d.label is not None else None, str(d.prediction), d.probability]
                for d in documents.items
            ],
        },
    }
    return encode(head, _arrays(model))


def _exact(label: Any) -> Any:
    """A label as JavaScript can hold it: whole numbers beyond 2⁵³ become strings."""
    return str(label) if isinstance(label, int) and abs(label) > 2**53 else label


def _arrays(model: TableModel) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "attention": model.attention,
        "polarity": model.polarity.T,
        "bias": model.bias,
        "counts": model.counts.T.astype(np.uint32),
        "kinds": model.kind_codes().astype(np.uint16),
    }
    starts = model.vocabulary.level_starts()
    for level, keys in enumerate(model.vocabulary.phrases):
        prefixes = (keys >> np.uint64(32)).astype(np.int64) - starts[level]
        lasts = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
        sizes = np.bincount(prefixes, minlength=starts[level + 1] - starts[level])
        # Within a prefix the last words ascend, so their differences are small.
        steps = np.diff(lasts, prepend=0)
        first = np.diff(prefixes, prepend=-1) != 0
        steps[first] = lasts[first]
        arrays[f"sizes{level}"] = sizes.astype(np.uint32)
        arrays[f"steps{level}"] = steps.astype(np.uint32)
    return arrays


def encode(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """A head and arrays as text."""
    kinds = {name: [array.dtype.str[1:], array.size] for name, array in arrays.items()}
    # ASCII: lone surrogates and U+2028 travel as escapes.
    text = json.dumps({**head, "arrays": kinds}, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    content = b"".join([len(text).to_bytes(4, "little"), text, *map(_planes, arrays.values())])
    squeeze = zlib.compressobj(9 if len(content) < _LARGE else 6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(squeeze.compress(content) + squeeze.flush()).decode()


def _planes(array: NDArray[Any]) -> bytes:
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    return plain.view(np.uint8).reshape(-1, plain.itemsize).T.tobytes()
