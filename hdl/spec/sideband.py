"""Sideband signals of an engine's AXI4 ports: AxCACHE, AxPROT, AxQOS and AxUSER."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import check_range
from .settings import check_settings, setting

__all__ = ["AXCACHE", "SIDEBAND_POSITIONS", "SIDEBAND_TARGETS", "SIDEBAND_USER_BITS", "Sideband"]

#: What transactions are for: data in device memory, data in host memory, descriptors and completions.
SIDEBAND_TARGETS = ("dev", "host", "ring")
#: Where the registers have each signal, and the most bits of AxUSER that they have room for.
SIDEBAND_POSITIONS = {"cache": 0, "prot": 4, "qos": 8, "user": 16}
SIDEBAND_USER_BITS = 16

#: What AxCACHE may be: without the bit that says modifiable, AXI4 allows neither of the bits of allocation.
AXCACHE = (0, 1, 2, 3, 6, 7, 10, 11, 14, 15)


def _axcache(of: str) -> int:
    value: int = setting(
        0b0011, f"AxCACHE of {of}", allowed=AXCACHE, why="AXI4 reserves the other values of AxCACHE"
    )
    return value


@dataclass(frozen=True)
class Sideband:
    """The signals of AR and AW that the engine gives and does not use."""

    dev_axcache: int = _axcache("data in device memory")
    host_axcache: int = _axcache("data in host memory")
    ring_axcache: int = _axcache("descriptors and completions")
    axprot: int = setting(0, "AxPROT of all transactions", allowed=range(8), why="AxPROT has 3 bits")
    axqos: int = setting(0, "AxQOS of all transactions", allowed=range(16), why="AxQOS has 4 bits")
    axuser_bits: int = setting(
        0, "width of AxUSER; 0: no such port", allowed=range(65), why="bits of AxUSER; 0: no port"
    )
    axuser: int = setting(0, "AxUSER of all transactions")

    def __post_init__(self) -> None:
        check_settings(self)
        check_range(
            "axuser", self.axuser, 0, (1 << self.axuser_bits) - 1, "axuser_bits says how many bits it has"
        )

    def values(self, target: str) -> dict[str, tuple[int, int]]:
        """Width and value of each signal for one of :data:`SIDEBAND_TARGETS`, by its name after ``aw`` or ``ar``."""
        cache = getattr(self, f"{target}_axcache")
        values = {"cache": (4, cache), "prot": (3, self.axprot), "qos": (4, self.axqos)}
        return values | ({"user": (self.axuser_bits, self.axuser)} if self.axuser_bits else {})

    def describe(self) -> dict[str, object]:
        """A row for the head of generated files, where anything is not as by default."""
        if self == Sideband():
            return {}
        user = f", AxUSER {self.axuser:#x} of {self.axuser_bits} bits" if self.axuser_bits else ""
        return {
            "sideband": f"AxCACHE dev {self.dev_axcache:04b}, host {self.host_axcache:04b}, rings {self.ring_axcache:04b}, "
            f"AxPROT {self.axprot:03b}, AxQOS {self.axqos:04b}{user}"
        }
