"""The account of a stream of weights, states, or keys and values: what stays, what comes, and what was waited for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["StreamReport", "Streamed"]


@dataclass
class Streamed:
    """A unit, or all of them.

    ``raw``, ``held``
        Bytes of its weights, and the bytes in which they are held: on the host, or on the device where it is ``hot``.
    ``wait``
        Seconds that computing waited for it.
    """

    raw: int
    held: int
    hot: bool
    wait: float = 0.0

    @property
    def ratio(self) -> float:
        """Bytes of weights for each byte in which they are held."""
        return self.raw / self.held if self.held else 1.0


@dataclass
class StreamReport:
    """All of a stream of weights; of an optimiser's states, or of keys and values, the same.

    ``raw``, ``hot``, ``cold``
        Bytes of all weights, of those that stay on the device, and of those that come.
    ``held``
        Bytes in which those that come are held on the host.
    ``moved``, ``fetches``
        Bytes that came until now, and how many units these were.
    ``left``
        Bytes that left for the host until now: states, or keys and values, which change.
    ``late``, ``beyond``
        Units that nobody had foreseen, so that they came only when they were needed; and those for which there was no
        place, so that they took memory beyond ``device_bytes``.
    ``passes``, ``wait``
        Calls of the model, or steps, and the seconds that computing waited in these for what came.
    ``device``
        Bytes of the device: weights that stay, buffers, and memory for those that come.
    """

    raw: int = 0
    hot: int = 0
    cold: int = 0
    held: int = 0
    moved: int = 0
    fetches: int = 0
    left: int = 0
    late: int = 0
    beyond: int = 0
    passes: int = 0
    wait: float = 0.0
    device: int = 0
    rows: dict[str, Streamed] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Bytes of weights that come for each byte that moves."""
        return self.cold / self.held if self.held else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The report, for JSON."""
        found = asdict(self) | {"ratio": self.ratio}
        for name, row in self.rows.items():
            found["rows"][name]["ratio"] = row.ratio
        return found

    def __str__(self) -> str:
        width = max([4, *(len(name) for name in self.rows)])
        lines = [f"{'unit':{width}}  {'MB':>9}  {'held':>9}  ratio  {'wait ms':>8}"]
        for name, row in self.rows.items():
            where = "  stays" if row.hot else ""
            lines.append(
                f"{name:{width}}  {row.raw / 1e6:9.3f}  {row.held / 1e6:9.3f}  {row.ratio:5.2f}  "
                f"{row.wait * 1e3:8.2f}{where}"
            )
        lines.append(
            f"{self.hot / 1e6:,.3f} MB stay, {self.cold / 1e6:,.3f} MB come as {self.held / 1e6:,.3f} MB (ratio "
            f"{self.ratio:.2f}); {self.device / 1e6:,.3f} MB of the device"
        )
        lines.append(
            f"{self.passes} passes, {self.fetches} copies of {self.moved / 1e6:,.3f} MB, {self.left / 1e6:,.3f} MB went, "
            f"{self.late} not foreseen, {self.beyond} beyond device_bytes; {self.wait * 1e3:,.2f} ms of waiting"
        )
        return "\n".join(lines)
