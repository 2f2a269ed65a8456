"""What compressing a tensor on a GPU gives."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream on a GPU, and what stands beside it.

    ``data``: Bytes that begin with the stream, if it fits; else they are as they were.
    ``length``: The bytes that the stream has, or would have: one 64-bit number on the GPU.
    ``words``: Words of the packet.
    ``index``: Where parts of the stream begin, for a faster way back; at most 0.5 % of the raw data, but 72 bytes at
        least.
    ``crc``: The CRC-32C of the raw data, if it was asked for: one 64-bit number on the GPU.
    """

    data: Tensor
    length: Tensor
    words: int
    format: Format
    index: Tensor
    crc: Tensor | None = None

    @property
    def stream(self) -> Tensor:
        """The stream: a view of ``data``. This waits for the GPU, which says how long it is."""
        length = int(self.length)
        if length > self.data.numel():
            raise ParameterError(f"the stream has {length} bytes; there was space for {self.data.numel()}")
        return self.data[:length]


def require_packed(value: object) -> None:
    """Refuses what is not packed."""
    if not isinstance(value, Packed):
        raise ParameterError(f"packed is {type(value).__name__}; it must be what cdma.gpu.compress gives")
