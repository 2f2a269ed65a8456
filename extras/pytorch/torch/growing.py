"""The largest batch that fits a memory: what is saved by compression, a training can spend on more images a step."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.settings import check_range

#: No batch is larger.
_MOST = 1 << 24


class NothingFits(CdmaError):
    """Not even the smallest batch fits the memory."""


@dataclass(frozen=True)
class Largest:
    """The largest batch that fits.

    ``batch``, ``peak``: The batch, and the bytes that a step takes with it at most.
    ``tried``: Every batch that was tried with its bytes; None where the GPU had no more memory.
    """

    batch: int
    peak: int
    tried: dict[int, int | None]


def largest_batch(
    step: Callable[[int], int | None],
    memory: int | None = None,
    *,
    multiple: int = 1,
    passes: int = 2,
    most: int | None = None,
) -> Largest:
    """The largest batch whose step fits a memory, with ``batch``, ``peak`` and everything that was ``tried``.

    Batches double until one does not fit, and then the gap is halved. With :func:`cdma.torch.saved` in the step, the batch
    grows into the memory that is saved.

    ``step``: Trains one step with a batch of so many images. It returns the bytes that it took at most, or None to have
        the GPU asked.
    ``memory``: The bytes that there are; by default all of the GPU. A GPU gives no more while this runs.
    ``multiple``: What the batch is a multiple of.
    ``passes``: Steps of each batch, the last of which counts: policies learn from the ones before.
    ``most``: The largest batch that is tried.
    """
    check_range("multiple", multiple, 1, _MOST, "images by which batches grow")
    check_range("passes", passes, 1, 1000, "steps of each batch")
    if memory is not None:
        check_range("memory", memory, 1, 1 << 62, "bytes")
    last = (_MOST if most is None else most) // multiple
    check_range(
        "most", last * multiple, multiple, _MOST, "images of the largest batch, at least one multiple"
    )
    search = _Search(step, memory, multiple, passes)
    fits, fails = 0, last + 1
    with _limited(memory):
        while fails - fits > 1:
            # Doubling, as long as everything fits.
            count = min(2 * fits or 1, last) if fails > last else (fits + fails) // 2
            if search.fits(count):
                fits = count
            elif not fits:
                raise NothingFits(search.nothing())
            else:
                fails = count
    peak = search.tried[fits * multiple]
    assert peak is not None
    return Largest(fits * multiple, peak, search.tried)


@contextmanager
def _limited(memory: int | None) -> Iterator[None]:
    """A GPU gives no more than ``memory``."""
    if memory is None or not torch.cuda.is_available():
        yield
        return
    torch.cuda.set_per_process_memory_fraction(min(1.0, memory / torch.cuda.mem_get_info()[1]))
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


class _Search:
    """The batches that were tried."""

    def __init__(
        self, step: Callable[[int], int | None], memory: int | None, multiple: int, passes: int
    ) -> None:
        self._step, self._memory, self._multiple, self._passes = step, memory, multiple, passes
        self.tried: dict[int, int | None] = {}

    def fits(self, count: int) -> bool:
        batch = count * self._multiple
        self.tried[batch] = peak = self._peak(batch)
        return peak is not None and (self._memory is None or peak <= self._memory)

    def nothing(self) -> str:
        """Why not even the smallest batch fits."""
        peak = self.tried[self._multiple]
        takes = "more than the GPU gives" if peak is None else f"{peak} bytes"
        allowed = "" if self._memory is None else f", and memory is {self._memory}"
        return f"a step with a batch of {self._multiple}, the smallest, takes {takes}{allowed}"

    def _peak(self, batch: int) -> int | None:
        """The bytes of the last step, or None where memory ended."""
        said: int | None = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        try:
            for _ in range(self._passes):
                if torch.cuda.is_available():
                    torch.cuda.reset_peak_memory_stats()
                said = self._step(batch)
        except torch.OutOfMemoryError:
            # What the step had made hangs on the error, which is gone behind this block.
            pass
        else:
            return self._measured() if said is None else said
        gc.collect()
        return None

    def _measured(self) -> int:
        if not torch.cuda.is_available():
            raise ParameterError(
                "step returned None, and there is no GPU whose memory could be asked: it must return the bytes that it took"
            )
        return torch.cuda.max_memory_allocated()
