"""Refuses a descriptor before its first transaction, or hands its parts to the stages that carry it out."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .axi_reader import ReadCommand
from .axi_writer import WriteCommand
from .codec_switch import Route
from .descriptor import Request, StatusShape
from .interfaces import Window
from .records import DESCRIPTOR, LENGTH_BITS, MAX_BYTES, Mode, Status

__all__ = ["Checker", "Ticket"]

#: Windows are made of pages of 4 KiB.
_PAGE_LOG2 = 12

#: What the completer must know. A ``status`` other than OK, with its ``address``, refuses the descriptor:
#: nothing else happens with it.
Ticket = data.StructLayout(
    {
        "tag": 32,
        "interrupt": 1,
        "raw": 1,
        "words": 32,
        "bytes": LENGTH_BITS,
        "start": 32,
        "status": StatusShape,
        "address": 64,
    }
)


class Checker(wiring.Component):
    """Takes a request at a time, checks it within seven cycles, and starts it.

    A request is started by handing all stages their part in one cycle, which their ``ready`` must allow
    without waiting for ``valid``; a refused one gives the completer a ticket alone. The first objection
    counts, in this order: a fault of the fetch, reserved fields, zero length, wrong length, capacity,
    alignment of the source, of the destination, window of the source, of the destination.

    ``compressing``
        The engine's direction: whether a codec's mode reads ``length`` bytes (or ``compressed_length``).
    ``run``
        While low, no request is begun; one that was begun is finished.
    ``flush``
        While high, a request that was begun is forgotten, and stays at the input.
    """

    def __init__(
        self,
        *,
        compressing: bool,
        word_bits: int,
        read_data_bits: int,
        read_address_bits: int,
        write_data_bits: int,
        write_address_bits: int,
    ) -> None:
        self.compressing = compressing
        self.word_log2 = (word_bits // 8).bit_length() - 1
        self.source_bits = (read_data_bits // 8).bit_length() - 1
        self.destination_bits = (write_data_bits // 8).bit_length() - 1
        self.read_address_bits = read_address_bits
        self.write_address_bits = write_address_bits
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "read": Out(stream.Signature(ReadCommand(read_address_bits))),
                "route": Out(stream.Signature(Route)),
                "write": Out(stream.Signature(WriteCommand(write_address_bits))),
                "ticket": Out(stream.Signature(Ticket)),
                "read_window": In(Window),
                "write_window": In(Window),
                "now": In(32),
                "run": In(1),
                "flush": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.requests.payload
        descriptor = request.descriptor

        raw = Signal()
        read_bytes = Signal(LENGTH_BITS)
        capacity = Signal(LENGTH_BITS)
        mode = descriptor.mode
        m.d.comb += [
            raw.eq(mode == Mode.RAW),
            read_bytes.eq(
                descriptor.length
                if self.compressing
                else Mux(raw, descriptor.length, descriptor.compressed_length)
            ),
            # More than a packet can ever fill is as good as all.
            capacity.eq(Mux(descriptor.capacity[LENGTH_BITS:].any(), -1, descriptor.capacity)),
        ]

        status = Signal(StatusShape)
        address = Signal(64)
        first_page = Signal(64 - _PAGE_LOG2)
        last_page = Signal(65 - _PAGE_LOG2)
        refuse = Signal()
        started = Signal(32)

        def look(first: Value, count: Value) -> list:
            return [
                first_page.eq(first[_PAGE_LOG2:]),
                last_page.eq((first + count - 1)[_PAGE_LOG2:65]),
                address.eq(first),
            ]

        def outside(window: Value, address_bits: int) -> Value:
            beyond = last_page[address_bits - _PAGE_LOG2 :].any()
            return beyond | (first_page < window.base[_PAGE_LOG2:]) | (last_page > window.limit[_PAGE_LOG2:])

        parts = (self.read, self.route, self.write)
        all_ready = Signal()
        give = Signal()
        m.d.comb += all_ready.eq(Cat(part.ready for part in parts).all())

        m.d.comb += [
            self.read.payload.address.eq(descriptor.source),
            self.read.payload.bytes.eq(read_bytes),
            self.route.payload.raw.eq(raw),
            self.route.payload.zeros.eq(mode == Mode.ZVC),
            self.route.payload.words.eq(descriptor.length >> self.word_log2),
            self.write.payload.address.eq(descriptor.destination),
            self.write.payload.capacity.eq(capacity),
            self.ticket.payload.tag.eq(Mux(request.fault == Status.OK, descriptor.tag, 0)),
            self.ticket.payload.interrupt.eq(descriptor.interrupt),
            self.ticket.payload.raw.eq(raw),
            self.ticket.payload.words.eq(descriptor.length >> self.word_log2),
            self.ticket.payload.bytes.eq(read_bytes),
            self.ticket.payload.start.eq(started),
            self.ticket.payload.status.eq(status),
            self.ticket.payload.address.eq(address),
        ]

        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("wait"))
            with m.State("wait"), m.If(self.requests.valid & self.run & ~self.flush):
                m.d.sync += started.eq(self.now)
                m.next = "fields"
            with m.State("fields"):
                self._check_fields(m, status, address, raw)
                m.next = "source"
            with m.State("source"):
                with m.If(status != Status.OK):
                    m.next = "give"
                with m.Else():
                    m.d.sync += look(descriptor.source, read_bytes)
                    m.next = "source window"
            with m.State("source window"):
                with m.If(outside(self.read_window, self.read_address_bits)):
                    m.d.sync += status.eq(Status.WINDOW)
                    m.next = "give"
                with m.Else():
                    m.d.sync += look(descriptor.destination, capacity)
                    m.next = "destination window"
            with m.State("destination window"):
                with m.If(outside(self.write_window, self.write_address_bits)):
                    m.d.sync += status.eq(Status.WINDOW)
                with m.Else():
                    m.d.sync += address.eq(0)
                m.next = "give"
            with m.State("give"):
                m.d.comb += [
                    refuse.eq(status != Status.OK),
                    give.eq(self.ticket.ready & (all_ready | refuse) & ~self.flush),
                    self.ticket.valid.eq((all_ready | refuse) & ~self.flush),
                    self.requests.ready.eq(give),
                ]
                # All or none: the stages' queues say that they have room before they are offered anything.
                m.d.comb += [part.valid.eq(give & ~refuse) for part in parts]
                with m.If(give | self.flush):
                    m.next = "wait"
        return m

    def _check_fields(self, m: Module, status: Signal, address: Signal, raw: Signal) -> None:
        """One cycle: everything about the descriptor that needs no window."""
        request = self.requests.payload
        descriptor = request.descriptor
        length, compressed = descriptor.length, descriptor.compressed_length
        reserved = Cat(descriptor[field.name] for field in DESCRIPTOR if field.reserved).any()
        needs_compressed = C(0) if self.compressing else ~raw
        # The codec counts words with 32 bits, so 2**32 words of one byte are one too many.
        most = MAX_BYTES if self.word_log2 else MAX_BYTES - 1
        length_wrong = length[: self.word_log2].any() | (length > most)
        compressed_wrong = compressed[: self.word_log2].any() | compressed[LENGTH_BITS:].any()
        small = C(0) if self.compressing else length > descriptor.capacity
        too_small = (raw & (length > descriptor.capacity)) | small | (descriptor.capacity == 0)

        with m.If(request.fault != Status.OK):
            m.d.sync += [status.eq(request.fault), address.eq(request.address)]
        with m.Else():
            m.d.sync += address.eq(0)
            with m.If(reserved | (descriptor.mode > max(Mode))):
                m.d.sync += status.eq(Status.RESERVED)
            with m.Elif((length == 0) | (needs_compressed & (compressed == 0))):
                m.d.sync += status.eq(Status.ZERO_LENGTH)
            with m.Elif(length_wrong | Mux(needs_compressed, compressed_wrong, compressed != 0)):
                m.d.sync += status.eq(Status.LENGTH)
            with m.Elif(too_small):
                m.d.sync += [
                    status.eq(Status.CAPACITY),
                    address.eq(descriptor.destination + descriptor.capacity),
                ]
            with m.Elif(descriptor.source[: self.source_bits].any()):
                m.d.sync += [status.eq(Status.ALIGNMENT), address.eq(descriptor.source)]
            with m.Elif(descriptor.destination[: self.destination_bits].any()):
                m.d.sync += [status.eq(Status.ALIGNMENT), address.eq(descriptor.destination)]
            with m.Else():
                m.d.sync += status.eq(Status.OK)
