"""Numbers on their way from a GPU, which nothing waits for until they are asked for. The account of a context: bytes,
now and at most, of what autograd keeps, with and without compression; time and error.

Notes what goes, with what must then be done for it.

When a thing goes, C code alone notes it: in a finaliser in Python, the exception of a signal handler would be lost. What
must be done is done later, by whoever asks.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from cdma.gpu.layout import current

#: The numbers that there is memory for, at least.
MOST = 64


class Mail:
    """Memory of the host for numbers of a GPU, and the event that says that they have come."""

    def __init__(self, device: torch.device, count: int) -> None:
        card = device.type == "cuda"
        self.numbers = torch.empty(max(MOST, count), dtype=torch.int64, pin_memory=card)
        self.event = torch.cuda.Event() if card else None


class Arriving:
    """Numbers on their way from the GPU. Their mail is spare once they were read."""

    def __init__(self, numbers: Tensor, spare: list[Mail]) -> None:
        self._spare = spare
        self._count = numbers.numel()
        large = spare and spare[-1].numbers.numel() >= self._count
        self._mail: Mail | None = spare.pop() if large else Mail(numbers.device, self._count)
        self._numbers: list[int] = []
        with current(numbers.device):
            self._mail.numbers[: self._count].copy_(numbers.view(-1), non_blocking=True)
            if self._mail.event is not None:
                self._mail.event.record()

    def query(self) -> bool:
        """Whether they have come."""
        return self._mail is None or self._mail.event is None or bool(self._mail.event.query())

    def synchronize(self) -> None:
        """Returns when they have come."""
        if self._mail is not None and self._mail.event is not None:
            self._mail.event.synchronize()

    def wait(self) -> list[int]:
        """The numbers, once they have come."""
        self.synchronize()
        if self._mail is not None:
            self._numbers = self._mail.numbers[: self._count].tolist()
            self._spare.append(self._mail)
            self._mail = None
        return self._numbers


Payload = TypeVar("Payload")


class Departures(Generic[Payload]):
    """Things that are there, each with a payload, which comes out once the thing is gone."""

    def __init__(self) -> None:
        self._there: set[_Entry] = set()
        self._gone: deque[weakref.ref[Any]] = deque()

    def watch(self, thing: object, payload: Payload) -> None:
        """Watches a thing."""
        entry = _Entry(thing, self._gone.append)
        entry.payload = payload
        self._there.add(entry)

    def gone(self) -> Iterable[Payload]:
        """The payloads of things that are gone, each once."""
        return self._payloads() if self._gone else ()

    def _payloads(self) -> Iterator[Payload]:
        while self._gone:
            entry = self._gone.popleft()
            assert isinstance(entry, _Entry)
            self._there.remove(entry)
            yield entry.payload


class _Entry(weakref.ref[Any]):
    """A thing that is there."""

    __slots__ = ("payload",)

    payload: Any

    # As an object, not as what it refers to.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass
class Layer:
    """What a module was the first to keep, over all passes."""

    tensors: int = 0
    raw: int = 0
    held: int = 0
    #: Bits of the integers, of the last tensor that became such; 0 without loss.
    bits: int = 0
    #: The largest error.
    error: float = 0.0
    #: Sums of squares, of the errors and of the numbers that have them.
    squares: float = 0.0
    numbers: float = 0.0

    @property
    def ratio(self) -> float:
        """Bytes per byte that is held."""
        return self.raw / self.held if self.held else 1.0

    @property
    def relative_error(self) -> float:
        """The root of the mean square of the errors, relative to that of the numbers."""
        return math.sqrt(self.squares / self.numbers) if self.numbers else 0.0


@dataclass
class Report(Layer):
    """All of a context.

    ``passes``: Forward passes of the model.
    ``elsewhere``: Calls of the model or of its modules on other threads than that of the block, of which nothing is
        compressed.
    ``conv_raw``, ``conv_held``: The bytes of what convolutions read in the backward pass.
    ``peak_raw``, ``peak_held``: The most bytes that autograd would have kept at once, and the most that were held for
        it: streams, tables and what is kept as it is. They need not be at the same moment.
    ``shared``: How many tensors autograd kept once more, which were compressed once.
    ``out_of_range``: How many tensors a policy gave a bound to and were kept without loss, because a number is NaN,
        infinite or too large.
    ``seconds``, ``seconds_back``: Time of compressing and of decompressing.
    """

    passes: int = 0
    elsewhere: int = 0
    conv_raw: int = 0
    conv_held: int = 0
    peak_raw: int = 0
    peak_held: int = 0
    shared: int = 0
    out_of_range: int = 0
    seconds: float = 0.0
    seconds_back: float = 0.0
    layers: dict[str, Layer] = field(default_factory=dict)

    @property
    def ratio_conv(self) -> float:
        """Bytes per held byte of what convolutions read."""
        return self.conv_raw / self.conv_held if self.conv_held else 1.0

    @property
    def peak_ratio(self) -> float:
        """By how much the memory that autograd needs is less."""
        return self.peak_raw / self.peak_held if self.peak_held else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The report, for JSON."""
        found = asdict(self)
        found |= {
            name: getattr(self, name) for name in ("ratio", "ratio_conv", "peak_ratio", "relative_error")
        }
        for name, layer in self.layers.items():
            found["layers"][name] |= {"ratio": layer.ratio, "relative_error": layer.relative_error}
        return found

    def __str__(self) -> str:
        width = max([5, *(len(name) for name in self.layers)])
        lines = [f"{'layer':{width}}  {'MB':>9}  {'held':>9}  ratio  bits  error/rms"]
        for name, layer in [*self.layers.items(), ("all", self)]:
            lines.append(
                f"{name:{width}}  {layer.raw / 1e6:9.3f}  {layer.held / 1e6:9.3f}  {layer.ratio:5.2f}  "
                f"{layer.bits or '':>4}  {layer.relative_error:9.5f}"
            )
        lines.append(
            f"at most {self.peak_held / 1e6:,.3f} MB held in place of {self.peak_raw / 1e6:,.3f} MB: "
            f"{self.peak_ratio:.2f} times less; {self.passes} passes, {self.tensors} tensors, "
            f"{self.shared} shared, {self.out_of_range} out of range; "
            f"{self.seconds:.2f} s to compress, {self.seconds_back:.2f} s to decompress"
        )
        if self.elsewhere:
            lines.append(f"{self.elsewhere} calls on other threads, of which nothing is compressed")
        return "\n".join(lines)


@dataclass(slots=True)
class Entry:
    """A tensor that is kept.

    ``raw``, ``held``: Its bytes, and those that are held for it.
    ``there``: The bytes that are there for it now, where that is not the same.
    """

    layer: Layer
    raw: int
    held: int
    there: int
    convolutions: bool = False


class Ledger:
    """Keeps the report. What goes is struck out with the next access, and before any that could raise a maximum."""

    def __init__(self) -> None:
        self.report = Report()
        self._lock = threading.Lock()
        self._departures: Departures[Entry] = Departures()
        self._now_raw = self._now_held = 0

    def keep(self, kept: object, name: str, raw: int, held: int, there: int | None = None) -> Entry:
        """Enters a tensor as long as ``kept`` is there; what is ``there`` now may be more than is held."""
        with self._lock:
            self._strike_out()
            report = self.report
            layer = report.layers.get(name)
            if layer is None:
                layer = report.layers[name] = Layer()
            entry = Entry(layer, raw, held, 0)
            self._departures.watch(kept, entry)
            for account in (layer, report):
                account.tensors += 1
                account.raw += raw
                account.held += held
            self._now_raw += raw
            if self._now_raw > report.peak_raw:
                report.peak_raw = self._now_raw
            self._change(entry, held if there is None else there)
            return entry

    def size(self, entry: Entry, held: int) -> None:
        """What is held for a tensor, and there, has another size than was entered."""
        with self._lock:
            self._strike_out()
            more, entry.held = held - entry.held, held
            entry.layer.held += more
            self.report.held += more
            self.report.conv_held += more * entry.convolutions
            self._change(entry, held)

    def there(self, entry: Entry, size: int) -> None:
        """So many bytes are there for a tensor now."""
        with self._lock:
            self._strike_out()
            self._change(entry, size)

    def read_by_convolution(self, entry: Entry) -> None:
        """A convolution reads this tensor; it counts once."""
        with self._lock:
            if not entry.convolutions:
                entry.convolutions = True
                self.report.conv_raw += entry.raw
                self.report.conv_held += entry.held

    @property
    def now(self) -> tuple[int, int]:
        """The bytes that autograd keeps at this moment, without and with compression."""
        with self._lock:
            self._strike_out()
            return self._now_raw, self._now_held

    def _change(self, entry: Entry, there: int) -> None:
        self._now_held += there - entry.there
        entry.there = there
        if self._now_held > self.report.peak_held:
            self.report.peak_held = self._now_held

    def _strike_out(self) -> None:
        for entry in self._departures.gone():
            self._now_raw -= entry.raw
            self._now_held -= entry.there
