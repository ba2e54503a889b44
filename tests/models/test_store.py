"""Model files: whole or not at all, checked before they are believed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time

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


def _forge(fitted, path, about=None, without="", **arrays):
    """Write a file with a right checksum over wrong contents."""
    fitted.save(path)
    kind, known, tensors = store.read(path)
    known = {name: value for name, value in {**known, **(about or {})}.items() if name != without}
    tensors = {name: array for name, array in {**tensors, **arrays}.items() if name != without}
    store.write(path, kind, known, tensors)


@pytest.mark.parametrize("part", ["words", "ends", "lines", "attention", "polarity", "counts", "bias", "classes"])
def test_a_model_with_a_part_missing_is_refused(fitted, tmp_path, part):
    _forge(fitted, tmp_path / "m.regard", without=part)

    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        *((part, lambda array: array[:-1]) for part in ("words", "ends", "lines", "attention", "polarity", "bias")),
        *((part, lambda array: array.astype(np.float64)) for part in ("words", "ends", "phrases2", "attention")),
        *((part, lambda array: array * np.nan) for part in ("attention", "polarity", "bias")),
        *((part, lambda array: array + array.dtype.type(100)) for part in ("ends", "lines", "phrases2", "words")),
        *((part, lambda array: array[::-1].copy()) for part in ("ends", "phrases2")),
        ("counts", lambda array: array[:, :1].copy()),
    ],
)
def test_arrays_that_would_lead_compiled_loops_astray_are_refused(fitted, tmp_path, part, change):
    fitted.save(tmp_path / "m.regard")
    array = change(store.read(tmp_path / "m.regard")[2][part])
    _forge(fitted, tmp_path / "m.regard", **{part: array})

    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize("classes", [["no"], ["no", "no"], [["no"], ["yes"]], [1, "yes", None]])
def test_classes_must_be_distinct_labels(fitted, tmp_path, classes):
    _forge(fitted, tmp_path / "m.regard", about={"classes": classes})

    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize("about", [{"parameters": 3}, {"parameters": None}, {"epochs": "many"}])
def test_a_model_that_does_not_say_how_it_was_trained_is_no_estimator(fitted, tmp_path, about):
    _forge(fitted, tmp_path / "m.regard", about=about)

    with pytest.raises(ModelFileError, match="how it was trained"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize(
    "brackets", [b'{"a":' + b"[" * 100_000, json.dumps({"__metadata__": {"regard": "[" * 200_000}})]
)
def test_endless_nesting_is_refused(tmp_path, brackets):
    header = brackets if isinstance(brackets, bytes) else brackets.encode()
    (tmp_path / "m.regard").write_bytes(len(header).to_bytes(8, "little") + header)

    with pytest.raises(ModelFileError, match="not a regard model"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize(("ours", "other"), [(b"1.0", b"1E0"), (b"0.0", b"0E0"), (b"10.0", b"1E+1")])
def test_the_same_numbers_written_otherwise_are_an_altered_file(fitted, tmp_path, ours, other):
    fitted.save(tmp_path / "m.regard")
    content = (tmp_path / "m.regard").read_bytes()
    same_length = other.ljust(len(ours))
    assert ours in content
    (tmp_path / "m.regard").write_bytes(content.replace(ours, same_length[: len(ours)], 1))

    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.regard")


@pytest.mark.parametrize("weight", [None, "balanced", {"yes": 2.0, "no": 0.5}])
def test_a_loaded_model_can_be_trained_again_with_the_same_parameters(tmp_path, weight):
    AttentionClassifier(class_weight=weight).fit(TEXTS, LABELS).save(tmp_path / "a.regard")
    loaded = load(tmp_path / "a.regard")
    loaded.fit(TEXTS, LABELS).save(tmp_path / "b.regard")

    assert loaded.class_weight == weight
    assert (tmp_path / "a.regard").read_bytes() == (tmp_path / "b.regard").read_bytes()


def test_a_generator_of_random_numbers_is_not_pretended_to_be_kept(tmp_path):
    AttentionClassifier(random_state=np.random.RandomState(3)).fit(TEXTS, LABELS).save(tmp_path / "m.regard")
    loaded = load(tmp_path / "m.regard")

    assert loaded.random_state is None
    assert loaded.fit(TEXTS, LABELS).predict(["good"]).tolist() == ["yes"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_what_is_no_file_is_not_replaced(fitted, tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(DataError, match="must be a file"):
        fitted.save(tmp_path / "pipe")

    assert (tmp_path / "pipe").is_fifo()


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with store.Whole(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the signal that kills is POSIX's")
def test_a_program_killed_while_saving_leaves_a_whole_model(fitted, tmp_path):
    fitted.save(tmp_path / "a.regard")
    AttentionClassifier(ngrams=1).fit(TEXTS, LABELS).save(tmp_path / "b.regard")
    whole = {(tmp_path / name).read_bytes() for name in ("a.regard", "b.regard")}
    program = (
        "from regard.models import load_model\n"
        "one, two = load_model('a.regard'), load_model('b.regard')\n"
        "one.save('m.regard')\n"
        "print('saving', flush=True)\n"
        "while True: two.save('m.regard'); one.save('m.regard')\n"
    )
    for pause in (0.0, 0.01, 0.03, 0.07):
        process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(pause)
        process.kill()
        process.communicate()

        assert (tmp_path / "m.regard").read_bytes() in whole
