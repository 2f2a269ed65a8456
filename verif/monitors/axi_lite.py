"""An AXI4-Lite protocol checker: sees every cycle of the register port and objects to the first broken rule.

Like :mod:`~cdma.verif.monitors.axi` it knows nothing of the simulator. The rules are those of AXI4-Lite for both sides, so a
bench that misbehaves is found out too, and the promises of the register file: SLVERR exactly where there is no
register, and an answer in a bounded time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass

from .port_checker import PortChecker

__all__ = ["CHANNELS", "AxiLiteChecker"]

#: The payload signals of each channel, without the prefix.
CHANNELS = {
    "aw": ("awaddr", "awprot"),
    "w": ("wdata", "wstrb"),
    "b": ("bresp",),
    "ar": ("araddr", "arprot"),
    "r": ("rdata", "rresp"),
}

_OKAY, _SLVERR = 0, 2


@dataclass
class AxiLiteChecker(PortChecker):
    """Checks one subordinate's port.

    ``known``
        Holds the addresses of registers; every other one answers SLVERR.
    ``patience``
        Bounds the cycles from a request to the offer of its response, without those in which an earlier response
        waits.
    """

    channels = CHANNELS
    silent = ("awready", "wready", "arready", "bvalid", "rvalid")

    known: Container[int]
    patience: int = 64

    def forget(self) -> None:
        self._reads: deque[int] = deque()
        self._addresses: deque[int] = deque()
        self._data = 0
        self._waited = {"r": 0, "b": 0}

    def check(self, happened: Mapping[str, tuple[int, ...]]) -> None:
        # A response must not even be offered before its request has been taken.
        if self.sample("rvalid") and not self._reads:
            self.object("rvalid answers no read")
        if self.sample("bvalid") and not (self._addresses and self._data):
            self.object("bvalid answers no write")
        self._wait("r", bool(self._reads))
        self._wait("b", bool(self._addresses and self._data))
        if "r" in happened:
            self._answer("read", self._reads.popleft(), happened["r"][1])
        if "b" in happened:
            self._data -= 1
            self._answer("write", self._addresses.popleft(), happened["b"][0])
        if "ar" in happened:
            self._reads.append(happened["ar"][0])
        if "aw" in happened:
            self._addresses.append(happened["aw"][0])
        self._data += "w" in happened

    def open(self) -> tuple[int, int]:
        return len(self._reads), max(len(self._addresses), self._data)

    # -- The rules.

    def _wait(self, channel: str, due: bool) -> None:
        waits = due and not self.sample(f"{channel}valid")
        self._waited[channel] = self._waited[channel] + 1 if waits else 0
        if self._waited[channel] > self.patience:
            self.object(f"no {channel}valid for {self._waited[channel]} cycles although a response is due")

    def _answer(self, kind: str, address: int, resp: int) -> None:
        want = _OKAY if address & ~3 in self.known else _SLVERR
        if resp != want:
            self.object(f"the {kind} of {address:#x} is answered {resp}, not {want}")
