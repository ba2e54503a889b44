"""Models on disk: one safetensors file, checked whole before it is believed, and replaced in one step.

``docs/model-file.md`` describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, ModelFileError

FORMAT = "regard-model"
VERSION = 1
_FIELDS = {"kind": str, "about": dict, "sha256": str}
_KEY = "regard"  # one metadata entry only: safetensors writes several in no fixed order


def write(path: str | os.PathLike[str], kind: str, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Write a model file, or leave what was there.

    The file appears under its name only when it is complete and on the disk, so whatever happens meanwhile, the old
    model stays whole. Equal contents give equal bytes.
    """
    from safetensors.numpy import save

    tensors = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    header = {"format": FORMAT, "version": VERSION, "kind": kind, "about": about}
    header["sha256"] = _digest(header, tensors)
    content = save(tensors, metadata={_KEY: _written(header)})
    write_whole(path, content)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in one step."""
    with Whole(path) as file:
        file.write(content)


class Whole:
    """A file that appears under its name only when all of it is written and on the disk.

    It is written under a temporary name beside its place and then renamed. Where anything goes wrong before, what was
    there stays as it was, and nothing else is left.

    Parameters
    ----------
    path
        A file, there already or not; a device or a pipe cannot be replaced.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise DataError(f"{self.path} must be a file, because it is replaced in one step: name another place.")

    def __enter__(self) -> Self:
        with self._explained():
            self._file = tempfile.NamedTemporaryFile(dir=self.path.parent, prefix=f".{self.path.name}.", delete=False)
        return self

    def write(self, content: bytes | memoryview) -> None:
        """Write the next bytes."""
        with self._explained():
            self._file.write(content)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        temporary = Path(self._file.name)
        try:
            with self._explained():
                try:
                    if kind is None:
                        self._file.flush()
                        os.fsync(self._file.fileno())
                finally:
                    self._file.close()
                if kind is None:
                    temporary.chmod(0o666 & ~_umask())
                    temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(
                f"{self.path} could not be written ({error.strerror or error}); nothing that was there before has "
                "changed. Free some space or name another place."
            ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model file; returns its kind, what is said about it, and its arrays."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(path)
    if not path.exists():
        raise ModelFileError(f"There is no model at {path}; check the path, or train one with `regard train`.")
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, and a model is one file; name the .regard file itself.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} could not be read ({error.strerror}); check its permissions.") from error
    header, text = _header(path, content)
    known = set(_FIELDS) <= set(header) and all(isinstance(header[name], kind) for name, kind in _FIELDS.items())
    damaged = ModelFileError(f"{path} is damaged: its contents do not match its checksum; restore or retrain it.")
    if header["version"] > VERSION:
        raise ModelFileError(
            f"{path} has model format {header['version']}, and this version of regard reads formats up to {VERSION}; "
            "upgrade with `pip install --upgrade regard`."
        )
    # Equal values can be written in several ways, and the checksum is over values: only our own way will do.
    if not known or header["version"] < 1 or _written(header) != text:
        raise damaged
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise damaged from error
    expected = header.pop("sha256")
    if _digest(header, tensors) != expected:
        raise damaged
    return header["kind"], header["about"], tensors


def _written(header: dict[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, ensure_ascii=True)


def _header(path: Path, content: bytes) -> tuple[dict[str, Any], str]:
    """What a safetensors file says of itself, and how it is written: eight bytes of length, then JSON."""
    foreign = ModelFileError(f"{path} is not a regard model; expected a file that `regard train` or `save` wrote.")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not content[8:9] == b"{":
        raise foreign
    if length + 8 > len(content):
        raise ModelFileError(f"{path} is damaged: it ends before its header does; restore or retrain it.")
    try:
        text = json.loads(content[8 : 8 + length])["__metadata__"][_KEY]
        header = json.loads(text)
        known = header["format"] == FORMAT and type(header["version"]) is int
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise foreign from error
    if not known:
        raise foreign
    return header, text


def _digest(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\0{name} {array.dtype.str} {array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
