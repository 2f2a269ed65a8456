"""One channel of the engine, descriptor by descriptor: what must happen, without when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, MAX_BYTES, RECORD_BYTES, Mode, Status
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.results import NONE, PacketReport
from cdma.sim.codec.words import word_dtype

from .descriptors import Completion, unpack
from .memory import BusError, Memory

__all__ = ["ChannelModel", "ErrorRecord", "Port"]

_PAGE = 4096
#: More capacity than this is as good as this.
_LENGTH_LIMIT = (1 << LENGTH_BITS) - 1

Name = Literal["offload", "prefetch"]


@dataclass(frozen=True)
class ErrorRecord:
    """The error registers."""

    status: Status
    tag: int
    address: int


@dataclass
class Port:
    """One AXI4 port: the memory behind it, and what the window registers allow."""

    memory: Memory
    data_bits: int
    address_bits: int
    window: Callable[[], tuple[int, int]]

    @property
    def beat(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    def beats(self, address: int, count: int) -> int:
        """Beats in which ``count`` bytes from ``address`` on lie; 0 for none."""
        return -(-(address % self.beat + count) // self.beat) if count else 0

    def allows(self, address: int, count: int) -> bool:
        """Whether the pages of ``count`` bytes from ``address`` on lie in the window and the address
        space."""
        base, limit = self.window()
        first, last = address // _PAGE, (address + count - 1) // _PAGE
        return base // _PAGE <= first and last <= limit // _PAGE and last < 1 << (self.address_bits - 12)

    def read(self, address: int, count: int) -> bytes:
        """Reads whole beats, the last and, where that is not their begin, the first of which have more; a fault is told
        with its beat's address."""
        before = address % self.beat
        try:
            data = self.memory.read(address - before, self.beats(address, count) * self.beat)
            return data[before : before + count]
        except BusError as error:
            raise BusError(error.response, error.address // self.beat * self.beat) from None

    def write(self, address: int, data: bytes, burst_beats: int) -> BusError | None:
        """Writes burst by burst, and gives the first burst that failed; the others are written all the
        same."""
        longest = min(burst_beats * self.beat, _PAGE)
        failed = None
        position = 0
        while position < len(data):
            start = address + position
            count = min(longest - start % longest, len(data) - position)
            try:
                self.memory.write(start, data[position : position + count])
            except BusError as error:
                failed = failed or BusError(error.response, start)
            position += count
        return failed


class ChannelModel:
    """What one channel does.

    ``settings(path)``
        The stored field ``register.field`` of this channel's registers.
    ``interrupt(cause)``
        Called to set a bit of ``irq_status``.

    A call of :meth:`step` carries out one descriptor or delivers one completion. Of a descriptor that failed
    on the way, hardware may have written less than the model does; its completion says how much."""

    def __init__(
        self,
        config: EngineConfig,
        name: Name,
        dev: Port,
        host: Port,
        settings: Callable[[str], int],
        interrupt: Callable[[str], None],
    ) -> None:
        self.config = config
        self.compressing = name == "offload"
        self.host = host
        self.source, self.sink = (dev, host) if self.compressing else (host, dev)
        self.settings = settings
        self.interrupt = interrupt
        self.table: Callable[[], tuple[int, ...]] = lambda: config.format.values
        self.forget()
        self.clear_counters()

    def forget(self) -> None:
        """Back to the state after reset, but for the counters."""
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
        """All counters to 0."""
        self.counters = {name: 0 for name, _ in COUNTERS}

    @property
    def busy(self) -> bool:
        """A descriptor waits to be carried out, or a completion to be written."""
        ring = self.settings("control.ring_enable") and self.head != self.settings("ring_tail.value")
        return bool(self.pushed or ring or (self.waiting and self.settings("control.completion_ring_enable")))

    def step(self) -> bool:
        """Does the next thing, and says whether there was one."""
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
        """Software has read the completion in the registers."""
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
        if not self.host.allows(address, RECORD_BYTES):
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
        """An error: ``extra`` is one without a completion of its own."""
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
        address = self._slot("ring_base", self.head)
        self.head = self.head + 1 & 2 * self.config.ring_entries - 1
        if not self.host.allows(address, RECORD_BYTES):
            self._finish(Completion(0, Status.WINDOW, address=address), interrupt=True)
            return True
        try:
            self._complete(self.host.memory.read(address, RECORD_BYTES))
        except BusError as error:
            status = Status.FETCH_DECERR if error.response == "DECERR" else Status.FETCH_SLVERR
            self._finish(Completion(0, status, address=address), interrupt=True)
        return True

    def _complete(self, raw: bytes) -> None:
        values = unpack(DESCRIPTOR, raw)
        completion = self._refuse(values) or self._carry_out(values)
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

    def _refuse(self, d: dict[str, int]) -> Completion | None:
        """The first objection, in the order in which the hardware looks."""
        word = self.config.format.word_bits // 8
        raw = d["mode"] == Mode.RAW
        compressed = not raw and not self.compressing
        most = MAX_BYTES if word > 1 else MAX_BYTES - 1

        def refused(status: Status, address: int = 0) -> Completion:
            return Completion(d["tag"], status, address=address % 2**64)

        if any(d[field.name] for field in DESCRIPTOR if field.reserved) or d["mode"] > max(Mode):
            return refused(Status.RESERVED)
        if not d["length"] or (compressed and not d["compressed_length"]):
            return refused(Status.ZERO_LENGTH)
        if d["length"] % word or d["length"] > most:
            return refused(Status.LENGTH)
        if compressed and (d["compressed_length"] % word or d["compressed_length"] > _LENGTH_LIMIT):
            return refused(Status.LENGTH)
        if not compressed and d["compressed_length"]:
            return refused(Status.LENGTH)
        known_length = raw or not self.compressing
        if not d["capacity"] or (known_length and d["length"] > d["capacity"]):
            return refused(Status.CAPACITY, d["destination"] + d["capacity"])
        for port, address in ((self.source, d["source"]), (self.sink, d["destination"])):
            if address % self.config.align(port.data_bits):
                return refused(Status.ALIGNMENT, address)
        if not self.source.allows(d["source"], d["compressed_length"] if compressed else d["length"]):
            return refused(Status.WINDOW, d["source"])
        if not self.sink.allows(d["destination"], min(d["capacity"], _LENGTH_LIMIT)):
            return refused(Status.WINDOW, d["destination"])
        return None

    def _carry_out(self, d: dict[str, int]) -> Completion:
        compressed = d["mode"] != Mode.RAW and not self.compressing
        bytes_read = d["compressed_length"] if compressed else d["length"]
        counters = self.counters
        try:
            data = self.source.read(d["source"], bytes_read)
        except BusError as error:
            status = Status.READ_DECERR if error.response == "DECERR" else Status.READ_SLVERR
            return Completion(d["tag"], status, bytes_read=bytes_read, address=error.address)
        read_beats = self.source.beats(d["source"], bytes_read)
        counters["read_beats"] += read_beats

        out, report = self._through_codec(d, data)
        # The beat that would reach past the capacity is not written, and nothing behind it.
        end = d["destination"] + d["capacity"]
        whole = max(0, end // self.sink.beat * self.sink.beat - d["destination"])
        fits = out if len(out) <= d["capacity"] else out[:whole]
        failed = self.sink.write(d["destination"], fits, self.config.burst_beats)
        write_beats = self.sink.beats(d["destination"], len(fits))
        counters["write_beats"] += write_beats
        if d["mode"] != Mode.RAW:
            counters["raw_words"] += d["length"] // (self.config.format.word_bits // 8)
        completion = Completion(
            d["tag"],
            Status.OK,
            bytes_read=bytes_read,
            bytes_written=len(fits),
            literals=report.literals,
            cycles=max(read_beats, write_beats),
        )
        if report.error != NONE:
            kinds = (Status.OK, Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE)
            return replace(completion, status=kinds[report.error])
        if failed is not None:
            status = Status.WRITE_DECERR if failed.response == "DECERR" else Status.WRITE_SLVERR
            return replace(completion, status=status, address=failed.address)
        if len(fits) < len(out):
            return replace(completion, status=Status.CAPACITY, address=d["destination"] + len(fits))
        return completion

    def _through_codec(self, d: dict[str, int], data: bytes) -> tuple[bytes, PacketReport]:
        form = self.config.format
        if d["mode"] == Mode.RAW:
            return data, PacketReport(0, 0, 0)
        # A codec's table is always full: of zeros in mode zvc.
        values = self.table() if d["mode"] == Mode.FVC else (0,) * form.literal_code
        table = Format(form.word_bits, form.window, form.code_bits, values)
        words = np.frombuffer(data, word_dtype(form))
        if self.compressing:
            result = encode_packet(words, table)
        else:
            count = d["length"] // (form.word_bits // 8)
            result = decode_packet(words, count, table, self.config.lanes)
        return result.words.tobytes(), result.report
