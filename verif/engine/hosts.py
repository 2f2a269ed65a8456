"""Hosts behind a PCI Express link: how long their reads take, and what the link carries.

The latencies are those that pcie-bench measured and published (Neugebauer et al., SIGCOMM 2018, with the data at
github.com/pcie-bench/data): reads of 64 bytes by DMA, of memory that is in no cache. The link is that paper's model of a
PCIe 3.0 link of eight lanes, with packets of 256 bytes and reads of 512, at the rate of its longest reads, 55 Gb/s; it is as
wide as the port. A root complex answers reads in any order across tags; those of one ID come in their order at the port,
which waits for the slowest. A write is answered once it is on the link.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

#: The share of reads that take less than each of :attr:`.Host.nanoseconds`.
SHARES = (0.0, 0.5, 0.95, 0.999, 1.0)
#: Of the port, as user logic of PCIe has it.
MEGAHERTZ = 250
#: Bytes of packets that the link carries for each byte that the port could.
_OF_PORT = 0.93
#: Bytes of data in a packet, and of completions and requests besides, as in link.h.
_PAYLOAD, _OF_COMPLETION, _OF_REQUEST = 256, 20, 24
#: Reads that are in flight at once.
TAGS = (4, 8, 16, 32, 64)
MOST_TAGS = 256


@dataclass(frozen=True)
class Host:
    """A machine, and how long its reads take: the least, the median, and so on by :data:`SHARES`."""

    machine: str
    nanoseconds: tuple[float, ...]


HOSTS = {
    "pcie": Host("Xeon E5-2620 v3", (586, 600, 613, 866, 1106)),
    "pcie-iommu": Host("the same, pages of 4 KiB translated by its IOMMU", (586, 826, 920, 1133, 1973)),
    # The longest thousandth, which sleeps for milliseconds, is as long as what is just shorter.
    "pcie-slow": Host("Xeon E3-1226 v3", (493, 1213, 3480, 11986, 11986)),
}


class Link(ctypes.Structure):
    """What a memory is told of its host, as in link.h; without tags there is no link."""

    _fields_ = [
        ("tags", ctypes.c_uint64),
        ("rate", ctypes.c_double),
        ("waits", ctypes.c_double * len(SHARES)),
        ("shares", ctypes.c_double * len(SHARES)),
    ]


def link_of(case: dict[str, Any], port_bits: int) -> Link:
    """The link of a case: that of its ``host`` with so many ``tags``, or none."""
    if "host" not in case:
        return Link()
    waits = [each * MEGAHERTZ / 1000 for each in HOSTS[case["host"]].nanoseconds]
    count = len(SHARES)
    doubles = ctypes.c_double * count
    return Link(case["tags"], port_bits // 8 * _OF_PORT, doubles(*waits), doubles(*SHARES))


def data_rate(direction: str, port_bits: int) -> float:
    """Bytes of data that the link carries in a cycle."""
    besides = _OF_REQUEST if direction == "offload" else _OF_COMPLETION
    return port_bits // 8 * _OF_PORT * _PAYLOAD / (_PAYLOAD + besides)
