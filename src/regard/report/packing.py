"""The model and the report's data as one compressed text that the page unpacks.

The text is base64 of a raw deflate stream: the length of the head (four bytes, little-endian), the head as ASCII JSON,
and the arrays, each in planes: first the lowest byte of every number, then the next. In planes the bytes that hardly
vary, such as exponents and the upper bytes of small counts, stand together and compress to little. Lines of the table
that several rows share are stored once.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import fields
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
    sections = {each.name: getattr(report, each.name) for each in fields(report)}
    head = {
        "name": report.overview.name,
        "classes": [_exact(label) for label in report.overview.classes],
        "labels": [str(label) for label in report.overview.classes],
        "sides": model.sides,
        "scale": float(report.overview.settings.get("scale", 1.0)),
        "levels": model.vocabulary.level_starts(),
        "kinds": model.kind_names(),
        "exact": report.exact,
        "alphabet": alphabet(),
        "words": "\n".join(model.vocabulary.word_list),
        "sections": {name: data.for_page() for name, data in sections.items() if hasattr(data, "for_page")},
    }
    return encode(head, _arrays(model))


def _exact(label: Any) -> Any:
    """A label as JavaScript can hold it: whole numbers beyond 2⁵³ become strings."""
    return str(label) if isinstance(label, int) and abs(label) > 2**53 else label


def _arrays(model: TableModel) -> dict[str, NDArray[Any]]:
    codes, first = records(model)
    arrays: dict[str, NDArray[Any]] = {
        "bias": model.bias,
        "records": codes,
        "attention": model.attention[first],
        "polarity": model.polarity[first].T,
        "counts": model.counts[first].T.astype(np.uint32),
        "kinds": model.kind_codes()[first].astype(np.uint16),
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


def records(model: TableModel) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """The distinct lines of the table: most rows are rare, and rows with equal counts have equal numbers.

    Returns
    -------
    codes : (rows,)
        0 for a line that no other row has, in the order of the rows; ``1 + i`` for the shared line ``i``.
    first : (lines,)
        A row with that line; shared lines come first, the commonest foremost, so that their numbers are small.
    """
    numbers = [model.attention[:, None].view(np.uint32), model.polarity.view(np.uint32)]
    lines = np.concatenate([*numbers, model.counts.astype(np.uint32)], axis=1)
    # Equal lines have equal sums; that unequal ones have too, by chance, is checked below.
    factors = np.random.default_rng(0).integers(1, 2**63, lines.shape[1], np.uint64) | np.uint64(1)
    sums = np.zeros(len(lines), np.uint64)
    for column, factor in zip(lines.T, factors, strict=True):
        sums += (column.astype(np.uint64) + np.uint64(1)) * factor
        sums ^= sums >> np.uint64(29)
    _, first, inverse, times = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    if any(not np.array_equal(column[first][inverse], column) for column in lines.T):
        return np.zeros(len(lines), np.uint32), np.arange(len(lines))
    shared = np.flatnonzero(times > 1)
    shared = shared[np.lexsort((first[shared], -times[shared]))]
    alone = np.sort(first[times == 1])
    code = np.zeros(len(times), np.uint32)
    code[shared] = 1 + np.arange(len(shared), dtype=np.uint32)
    return code[inverse], np.concatenate([first[shared], alone])


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
