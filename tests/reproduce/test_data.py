import numpy as np
import pytest

from regard.errors import DataError, SettingError
from regard.reproduce.data import SETS, Part, load


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sst", (6920, 872, 1821)),
        ("imdb", (17212, 4304, 4363)),
        ("imdb-official", (25000, 0, 25000)),
        ("20news1", (1236, 310, 387)),
        ("20news2", (2300, 240, 275)),
    ],
)
def test_roles_have_the_sizes_of_the_papers(data, monkeypatch, name, sizes):
    monkeypatch.setenv("REGARD_DATA", str(data))
    loaded = load(name)
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == sizes
    assert len(loaded.train.labels) == sizes[0]
    assert set(loaded.files) == set(SETS[name][1])


def test_a_smaller_set_keeps_every_class(data, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(data))
    small = load("20news2").smaller(5)
    assert len(small.train) == len(small.test) == 15
    assert sorted(small.train.labels) == sorted(small.test.labels)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(SettingError, match="Did you mean '20news1'"):
        load("20new1")


def test_an_absent_folder_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match="set REGARD_DATA"):
        load("sst")


def test_an_absent_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"sst\.parquet"):
        load("sst")


def test_a_role_without_texts_stays_without():
    assert len(Part([], np.array([], np.int64)).first(5)) == 0
