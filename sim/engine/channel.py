"""One channel of the engine, descriptor by descriptor, without clock cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import COUNTERS
from cdma.hdl.spec.records import DESCRIPTOR, RECORD_BYTES, SHAPE_RECORD, Mode, Status
from cdma.hdl.spec.shape import Shape

from .memory import EVERYBODY, BusError, Completion, OwnerRule, Port, unpack
from .shaped import fill_of, gathered, joined, list_of, page_runs
from .transfer import Outcome, TransferRules


@dataclass(frozen=True)
class ErrorRecord:
    """The error registers."""

    status: Status
    tag: int
    address: int


class ChannelModel:
    """One channel: a call of :meth:`step` carries out one descriptor or delivers one completion.

    ``settings(path)``
        Returns the stored field ``register.field`` of this channel's registers.
    ``interrupt(cause)``
        Sets a bit of ``irq_status``.

    Of a descriptor that fails in flight, hardware may have written less than the model does; its completion says how
    much.
    """

    def __init__(
        self,
        config: EngineConfig,
        direction: str,
        dev: Port,
        host: Port,
        settings: Callable[[str], int],
        interrupt: Callable[[str], None],
    ) -> None:
        self.config = config
        self.rules = TransferRules(config, direction)
        self.host = host
        self.source, self.sink = (dev, host) if direction == "offload" else (host, dev)
        self.settings = settings
        self.interrupt = interrupt
        self.owners: Callable[[], OwnerRule] = lambda: EVERYBODY
        self.table: Callable[[], tuple[int, ...]] = lambda: config.format.values
        self.forget()
        self.clear_counters()

    def forget(self) -> None:
        """Returns to the state after reset, except for the counters."""
        self.clock = 0
        self.head = self.completion_head = 0
        self.halted = False
        self.error: ErrorRecord | None = None
        self.pushed: deque[bytes] = deque()
        self.waiting: Completion | None = None
        self._waiting_wants_interrupt = False
        self._shown = False
        self._events = 0
        self._first_event = 0

    def clear_counters(self) -> None:
        """Sets all counters to 0."""
        self.counters = {name: 0 for name, _ in COUNTERS}

    @property
    def busy(self) -> bool:
        """Whether a descriptor waits to be carried out, or a completion to be written."""
        ring = self.settings("control.ring_enable") and self.head != self.settings("ring_tail.value")
        return bool(self.pushed or ring or (self.waiting and self.settings("control.completion_ring_enable")))

    def step(self) -> bool:
        """Carries out a descriptor or delivers a completion; returns whether one was waiting."""
        if not self.settings("control.ring_enable"):
            self.head = 0
        if not self.settings("control.completion_ring_enable"):
            self.completion_head = 0
        done = self._deliver() if self.waiting else self._start()
        self.clock += not done
        cycles = self.settings("coalesce_cycles.value")
        if self._events and cycles and self.clock - self._first_event >= cycles:
            self._interrupt_now()
        return done

    def pop(self) -> None:
        """Removes the completion in the registers, which software has read."""
        if not self.settings("control.completion_ring_enable"):
            self.waiting = None

    # -- completions

    def _deliver(self) -> bool:
        completion = self.waiting
        assert completion is not None
        if not self.settings("control.completion_ring_enable"):
            newly = not self._shown
            self._shown = True
            if newly and self._waiting_wants_interrupt:
                self._count_event()
            return newly
        log2 = self.settings("ring_size.log2")
        index_mask = 2 * self.config.ring_entries - 1
        if (self.completion_head - self.settings("completion_tail.value") & index_mask) >> log2:
            return False
        address = self._slot("completion_base", self.completion_head)
        self.waiting = None
        if not self.host.space.allows(address, RECORD_BYTES):
            self._fail(ErrorRecord(Status.WINDOW, completion.tag, address))
            return True
        raw = completion.pack(phase=1 - (self.completion_head >> log2 & 1))
        try:
            self.host.memory.write(address, raw)
        except BusError as error:
            status = Status.COMPLETION_DECERR if error.response == "DECERR" else Status.COMPLETION_SLVERR
            self._fail(ErrorRecord(status, completion.tag, address))
        self.completion_head = self.completion_head + 1 & index_mask
        if self._waiting_wants_interrupt:
            self._count_event()
        return True

    def _count_event(self) -> None:
        if not self._events:
            self._first_event = self.clock
        self._events += 1
        if self._events >= max(1, self.settings("coalesce_count.value")):
            self._interrupt_now()

    def _interrupt_now(self) -> None:
        self._events = 0
        self.interrupt("completion")

    def _fail(self, record: ErrorRecord, extra: bool = True) -> None:
        """Records an error; an ``extra`` one has no completion of its own."""
        self.error = self.error or record
        self.counters["errors"] += extra
        self.halted |= bool(self.settings("control.halt_on_error"))
        self.interrupt("error")

    # -- descriptors

    def _slot(self, base: str, index: int) -> int:
        start = self.settings(f"{base}_low.line") << 6 | self.settings(f"{base}_high.value") << 32
        return start + index % (1 << self.settings("ring_size.log2")) * RECORD_BYTES

    def _start(self) -> bool:
        if not self.settings("control.enable") or self.halted:
            return False
        if self.pushed:
            self._complete(self.pushed.popleft())
            return True
        if not self.settings("control.ring_enable") or self.head == self.settings("ring_tail.value"):
            return False
        raw = self._fetch(self.head)
        entries = 1
        if isinstance(raw, bytes) and self.config.dimensions and unpack(DESCRIPTOR, raw)["shaped"]:
            following = self._following(self.head)
            if following == self.settings("ring_tail.value"):
                # The extension is not there yet.
                return False
            extension, entries = self._fetch(following), 2
            raw = raw + extension if isinstance(extension, bytes) else extension
        for _ in range(entries):
            self.head = self._following(self.head)
        if isinstance(raw, bytes):
            self._complete(raw)
        else:
            self._finish(raw, interrupt=True)
        return True

    def _following(self, index: int) -> int:
        return index + 1 & 2 * self.config.ring_entries - 1

    def _fetch(self, index: int) -> bytes | Completion:
        """Returns an entry of the ring, or the completion that says why it cannot be fetched."""
        address = self._slot("ring_base", index)
        if not self.host.space.allows(address, RECORD_BYTES):
            return Completion(0, Status.WINDOW, address=address)
        try:
            return self.host.memory.read(address, RECORD_BYTES)
        except BusError as error:
            status = Status.FETCH_DECERR if error.response == "DECERR" else Status.FETCH_SLVERR
            return Completion(0, status, address=address)

    def _complete(self, raw: bytes) -> None:
        """Carries out a descriptor, which has its extension after it if it is ``shaped``."""
        values = unpack(DESCRIPTOR, raw[:RECORD_BYTES])
        extension = None
        if values["shaped"] and self.config.dimensions:
            extension = unpack(SHAPE_RECORD, raw[RECORD_BYTES:])
        refusal = self.rules.refusal(values, self.source.space, self.sink.space, extension, self.owners())
        shape = None if extension is None else self.rules.shape(extension)
        completion = _completion(values["tag"], refusal) if refusal else self._carry_out(values, shape)
        self._finish(completion, bool(values["interrupt"]))

    def _finish(self, completion: Completion, interrupt: bool) -> None:
        counters = self.counters
        counters["descriptors"] += 1
        for name in ("cycles", "bytes_read", "bytes_written", "literals"):
            counters[name] = (counters[name] + getattr(completion, name)) % 2**64
        self.clock += completion.cycles
        self.waiting = completion
        self._shown = False
        self._waiting_wants_interrupt = interrupt or completion.status is not Status.OK
        if completion.status is not Status.OK:
            counters["errors"] += 1
            self._fail(ErrorRecord(completion.status, completion.tag, completion.address), extra=False)

    def _carry_out(self, d: dict[str, int], shape: Shape | None) -> Completion:
        counters, count = self.counters, self.rules.bytes_read(d, shape)
        of_source, of_sink = (shape, None) if self.rules.compressing else (None, shape)
        device = self.source if self.rules.compressing else self.sink
        at = self.rules.base(d)
        try:
            data = self._read(d, count, of_source)
            base = b"" if at is None else device.read(at, d["length"])
        except BusError as error:
            status = Status.READ_DECERR if error.response == "DECERR" else Status.READ_SLVERR
            return Completion(d["tag"], status, bytes_read=count, address=error.address)
        outcome = replace(self.rules.outcome(d, data, self.table(), base), bytes_read=count)
        parts, lost = [(d["destination"], outcome.written)], None
        if of_sink is not None:
            parts = list(joined(d["destination"], of_sink, outcome.written, self.config.run_rows))
            outcome = replace(outcome, scattered=sum(len(part) for _, part in parts))
        if of_sink is None and self.rules.compressing and list_of(d):
            parts, lost = self._in_pages(d, outcome)
            address, last = parts[-1]
            end = address + len(last) if outcome.status is Status.CAPACITY else outcome.address
            outcome = replace(outcome, scattered=sum(len(part) for _, part in parts), address=end)
        failures = [self.sink.write(address, part, self.config.burst_beats) for address, part in parts]
        failed = next((failure for failure in (*failures, lost) if failure is not None), None)
        read_beats = self.source.beats(0 if of_source else d["source"], count)
        write_beats = sum(self.sink.beats(address, len(part)) for address, part in parts)
        counters["read_beats"] += read_beats
        counters["write_beats"] += write_beats
        if d["mode"] != Mode.RAW:
            counters["raw_words"] += self.rules.words(d)
        completion = _completion(d["tag"], outcome, cycles=max(read_beats, write_beats))
        # Of several causes the first in the order of the data counts: stream, CRC, write, capacity, range.
        if failed is not None and outcome.status in (Status.OK, Status.CAPACITY, Status.LOSSY_RANGE):
            status = Status.WRITE_DECERR if failed.response == "DECERR" else Status.WRITE_SLVERR
            return replace(completion, status=status, address=failed.address)
        return completion

    def _read(self, d: dict[str, int], count: int, shape: Shape | None) -> bytes:
        """The data of a descriptor: those at its source, or of the shape there."""
        if shape is None and not self.rules.compressing and list_of(d):
            runs = page_runs(self.source, d["source"], count, list_of(d))
            return b"".join(self.source.read(address, length) for address, length in runs)
        if shape is None:
            return self.source.read(d["source"], count)
        return gathered(
            shape,
            lambda offset, run: self.source.read(d["source"] + offset, run),
            fill_of(self.config, d, self.table()),
        )

    def _in_pages(
        self, d: dict[str, int], outcome: Outcome
    ) -> tuple[list[tuple[int, bytes]], BusError | None]:
        """What goes to which address of the host pages of an offload, up to that of the first byte that does not fit; and
        the error of the page at which they end."""
        data = outcome.written
        wanted = len(data) + (outcome.status is Status.CAPACITY)
        parts: list[tuple[int, bytes]] = []
        done = 0
        try:
            for address, count in page_runs(self.sink, d["destination"], d["capacity"], list_of(d)):
                parts.append((address, data[done : done + count]))
                done += count
                if done >= wanted:
                    break
        except BusError as error:
            return parts, error
        return parts, None


def _completion(tag: int, outcome: Outcome, cycles: int = 0) -> Completion:
    return Completion(
        tag,
        outcome.status,
        bytes_read=outcome.bytes_read,
        bytes_written=outcome.bytes_written,
        literals=outcome.literals,
        cycles=cycles,
        address=outcome.address,
        crc=outcome.crc,
        range_count=outcome.range_count,
        range_first=outcome.range_first,
    )
