"""Model files: whole or not at all, checked before they are believed."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import AttentionClassifier, load
from regard.errors import DataError, ModelFileError
from regard.models import store

TEXTS = ["a good film", "a great film", "a bad film", "an awful film"] * 6
LABELS = ["yes", "yes", "no", "no"] * 6


@pytest.fixture(scope="module")
def fitted():
    return AttentionClassifier().fit(TEXTS, LABELS)


def test_a_loaded_model_is_the_same_model(fitted, tmp_path):
    fitted.save(tmp_path / "m.regard")
    loaded = load(tmp_path / "m.regard")

    assert loaded.table_.equals(fitted.table_)
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), fitted.decision_function(TEXTS))
    np.testing.assert_array_equal(loaded.predict(TEXTS), fitted.predict(TEXTS))


@pytest.mark.parametrize(
    "labels",
    [["b", "a"], [3, 1], [True, False], ["ü\u2028", "</script>"], [2**40, -1]],
    ids=str,
)
def test_labels_keep_their_type(labels, tmp_path):
    clf = AttentionClassifier().fit(["x good", "y bad"] * 8, labels * 8)
    clf.save(tmp_path / "m.regard")

    predicted = load(tmp_path / "m.regard").predict(["good", "bad"])

    assert predicted.tolist() == clf.predict(["good", "bad"]).tolist()
    assert [type(x) for x in predicted.tolist()] == [type(x) for x in labels]


def test_saving_twice_gives_the_same_bytes(fitted, tmp_path):
    fitted.save(tmp_path / "a.regard")
    load(tmp_path / "a.regard").save(tmp_path / "b.regard")

    assert (tmp_path / "a.regard").read_bytes() == (tmp_path / "b.regard").read_bytes()


@given(at=st.floats(0, 1, exclude_max=True))
def test_every_truncation_is_noticed(fitted, tmp_path_factory, at):
    folder = tmp_path_factory.mktemp("cut")
    fitted.save(folder / "m.regard")
    content = (folder / "m.regard").read_bytes()
    (folder / "m.regard").write_bytes(content[: int(at * len(content))])

    with pytest.raises(ModelFileError, match=r"damaged|not a regard model"):
        load(folder / "m.regard")


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_every_altered_bit_is_noticed(fitted, tmp_path_factory, at, bit):
    folder = tmp_path_factory.mktemp("flip")
    fitted.save(folder / "m.regard")
    content = bytearray((folder / "m.regard").read_bytes())
    content[int(at * len(content))] ^= 1 << bit
    (folder / "m.regard").write_bytes(content)

    with pytest.raises(ModelFileError):
        load(folder / "m.regard")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"PK\x03\x04" + b"x" * 100,
        b"text,label\n" * 50,
        b"\x10" + b"\0" * 7 + b"{not json at all",
    ],
)
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "m.regard").write_bytes(content)

    with pytest.raises(ModelFileError, match="not a regard model"):
        load(tmp_path / "m.regard")


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weight": np.zeros(3)}, tmp_path / "m.safetensors")

    with pytest.raises(ModelFileError, match="not a regard model"):
        load(tmp_path / "m.safetensors")


def test_a_model_from_a_newer_version_asks_for_an_upgrade(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "VERSION", 99)
    fitted.save(tmp_path / "m.regard")
    monkeypatch.undo()

    with pytest.raises(ModelFileError, match=r"format 99.*upgrade"):
        load(tmp_path / "m.regard")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="no model at"):
        load(tmp_path / "nothing.regard")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)


def test_a_full_disk_leaves_the_old_model(fitted, tmp_path, monkeypatch):
    path = tmp_path / "m.regard"
    fitted.save(path)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        fitted.save(path)

    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.regard"]


def test_the_file_is_safetensors_with_json(fitted, tmp_path):
    from safetensors import safe_open

    fitted.save(tmp_path / "m.regard")
    with safe_open(tmp_path / "m.regard", framework="numpy") as file:
        header = json.loads(file.metadata()["regard"])
        attention = file.get_tensor("attention")[file.get_tensor("lines")]
        np.testing.assert_array_equal(attention, fitted.model_.attention)

    assert header["about"]["classes"] == ["no", "yes"]
