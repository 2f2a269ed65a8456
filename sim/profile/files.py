"""Tensors in files: ``.npy``, ``.npz`` and safetensors, one file or a directory of them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.errors import CdmaError
from cdma.sim.support.npy import NotATensor
from cdma.sim.support.safetensors import Part, read_safetensors

__all__ = ["BadTensorFile", "StoredTensor", "find_tensors"]

_SUFFIXES = (".npy", ".npz", ".safetensors")


class BadTensorFile(CdmaError, ValueError):
    """A file or directory that tensors cannot be read from."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file that has not been read yet."""

    name: str
    bytes: int
    #: The type of its elements, if numpy has none for it.
    dtype: str | None
    #: Reads it; large ones are mapped.
    read: Callable[[], NDArray[Any]]


def find_tensors(path: Path) -> list[StoredTensor]:
    """Finds the tensors in a file, or in all files below a directory, in the order of the files' names."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise BadTensorFile(f"{path} has no file that ends in {', '.join(_SUFFIXES)}")
        return [
            tensor
            for file in files
            for tensor in _in_file(file, file.relative_to(path).with_suffix("").as_posix())
        ]
    return list(_in_file(path, path.stem))


def _in_file(path: Path, stem: str) -> Iterator[StoredTensor]:
    readers = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}
    if path.suffix not in readers:
        raise BadTensorFile(f"{path} does not end in {', '.join(_SUFFIXES)}, so its format is not known")
    try:
        if path.stat().st_size == 0:
            raise BadTensorFile(f"{path} is empty")
        tensors = list(readers[path.suffix](path))
    except OSError as error:
        raise BadTensorFile(f"cannot read {path}: {error.strerror or error}") from None
    if not tensors:
        raise BadTensorFile(f"{path} holds no tensor")
    # The only tensor of a file has the name of the file.
    for tensor in tensors:
        name = f"{stem}/{tensor.name}" if tensor.name else stem
        yield StoredTensor(name, tensor.bytes, tensor.dtype, tensor.read)


def _require_numbers(where: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.hasobject or array.dtype.kind not in "biufc":
        raise BadTensorFile(
            f"{where} holds {array.dtype}, not integers or floating-point numbers "
            "(save other types, such as bfloat16, viewed as unsigned integers)"
        )
    return array


def _npy(path: Path) -> Iterator[StoredTensor]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise BadTensorFile(f"{path} is not a .npy file of numbers: {_reason(error)}") from None
    _require_numbers(str(path), array)
    yield StoredTensor("", array.nbytes, None, lambda: array)


def _npz(path: Path) -> Iterator[StoredTensor]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise BadTensorFile(f"{path} is not a .npz file: {error}") from None
    for member in members:
        if member.filename.endswith(".npy"):
            name = member.filename.removesuffix(".npy")
            yield StoredTensor(name, member.file_size, None, partial(_npz_member, path, name))


def _npz_member(path: Path, name: str) -> NDArray[Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array: NDArray[Any] = archive[name]
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise BadTensorFile(f"{path}, {name} cannot be read: {_reason(error)}") from None
    return _require_numbers(f"{path}, {name}", array)


def _reason(error: Exception) -> str:
    """Returns numpy's reason without its advice to allow pickled objects, which would run code from the file."""
    text = str(error) or type(error).__name__
    objects = "pickle" in text.lower() or "Python objects" in text
    return "it holds pickled objects" if objects else text


def _safetensors(path: Path) -> Iterator[StoredTensor]:
    with path.open("rb") as file:
        try:
            described = read_safetensors(file, path.stat().st_size)
        except NotATensor as error:
            raise BadTensorFile(f"cannot read {path}: {error}") from None
    for part in described.parts:
        yield StoredTensor(part.name, part.end - part.begin, part.type_name, partial(_mapped, path, part))


def _mapped(path: Path, part: Part) -> NDArray[Any]:
    if part.begin == part.end:
        return np.zeros(part.shape, part.dtype)
    return np.memmap(path, part.dtype, "r", part.begin, part.shape)
