"""The papers' data sets, in their roles: train, dev and test."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, SettingError, nearest

if TYPE_CHECKING:
    import polars as pl

_BESIDE = Path("..") / "shared" / "data"
# 20News II: how many texts of each group are for training and for development; the rest is the test.
_NEWS_2 = {"rec.motorcycles": (794, 91), "sci.med": (790, 70), "talk.politics.guns": (716, 79)}


@dataclass(frozen=True)
class Part:
    """Texts and their labels.

    Attributes
    ----------
    texts : list of str
    labels : (texts,)
    """

    texts: list[str]
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, n: int) -> Part:
        """The first ``n`` texts of every class, in their order: the same class shares, less work."""
        if not self.texts:
            return self
        kept = np.sort(np.concatenate([np.flatnonzero(self.labels == label)[:n] for label in np.unique(self.labels)]))
        return Part([self.texts[i] for i in kept], self.labels[kept])


@dataclass(frozen=True)
class DataSet:
    """A data set in its roles.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        What a page calls it.
    train, dev, test : Part
        Without texts where the data have no such part.
    files : dict of str to str
        The files it was read from, with the SHA-256 of each.
    """

    name: str
    title: str
    train: Part
    dev: Part
    test: Part
    files: dict[str, str]

    def smaller(self, n: int) -> DataSet:
        """At most ``n`` texts of each class in every role, for a quick look."""
        return replace(self, train=self.train.first(n), dev=self.dev.first(n), test=self.test.first(n))


def folder() -> Path:
    """Where the data sets are: ``REGARD_DATA``, or else ``../shared/data``."""
    found = Path(os.environ.get("REGARD_DATA", _BESIDE))
    if not found.is_dir():
        raise DataError(
            f"The papers' data sets are expected in the folder that REGARD_DATA names; {found} is not a folder: set "
            "REGARD_DATA to the folder of sst.parquet, imdb.parquet and the others."
        )
    return found


def load(name: str) -> DataSet:
    """Read a data set by its name, one of ``SETS``."""
    if name not in SETS:
        raise SettingError(f"Unknown data set {name!r}; expected one of {', '.join(SETS)}.{nearest(name, SETS)}")
    title, files, frame = SETS[name]
    found = folder()
    missing = [file for file in files if not (found / file).is_file()]
    if missing:
        raise DataError(f"{name} is read from {missing[0]}, which is not in {found}: add it or set REGARD_DATA.")
    roles = frame(found)
    hashes = {file: hashlib.sha256((found / file).read_bytes()).hexdigest() for file in files}
    train, dev, test = (_part(roles, role) for role in ("train", "dev", "test"))
    return DataSet(name, title, train, dev, test, hashes)


def _part(frame: pl.DataFrame, role: str) -> Part:
    import polars as pl

    part = frame.filter(pl.col("role") == role)
    return Part(part["text"].to_list(), part["label"].to_numpy())


def _sst(folder: Path) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(folder / "sst.parquet").rename({"split": "role"})


def _imdb(folder: Path) -> pl.DataFrame:
    """The official split, in its order."""
    import polars as pl

    return pl.read_parquet(folder / "imdb.parquet").rename({"split": "role"})


def _imdb_paper(folder: Path) -> pl.DataFrame:
    """The papers' selection of reviews of fewer than 400 tokens."""
    import polars as pl

    roles = pl.read_parquet(folder / "imdb_paper.parquet").select("id", "role")
    reviews = pl.read_parquet(folder / "imdb.parquet").select("id", "text", "label")
    return roles.join(reviews, on="id", how="left", maintain_order="left")


def _news_1(folder: Path) -> pl.DataFrame:
    """Baseball against hockey."""
    import polars as pl

    roles = pl.read_parquet(folder / "newsgroups_paper.parquet").select("id", "role")
    posts = pl.read_parquet(folder / "newsgroups_raw.parquet").select("id", "text", "label")
    return roles.join(posts, on="id", how="left", maintain_order="left")


def _news_2(folder: Path) -> pl.DataFrame:
    """Motorcycles, medicine, guns: a seeded split of the paper's sizes, for its own membership was not published."""
    import polars as pl

    posts = pl.read_parquet(folder / "newsgroups_raw.parquet").select("text", "label")
    posts = posts.filter(pl.col("text").str.strip_chars() != "")
    parts = []
    for label, (train, dev) in _NEWS_2.items():
        part = posts.filter(pl.col("label") == label).sample(fraction=1.0, shuffle=True, seed=0)
        roles = ["train"] * train + ["dev"] * dev + ["test"] * (len(part) - train - dev)
        parts.append(part.with_columns(pl.Series("role", roles)))
    return pl.concat(parts)


# What the command line calls a data set: its title, its files, and how its roles are found.
SETS: dict[str, tuple[str, tuple[str, ...], Callable[[Path], pl.DataFrame]]] = {
    "sst": ("SST", ("sst.parquet",), _sst),
    "imdb": ("IMDB", ("imdb_paper.parquet", "imdb.parquet"), _imdb_paper),
    "imdb-official": ("IMDB, official split", ("imdb.parquet",), _imdb),
    "20news1": ("20News I", ("newsgroups_paper.parquet", "newsgroups_raw.parquet"), _news_1),
    "20news2": ("20News II", ("newsgroups_raw.parquet",), _news_2),
}
