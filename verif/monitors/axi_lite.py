"""An AXI4-Lite protocol checker: sees every cycle of the register port and objects to the first broken rule.

Like :mod:`~cdma.verif.monitors.axi` it knows nothing of the simulator. The rules are those of AXI4-Lite for both sides, so a
bench that misbehaves is found out too, and the promises of the register file: SLVERR exactly where there is no
register, and an answer in a bounded time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass

from .axi import AxiViolation
from .handshakes import Handshakes

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
class AxiLiteChecker:
    """Checks one subordinate's port.

    ``sample``
        Gives the value of a signal such as ``"arvalid"`` at the rising edge.
    ``known``
        Holds the addresses of registers; every other one answers SLVERR.
    ``patience``
        Bounds the cycles from a request to the offer of its response, without those in which an earlier response
        waits.
    """

    name: str
    sample: Callable[[str], int]
    known: Container[int]
    patience: int = 64
    cycles: int = 0

    def __post_init__(self) -> None:
        self._handshakes = Handshakes(CHANNELS, self.sample, self._object)
        self._forget()

    def _forget(self) -> None:
        self._handshakes.forget()
        self._reads: deque[int] = deque()
        self._addresses: deque[int] = deque()
        self._data = 0
        self._waited = {"r": 0, "b": 0}

    # -- Called by whoever steps the clock.

    def reset(self) -> None:
        """Looks at one rising edge in reset, which ends whatever was open."""
        self.cycles += 1
        self._forget()
        for signal in ("awready", "wready", "arready", "bvalid", "rvalid"):
            if self.sample(signal):
                self._object(f"{signal} is high in reset")

    def cycle(self) -> None:
        """Looks at one rising edge outside reset."""
        self.cycles += 1
        happened = self._handshakes.cycle()
        # A response must not even be offered before its request has been taken.
        if self.sample("rvalid") and not self._reads:
            self._object("rvalid answers no read")
        if self.sample("bvalid") and not (self._addresses and self._data):
            self._object("bvalid answers no write")
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

    @property
    def quiet(self) -> bool:
        """Whether nothing is in flight."""
        return not (self._reads or self._addresses or self._data or not self._handshakes.quiet)

    def finish(self) -> None:
        """Objects if a transfer is still open."""
        if not self.quiet:
            self._object(f"{len(self._reads)} reads and {len(self._addresses)} writes are still open")

    # -- The rules.

    def _object(self, what: str) -> None:
        raise AxiViolation(f"{self.name}, cycle {self.cycles}: {what}")

    def _wait(self, channel: str, due: bool) -> None:
        waits = due and not self.sample(f"{channel}valid")
        self._waited[channel] = self._waited[channel] + 1 if waits else 0
        if self._waited[channel] > self.patience:
            self._object(f"no {channel}valid for {self._waited[channel]} cycles although a response is due")

    def _answer(self, kind: str, address: int, resp: int) -> None:
        want = _OKAY if address & ~3 in self.known else _SLVERR
        if resp != want:
            self._object(f"the {kind} of {address:#x} is answered {resp}, not {want}")
