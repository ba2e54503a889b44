"""What must hold for any bytes whatever: a right result, or one clear error."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from regard.corpus import demo, read
from regard.errors import RegardError
from regard.models import AttentionClassifier, load_model, store
from regard.tokens import Vocabulary, tokenize

FOLDER = Path(tempfile.mkdtemp(prefix="regard-fuzz-"))
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".csv.zst", ".jsonl.gz", ".txt")
ENCODINGS = ("utf-8", "latin-1", "utf-16", "cp1252")


def reader(data: bytes) -> None:
    """A table is read, or refused with a sentence; what is read has as many labels as texts."""
    if len(data) < 2:
        return
    path = FOLDER / f"table{SUFFIXES[data[0] % len(SUFFIXES)]}"
    path.write_bytes(data[2:])
    need_labels = bool(data[1] & 1)
    try:
        corpus = read(path, encoding=ENCODINGS[(data[1] >> 1) % len(ENCODINGS)], need_labels=need_labels)
    except RegardError as error:
        assert str(error).strip(), "an error says something"
        return
    assert all(isinstance(text, str) for text in corpus.texts)
    if need_labels:
        assert len(corpus.labels) == len(corpus.texts)
        assert all(text.strip() for text in corpus.texts)


def tokens(data: bytes) -> None:
    """The byte loops cut as the rule does, and number what they cut."""
    texts = data.decode("utf-8", "surrogateescape").split("\x1e")
    vocabulary, numbered = Vocabulary.learn(texts, ngrams=1, min_count=1, n_threads=1)
    words = vocabulary.word_list
    for i, text in enumerate(texts):
        cut = [token.text for token in tokenize(text)]
        assert [words[row] for row in numbered[i]] == cut, (text, cut)
    again = vocabulary.tokens(texts, 1)
    np.testing.assert_array_equal(again.ids, numbered.ids)


def _model() -> bytes:
    corpus = demo().take(np.arange(400))
    path = FOLDER / "model.regard"
    AttentionClassifier(n_threads=1).fit(corpus.texts, corpus.labels).save(path)
    return path.read_bytes()


MODEL = _model()


def model(data: bytes) -> None:
    """A file is a model, or refused; a flipped byte never passes the checksum."""
    path = FOLDER / "any.regard"
    content = bytearray(MODEL)
    if data[:1] == b"\0":  # the bytes as they are
        content = bytearray(data[1:])
    else:  # changes of the model: places and bytes
        for i in range(1, len(data) - 4, 5):
            content[int.from_bytes(data[i : i + 4], "little") % len(content)] ^= data[i + 4] or 1
    path.write_bytes(content)
    try:
        load_model(path)
    except RegardError:
        return
    assert bytes(content) == MODEL, "another file passed for the model"


def parts(data: bytes) -> None:
    """Parts that do not fit together are refused though their checksum is right; others predict without harm."""
    kind, about, tensors = _taken_apart()
    names = sorted(tensors)
    for i in range(0, len(data) - 5, 6):
        name = names[data[i] % len(names)]
        array = tensors[name].copy()
        if data[i + 1] % 4 == 0:
            array = array[: int.from_bytes(data[i + 2 : i + 4], "little") % (len(array) + 1)]
        elif array.size:
            flat = array.reshape(-1).view(np.uint8)
            flat[int.from_bytes(data[i + 2 : i + 5], "little") % len(flat)] ^= data[i + 5] or 1
        tensors[name] = np.ascontiguousarray(array)
    header = {"format": store.FORMAT, "version": store.VERSION, "kind": kind, "about": about}
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"\0{name} {tensors[name].dtype.str} {tensors[name].shape}\0".encode())
        digest.update(tensors[name].data)
    header["sha256"] = digest.hexdigest()
    written = json.dumps(header, sort_keys=True, ensure_ascii=True)
    path = FOLDER / "parts.regard"
    try:
        path.write_bytes(save({name: tensors[name] for name in sorted(tensors)}, metadata={"regard": written}))
    except SafetensorError:
        return
    try:
        found = load_model(path)
    except RegardError:
        return
    scores = found.scores(["good food and not a bad place, really", "", "\u00e9\u4e2d\U0001f600"])
    assert scores.shape == (3, found.sides)
    found.attend("not good at all")


def _taken_apart() -> tuple[str, dict[str, object], dict[str, np.ndarray]]:
    length = int.from_bytes(MODEL[:8], "little")
    header = json.loads(json.loads(MODEL[8 : 8 + length])["__metadata__"]["regard"])
    return header["kind"], header["about"], load(MODEL)


SEEDS: dict[str, list[bytes]] = {
    "reader": [
        bytes([0, 1]) + b"text,label\ngood film,1\nbad film,0\n",
        bytes([0, 1]) + b'text,label\n"good, ""very"" good",yes\n"bad\nfilm",no\n',
        bytes([1, 1]) + b"review\tverdict\nfine\tpos\npoor\tneg\n",
        bytes([2, 1]) + b'{"text": "good", "label": 1}\n{"text": "bad", "label": 0}\n',
        bytes([0, 3]) + "\ufefftext;label\r\nsch\u00f6n;1\r\nschlecht;0\r\n".encode(),
        bytes([3, 1]) + b"PAR1",
        bytes([4, 1]) + b"\x1f\x8b\x08\x00",
    ],
    "tokens": [
        "isn't GOOD<br />3.5 caf\u00e9 \u4e2d\u6587 \U0001f600\U0001f3fd!".encode(),
        b"a'b 1,000.5 <3 x-y_z?\x1eb",
        "\u0130\u03a3\u0301\u200d\u20e3\u00ad\ufe0f".encode(),
    ],
    "model": [b"\1\0\0\0\0\1", b"\1\x40\x02\0\0\xff", b"\0" + MODEL[:200]],
    "parts": [bytes(6), bytes([1, 1, 3, 0, 0, 255]), bytes([2, 4, 9, 0, 0, 0])],
}
TARGETS: dict[str, Callable[[bytes], None]] = {"reader": reader, "tokens": tokens, "model": model, "parts": parts}
