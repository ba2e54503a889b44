"""Word vectors that somebody else learned: GloVe's and fastText's text format, or safetensors."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

Found = tuple[NDArray[np.intp], NDArray[np.float32]]


def read_vectors(path: str | os.PathLike[str], words: Sequence[str]) -> Found:
    """The vectors of some words.

    Parameters
    ----------
    path
        Text, plain or .gz: a word and its numbers a line, with or without fastText's first line of two counts. Or
        safetensors: ``vectors`` (n, d), and ``words``, the n words' UTF-8 bytes joined by newlines.
    words
        Those wanted; words come in lower case, so a capitalised line is used where there is none in lower case.

    Returns
    -------
    places : (found,)
        Which of ``words`` have a vector.
    vectors : (found, d)
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"`vectors` must be a file of word vectors; there is none at {path}: check the path.")
    found = _from_safetensors(path, words) if path.suffix == ".safetensors" else _from_text(path, words)
    if not len(found[0]):
        raise DataError(
            f"{path} has a vector for none of the {len(words)} words of the training texts; check its form."
        )
    return found


def _from_text(path: Path, words: Sequence[str]) -> Found:
    places = {word: i for i, word in enumerate(words)}
    found: dict[int, tuple[bool, NDArray[np.float32]]] = {}
    dim = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            word, _, numbers = line.strip().partition(b" ")
            if number == 1 and word.isdigit() and numbers.strip().isdigit():
                continue
            text = word.decode("utf-8", "replace")
            same = text in places
            place = places.get(text if same else text.lower(), -1)
            if place < 0 or (place in found and (found[place][0] or not same)):
                continue
            try:
                vector = np.array(numbers.split(), np.float32)
            except ValueError as error:
                raise DataError(
                    f"{path} should have a word and its numbers a line; line {number} has {line[:40]!r}: expected the "
                    "text format of GloVe or fastText."
                ) from error
            dim = dim or len(vector)
            if len(vector) != dim or not dim:
                raise DataError(
                    f"{path} should have equally many numbers a line; line {number} has {len(vector)}, others {dim}."
                )
            found[place] = same, vector
    order = sorted(found)
    return np.array(order, np.intp), np.array([found[i][1] for i in order], np.float32)


def _from_safetensors(path: Path, words: Sequence[str]) -> Found:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            vectors, listed = file.get_tensor("vectors"), file.get_tensor("words")
    except (SafetensorError, OSError) as error:
        raise DataError(
            f"{path} should be a safetensors file with `vectors` (n, d) and `words` (the words' bytes, joined by "
            f"newlines); reading it gave: {error}."
        ) from error
    names = listed.tobytes().decode("utf-8").split("\n")
    if vectors.ndim != 2 or len(names) != len(vectors):
        raise DataError(f"{path} should have a word for each vector; got {len(names)} words and {vectors.shape}.")
    lower = {name.lower(): i for i, name in reversed(list(enumerate(names)))}
    exact = {name: i for i, name in enumerate(names)}
    at = np.array([exact.get(word, lower.get(word, -1)) for word in words], np.intp)
    places = np.flatnonzero(at >= 0)
    return places, vectors[at[places]].astype(np.float32)
