"""What a first bench sends, and what must come of it: plain data, which the golden model makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MemoryArea", "StreamVectors", "Transfer", "TransferVectors", "Vectors"]


@dataclass(frozen=True)
class StreamVectors:
    """Packets for a block with streams.

    ``what``
        Says in a phrase what moves.
    ``levels``
        The values of inputs that are no streams, by their ports.
    ``streams``
        What moves on each stream, in order: the values of its signals, such as ``tdata``, by their names.
    """

    what: str
    levels: Mapping[str, int]
    streams: Mapping[str, Sequence[Mapping[str, int]]]


@dataclass(frozen=True)
class MemoryArea:
    """The addresses of a memory: ``size`` bytes from ``base`` on."""

    base: int
    size: int


@dataclass(frozen=True)
class Transfer:
    """One descriptor for an engine.

    ``what``
        Says in a sentence what it does.
    ``channel``
        ``offload`` or ``prefetch``.
    ``descriptor``
        Its fields, without those that are 0.
    ``source``
        The name of the bytes that lie at its source; only those of an offload have to be put there.
    ``written``
        The name of the bytes that must lie at its destination afterwards.
    ``completion``
        The fields that its completion must have.
    """

    what: str
    channel: str
    descriptor: Mapping[str, int]
    source: str
    written: str
    completion: Mapping[str, int]


@dataclass(frozen=True)
class TransferVectors:
    """Transfers for an engine, one after the other.

    ``device``, ``host``
        Its memories.
    ``units``, ``stripe_bytes``
        How many ports device memory has, and the bytes that lie at one before the next one's.
    ``table``
        The table of frequent values of both channels, to be written first; empty where none need be.
    ``data``
        The bytes that the transfers name.
    """

    device: MemoryArea
    host: MemoryArea
    units: int
    stripe_bytes: int
    table: Sequence[int]
    data: Mapping[str, bytes]
    transfers: Sequence[Transfer]


Vectors = StreamVectors | TransferVectors
