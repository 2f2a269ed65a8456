"""Kernels of Triton without a GPU: its interpreter, made quicker, and strict about memory.

Importing this turns the interpreter on, for Triton reads its variable when kernels are defined. Every address that a kernel
reads or writes must lie in one of the tensors that it was given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

WHY = "the kernels of the GPU need the packages torch and triton: pip install '.[gpu]'"
os.environ["TRITON_INTERPRET"] = "1"
torch = pytest.importorskip("torch", reason=WHY)
pytest.importorskip("triton", reason=WHY)

import numpy as np  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from triton.runtime import interpreter  # noqa: E402

from cdma.gpu.layout import INDEX_COLUMNS  # noqa: E402
from cdma.gpu.windows import Row  # noqa: E402


class Waits(TorchDispatchMode):
    """Counts the numbers that come to the host, for each of which it waits for the GPU."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


class Stray(AssertionError):
    """A kernel reads or writes outside of its tensors."""


#: Where the tensors of the running kernel begin and end.
_spaces: list[tuple[int, int]] = []


def _check(addresses: Any, mask: Any) -> None:
    used = addresses.data[np.broadcast_to(mask.data, addresses.data.shape)].astype(np.int64)
    size = interpreter._get_np_dtype(addresses.get_element_ty()).itemsize
    inside = np.zeros(used.shape, bool)
    for begin, end in _spaces:
        inside |= (used >= begin) & (used + size <= end)
    if not inside.all():
        raise Stray(f"{np.count_nonzero(~inside)} of {used.size} addresses are in no tensor of the kernel")


def _named(table: list[int], blocks: int, kernel: str, options: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Where the tensors lie that the table of a launch of many names."""
    for begin in range(blocks, len(table), len(Row._fields) + 2):
        row = Row(*table[begin : begin + len(Row._fields)])
        raw, stream = row.words * options["SHAPE"].WORD, row.capacity * options["SHAPE"].UNIT
        read, written = (stream, raw) if kernel == "unpack_kernel" else (raw, stream)
        for address, size in (
            (row.source, read),
            (row.target, written),
            (row.beside, row.blocks * INDEX_COLUMNS * 8),
            (row.length, 8),
        ):
            yield address, address + size


def _watch() -> None:
    launch = interpreter.GridExecutor.__call__

    def launched(self: Any, *arguments: Any, **options: Any) -> None:
        tensors = [each for each in (*arguments, *options.values()) if isinstance(each, torch.Tensor)]
        _spaces[:] = [
            (each.data_ptr(), each.data_ptr() + each.numel() * each.element_size()) for each in tensors
        ]
        if options.get("MANY"):
            _spaces.extend(_named(arguments[0].tolist(), self.grid[0], self.fn.__name__, options))
        launch(self, *arguments, **options)

    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def loaded(self: Any, addresses: Any, mask: Any, *rest: Any) -> Any:
        _check(addresses, mask)
        return load(self, addresses, mask, *rest)

    def stored(self: Any, addresses: Any, value: Any, mask: Any, *rest: Any) -> Any:
        _check(addresses, mask)
        return store(self, addresses, value, mask, *rest)

    interpreter.GridExecutor.__call__ = launched
    builder.create_masked_load, builder.create_masked_store = loaded, stored


class _Kept:
    """What a module was given stays there."""

    def restore(self) -> None:
        pass


def _hasten() -> None:
    """Lets the interpreter take its place in a module once, and not at each call of a function."""
    patch, patched = interpreter._patch_lang, set()

    def once(function: Any) -> _Kept:
        if id(function.__globals__) not in patched:
            patch(function)
            patched.add(id(function.__globals__))
        return _Kept()

    interpreter._patch_lang = once


_watch()
_hasten()
