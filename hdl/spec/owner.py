"""Whose a transfer is: the stream and the substream ID, by which an SMMU finds the tables of a device and of a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .checks import check_range

__all__ = [
    "MOST_STREAM_BITS",
    "MOST_SUBSTREAM_BITS",
    "OWNER_FIELDS",
    "OWNER_PORTS",
    "Owner",
    "owner_fields",
    "owner_mask",
]

#: Where a word of 32 bits has them, and with how many bits at most.
OWNER_FIELDS = {"substream": (0, 20), "stream": (20, 11), "substream_valid": (31, 1)}
#: The signals of AXI5 that say them, after ``aw`` or ``ar``.
OWNER_PORTS = {"substream": "mmussid", "stream": "mmusid", "substream_valid": "mmussidv"}
MOST_SUBSTREAM_BITS, MOST_STREAM_BITS, _ = (bits for _, bits in OWNER_FIELDS.values())


def owner_fields(stream_bits: int, substream_bits: int) -> dict[str, tuple[int, int]]:
    """The first bit and the number of bits of each field that an engine with so many bits has."""
    has = {"substream": substream_bits, "stream": stream_bits, "substream_valid": int(substream_bits > 0)}
    return {name: (OWNER_FIELDS[name][0], bits) for name, bits in has.items() if bits}


def owner_mask(fields: Mapping[str, tuple[int, int]]) -> int:
    """The bits of a word that these fields are."""
    return sum(((1 << bits) - 1) << lsb for lsb, bits in fields.values())


@dataclass(frozen=True)
class Owner:
    """A stream ID, and a substream ID; None: it has none."""

    stream: int = 0
    substream: int | None = None

    def __post_init__(self) -> None:
        check_range("stream", self.stream, 0, (1 << MOST_STREAM_BITS) - 1, "a descriptor has so many bits")
        check_range(
            "substream",
            self.substream or 0,
            0,
            (1 << MOST_SUBSTREAM_BITS) - 1,
            "a descriptor has so many bits",
        )

    @property
    def word(self) -> int:
        """Both as descriptors and registers have them."""
        values = {
            "substream": self.substream or 0,
            "stream": self.stream,
            "substream_valid": int(self.substream is not None),
        }
        return sum(value << OWNER_FIELDS[name][0] for name, value in values.items())


#: Stream 0, without a substream: what a channel allows after a reset.
NOBODY = Owner()
