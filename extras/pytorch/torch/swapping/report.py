"""The account of an offload: what moved, what stayed, and what was waited for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError

from .policies import Action
from .timeline import Timeline

__all__ = ["Moved", "SwapReport"]


@dataclass
class Moved:
    """A tensor of a pass, over all passes; or all of them.

    ``tensors``
        How often it was kept.
    ``raw``, ``moved``, ``back``
        Bytes of its elements, and the bytes that left the device and came back for it.
    ``left``
        Bytes of elements that left, in ``moved`` bytes.
    ``actions``
        How often each action was taken.
    ``wait``
        Seconds that a backward pass waited for it.
    """

    tensors: int = 0
    raw: int = 0
    moved: int = 0
    left: int = 0
    back: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    wait: float = 0.0

    def kept(self, raw: int, action: Action) -> None:
        """It was kept once more."""
        self.tensors += 1
        self.raw += raw
        self.left += 0 if action is Action.KEEP else raw
        self.actions[action.value] = self.actions.get(action.value, 0) + 1

    @property
    def ratio(self) -> float:
        """Bytes of elements for each byte in which they left."""
        return self.left / self.moved if self.moved else 1.0


@dataclass
class SwapReport(Moved):
    """All of an offload.

    ``passes``, ``elsewhere``, ``shared``
        Forward passes; calls on other threads, of which nothing moves; tensors that were kept once more and moved once.
    ``full``
        Tensors that stayed because the host's memory had no room.
    ``again``
        Streams that were longer than expected, and went to the host once more.
    ``over``
        How often ``device_bytes`` had no room for what was needed, and was exceeded.
    ``peak_device``, ``peak_host``
        The most bytes that were held at once for the backward pass, on the device and on the host. On the device that is
        what stays, what has not left yet, and what has come back.
    ``seconds``
        Seconds of compressing and decompressing, as the processor saw them.
    ``prediction``
        Mean relative error with which the times of both kernels are predicted for sizes and densities that were not learnt
        from.
    ``noise``
        The same for those that were.
    """

    passes: int = 0
    elsewhere: int = 0
    shared: int = 0
    full: int = 0
    again: int = 0
    over: int = 0
    peak_device: int = 0
    peak_host: int = 0
    seconds: float = 0.0
    prediction: dict[str, float | None] = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)
    rows: dict[str, Moved] = field(default_factory=dict)
    timeline: Timeline | None = field(default=None, repr=False)

    def trace(self, path: str | Path) -> None:
        """Writes what happened when, for Chrome's trace viewer or Perfetto."""
        if self.timeline is None:
            raise ParameterError("nothing was noted for a trace: give trace=True")
        self.timeline.write(path)

    def as_dict(self) -> dict[str, Any]:
        """The report, for JSON."""
        timeline, self.timeline = self.timeline, None
        try:
            found = asdict(self)
        finally:
            self.timeline = timeline
        del found["timeline"]
        found["ratio"] = self.ratio
        for name, row in self.rows.items():
            found["rows"][name]["ratio"] = row.ratio
        return found

    def __str__(self) -> str:
        width = max([6, *(len(name) for name in self.rows)])
        lines = [f"{'tensor':{width}}  {'MB':>9}  {'moved':>9}  ratio  {'wait ms':>8}  action"]
        for name, row in [*self.rows.items(), ("all", self)]:
            actions = ", ".join(f"{count} {action}" for action, count in sorted(row.actions.items()))
            lines.append(
                f"{name:{width}}  {row.raw / 1e6:9.3f}  {row.moved / 1e6:9.3f}  {row.ratio:5.2f}  "
                f"{row.wait * 1e3:8.2f}  {actions}"
            )
        lines.append(
            f"at most {self.peak_device / 1e6:,.3f} MB on the device and {self.peak_host / 1e6:,.3f} MB on the host; "
            f"{self.passes} passes, {self.shared} shared, {self.full} without room on the host, {self.again} sent again, "
            f"{self.over} beyond device_bytes; {self.seconds:.2f} s of codec"
        )
        if self.elsewhere:
            lines.append(f"{self.elsewhere} calls on other threads, of which nothing moves")
        return "\n".join(lines)
