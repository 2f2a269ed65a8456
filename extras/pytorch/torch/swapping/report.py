"""What computed, copied and waited when: spans in lanes, as a trace that Chrome and Perfetto show. What an offload
learns while it runs: sizes, densities, hidden times, times of kernels and rates of the link. The account of an
offload: what moved, what stayed, and what was waited for.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cdma.base.errors import ParameterError
from cdma.torch.keeping import Slot
from cdma.torch.transport import Copy, Transport

from .policies import Action, KernelFit, KernelSample, Learnt

#: The lanes, in the order in which they are shown.
LANES = ("compute", "codec", "out", "back", "wait")


@dataclass
class Timeline:
    """Spans, each between two events."""

    transport: Transport
    spans: list[tuple[str, str, Any, Any, int]] = field(default_factory=list)
    copies: list[tuple[str, str, Copy]] = field(default_factory=list)

    def add(self, lane: str, name: str, begin: Any, end: Any, nbytes: int = 0) -> None:
        """Adds a span."""
        self.spans.append((lane, name, begin, end, nbytes))

    def add_copy(self, lane: str, name: str, copy: Copy) -> None:
        """Adds a copy, whose marks are known when it has ended."""
        self.copies.append((lane, name, copy))

    def write(self, path: str | Path) -> None:
        """Writes the trace in the format of Chrome's trace viewer."""
        noted = list(self.spans)
        for lane, name, copy in self.copies:
            copy.end.synchronize()
            noted.append((lane, name, copy.begin, copy.end, copy.nbytes))
        names = [
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": lane}}
            for tid, lane in enumerate(LANES)
        ]
        spans: list[dict[str, Any]] = [
            {
                "ph": "X",
                "pid": 1,
                "tid": LANES.index(lane),
                "name": name,
                "ts": self.transport.seconds(noted[0][2], begin) * 1e6,
                "dur": self.transport.seconds(begin, end) * 1e6,
                "args": {"bytes": nbytes},
            }
            for lane, name, begin, end, nbytes in noted
        ]
        spans.sort(key=lambda span: span["ts"])
        Path(path).write_text(json.dumps({"traceEvents": [*names, *spans], "displayTimeUnit": "ms"}))


#: Samples that are kept of each kernel, and copies of each direction.
_SAMPLES = 512
#: Samples that a fit needs.
_LEAST = 3


class Profile:
    """Marks are taken while a pass runs, and turned into seconds when the next one begins.

    ``active``: Whether this pass is one to learn from.
    ``tensors``: What was learnt of each tensor of a pass.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.active = False
        self.tensors: dict[Slot, Learnt] = {}
        self.rates: tuple[float, float] | None = None
        self.compress: KernelFit | None = None
        self.decompress: KernelFit | None = None
        self._marks: list[tuple[Learnt, str, Any, Any]] = []
        self._kernels: list[tuple[str, Learnt, Any, Any]] = []
        # Of the last ones size, density and seconds; of copies those on their way, and rates.
        self._samples = {way: deque[KernelSample](maxlen=_SAMPLES) for way in ("compress", "decompress")}
        self._copies: dict[str, list[Copy]] = {"out": [], "back": []}
        self._rates = {way: deque[float](maxlen=_SAMPLES) for way in self._copies}
        self._kept: tuple[Learnt, Any] | None = None
        self._given: Any = None

    def of(self, slot: Slot, raw: int) -> Learnt:
        """What was learnt of a tensor that is kept now."""
        learnt = self.tensors.setdefault(slot, Learnt(raw))
        learnt.raw = raw
        return learnt

    def keeping(self, begin: Any) -> None:
        """A tensor is kept from this mark on: what was computed until then hides the copy of the one before."""
        if self.active and self._kept is not None:
            learnt, since = self._kept
            self._marks.append((learnt, "forward", since, begin))

    def kept(self, learnt: Learnt, end: Any) -> None:
        """A tensor was kept until this mark."""
        self._kept = learnt, end
        self._given = None

    def giving(self, learnt: Learnt, begin: Any) -> None:
        """A tensor is needed at this mark: what was computed since the last one hides its copy."""
        if self.active and self._given is not None:
            self._marks.append((learnt, "backward", self._given, begin))

    def given(self, end: Any) -> None:
        """A tensor was given back until this mark."""
        self._kept, self._given = None, end

    def kernel(self, way: str, learnt: Learnt, begin: Any, end: Any) -> None:
        """A kernel ran between two marks."""
        if self.active:
            self._kernels.append((way, learnt, begin, end))

    def copy(self, way: str, copy: Copy) -> None:
        """A copy of a tensor is on its way."""
        if self.active:
            self._copies[way].append(copy)

    def settle(self) -> None:
        """Turns the marks of the last pass into what is known."""
        for learnt, what, begin, end in self._marks:
            setattr(learnt, what, self._transport.seconds(begin, end))
        for way, learnt, begin, end in self._kernels:
            seconds = self._transport.seconds(begin, end)
            self._samples[way].append(KernelSample(learnt.raw, learnt.density, max(seconds, 1e-9)))
        for way, copies in self._copies.items():
            ended = [copy for copy in copies if copy.end.query()]
            self._copies[way] = [copy for copy in copies if copy not in ended]
            self._rates[way].extend(
                copy.nbytes / self._transport.seconds(copy.begin, copy.end) for copy in ended
            )
        learnt_more = bool(self._kernels)
        self._marks.clear()
        self._kernels.clear()
        self._kept = self._given = None
        if learnt_more and min(map(len, self._samples.values())) >= _LEAST:
            self.compress, self.decompress = map(KernelFit.of, self._samples.values())
        out, back = self._rates.values()
        # Over a slow link nothing may have left by the time it is needed: then the way back is taken to be as fast.
        self.rates = (median(out), median(back or out)) if out else None


@dataclass
class Moved:
    """A tensor of a pass, over all passes; or all of them.

    ``tensors``: How often it was kept.
    ``raw``, ``moved``, ``back``: Bytes of its elements, and the bytes that left the device and came back for it.
    ``left``: Bytes of elements that left, in ``moved`` bytes.
    ``actions``: How often each action was taken.
    ``wait``: Seconds that a backward pass waited for it.
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

    ``passes``, ``elsewhere``, ``shared``: Forward passes; calls on other threads, of which nothing moves; tensors that
        were kept once more and moved once.
    ``full``: Tensors that stayed because the host's memory had no room.
    ``again``: Streams that were longer than expected, and went to the host once more.
    ``over``: How often ``device_bytes`` had no room for what was needed, and was exceeded.
    ``peak_device``, ``peak_host``: The most bytes that were held at once for the backward pass, on the device and on
        the host. On the device that is what stays, what has not left yet, and what has come back.
    ``seconds``: Seconds of compressing and decompressing, as the processor saw them.
    ``prediction``: Mean relative error with which the times of both kernels are predicted for sizes and densities that
        were not learnt from.
    ``noise``: The same for those that were.
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
