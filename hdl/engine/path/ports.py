"""The stages of a channel's data as the rest of the channel sees them, however many ports of device memory there are. The
CRC-32C of the raw bytes of each packet.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import SPAN_BITS, Command, PortShape, ReadPort, port_members
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.arithmetic import (
    CRC_BITS,
    CRC_INIT,
    CRC_XOR,
    after_bits,
    after_zeros,
    before_zeros,
    popcount,
    xor_network,
)
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.pages.feed import PageFeed
from cdma.hdl.engine.pages.page_walk import PageWindow
from cdma.hdl.engine.shapes.segments import WalkPort
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAGE_LOG2
from cdma.hdl.spec.records import STEP_BITS

from .base import BaseReader, base_command
from .switches import Route

#: The part of a codec's report that the completion of a descriptor needs.
Verdict = data.StructLayout({"literals": 32, "error": Error})


def list_port(config: EngineConfig) -> ReadPort:
    """The AXI4 port for lists of pages: with several pairs an address says whose the list is."""
    options = config.records
    return ReadPort(
        config.host_data_bits,
        config.host_address_bits,
        user_bits=options.tag_bits if options.pair_bits else 0,
    )


def _base_members(shape: PortShape, units: int) -> dict[str, wiring.Member]:
    """The members of a path whose descriptors may have a base."""
    return {
        "base": In(stream.Signature(base_command(shape.address_bits, shape.user_bits))),
        "base_outcome": Out(shape.outcome),
        "base_waits": Out(1),
        "bases": port_members(shape.read_port, units),
    }


class End(NamedTuple):
    """One end of a path: commands and outcomes of one of its ports, and whether nothing is in flight there, and something
    moves."""

    command: stream.Interface
    outcome: wiring.PureInterface
    idle: Value
    progress: Value

    @classmethod
    def of(cls, stage: AxiReader | AxiWriter | BaseReader) -> End:
        """That of a reader or a writer."""
        return cls(stage.command, stage.outcome, stage.idle, stage.progress)


class Path(wiring.Component):
    """The stages that a channel's data pass, from the port that is read to the port that is written, with commands of their
    own, so that the reads of a descriptor begin while those before it are still being written.

    ``read``, ``step``, ``route``, ``write``: The commands of the stages, with ``step`` where ``config.lossy``: one of
        each for every descriptor. At most ``config.descriptors`` descriptors may be in flight.
    ``shapes``: With ``config.dimensions``: the shapes of the commands of device memory that have one.
    ``base``, ``base_outcome``, ``base_waits``, ``bases``: With ``config.delta``: a command for each descriptor, one outcome
        of each with a base, whether nothing of the source is in flight when something of the base is, and the AXI4 port
        for bases, as many as of device memory.
    ``read_outcome``, ``write_outcome``: One outcome per descriptor, from each port.
    ``report``: One verdict per descriptor that does not pass around the codec.
    ``crc``: One CRC of the raw bytes per descriptor, if ``config.crc``.
    ``lists``, ``window``: With ``config.pages``: an AXI4 port for lists of pages, and the window that pages must be
        inside.
    ``ahead``, ``overflow``, ``end``: Those of the :class:`.AxiWriter`.
    ``values``: The table of the codec.
    ``source``, ``sink``: The AXI4 ports: that of device memory is an array if there are several units.
    ``flush``: Empties the stages at the ports. Once both are idle, nothing is in flight and the whole path may be
        reset.
    ``read_idle``, ``read_progress``, ``write_idle``, ``write_progress``, ``mark``: Those of the stages at the ports.
    ``starved``, ``refused``, ``blocked``: For the counters: data are missing, the codec does not take them, and what it
        gave is not taken.
    """

    def __init__(
        self,
        config: EngineConfig,
        read: PortShape,
        write: PortShape,
        further: dict[str, wiring.Member],
        *,
        compressing: bool,
        base: PortShape | None = None,
    ) -> None:
        self.config = config
        self.compressing = compressing
        self.base_shape = base
        ports = {True: (config.units, 1), False: (1, config.units)}[compressing]
        step = stream.Signature(STEP_BITS)
        super().__init__(
            {
                **optional(config.dimensions, shapes=In(WalkPort(config.dimensions))),
                **optional(
                    config.pages,
                    lists=Out(list_port(config)),
                    window=Out(PageWindow(config.records.pair_bits)),
                ),
                "read": In(stream.Signature(self._command(read, device=compressing))),
                **optional(config.records.lossy, step=In(step)),
                "route": In(stream.Signature(Route(config.tail_bits))),
                "write": In(stream.Signature(self._command(write, device=not compressing))),
                "read_outcome": Out(read.outcome),
                "report": Out(stream.Signature(Verdict)),
                **optional(config.crc, crc=Out(stream.Signature(CRC_BITS))),
                "write_outcome": Out(write.outcome),
                "ahead": In(1),
                "overflow": Out(1),
                "end": Out(SPAN_BITS),
                "values": In(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                "flush": In(1),
                "read_idle": Out(1),
                "write_idle": Out(1),
                "read_progress": Out(1),
                "write_progress": Out(1),
                "mark": In(1),
                "starved": Out(1),
                "refused": Out(1),
                "blocked": Out(1),
                "source": port_members(read.read_port, ports[0]),
                "sink": port_members(write.write_port, ports[1]),
                **({} if base is None else _base_members(base, config.units)),
                **further,
            }
        )

    def _command(self, port: PortShape, *, device: bool) -> Command:
        """The commands of a port: in device memory of shapes, in host memory of lists of pages."""
        config, bits = self.config, port.address_bits
        pages = (bits - PAGE_LOG2) * (config.pages and not device)
        shaped = ("shaped",) * (config.dimensions > 0 and device)
        return Command(bits, *shaped, pages=pages, user=config.records.tag_bits)

    def _connect_ends(
        self,
        m: Module,
        device: End,
        host: AxiReader | AxiWriter,
        report: stream.Interface,
        base: End | None = None,
    ) -> None:
        """Connects both ends, of device memory and of the ``host`` port, and the codec's reports. What reads bases works
        beside what reads sources."""
        config = self.config
        end = End.of(host)
        if config.pages:
            pages = PageFeed.before(m, host, self, config.descriptors, config.records.pair_bits)
            end = End(pages.input, pages.outcome, end.idle & pages.idle, end.progress | pages.progress)
        m.submodules.reports = reports = Fifo(Verdict, config.descriptors, reserved=True)
        wiring.connect(m, reports.output, wiring.flipped(self.report))
        m.d.comb += [
            reports.input.valid.eq(report.valid),
            reports.input.payload.literals.eq(report.payload.literals),
            reports.input.payload.error.eq(report.payload.error),
            host.flush.eq(self.flush),
            host.mark.eq(self.mark),
        ]
        reads, writes = (device, end) if self.compressing else (end, device)
        if base is not None:
            wiring.connect(m, wiring.flipped(self.base), base.command)
            wiring.connect(m, base.outcome, wiring.flipped(self.base_outcome))
            with m.If(self.mark):
                m.d.sync += self.base_waits.eq(reads.idle & ~base.idle)
            reads = reads._replace(idle=reads.idle & base.idle, progress=reads.progress | base.progress)
        for name, each in (("read", reads), ("write", writes)):
            wiring.connect(m, wiring.flipped(getattr(self, name)), each.command)
            wiring.connect(m, each.outcome, wiring.flipped(getattr(self, f"{name}_outcome")))
            m.d.comb += [
                getattr(self, f"{name}_idle").eq(each.idle),
                getattr(self, f"{name}_progress").eq(each.progress),
            ]


class Checksum(wiring.Component):
    """Watches a stream of raw beats, and gives the CRC of each packet. It takes a beat in every cycle, and never delays one.

    A last beat counts as a whole one, with zeros for the words that it has not. These zeros are taken back afterwards,
    a byte per cycle, while the next packets pass: the CRC of a packet comes, when those before it have been taken, as many
    cycles after its last beat as that beat has bytes missing, and up to seven more. The zero that fills the last byte of an
    odd number of words of 4 bits stays: it is in memory too.

    ``exact``: Packets are of bytes: it is bytes that a last beat has not.

    ``packets``: The most packets that may have begun and whose CRC has not been taken.
    ``pipelined``: Beats come late in the cycle: they go straight into a register.

    ``passed``: ``beat`` goes by.
    ``beat``: Whole words of raw data, in stream words, or bytes. Only the last beat of a packet may be partial or
        empty.
    ``crc``: The CRC of each packet: that of no bytes is 0.
    """

    def __init__(
        self, config: CodecConfig, packets: int, *, exact: bool = False, pipelined: bool = False
    ) -> None:
        self.config = config
        self.packets = packets
        self.pipelined = pipelined
        passed = 8 if exact else config.format.stream_bits
        #: Bits of what is missing from a beat.
        self.part_bits = 8 if exact else config.format.word_bits
        super().__init__(
            {
                "passed": In(1),
                "beat": In(Beat(passed, config.data_bits // passed)),
                "crc": Out(stream.Signature(CRC_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        bits, part_bits = config.data_bits, self.part_bits
        lanes = bits // part_bits
        words = self.beat.data.as_value()
        keep = self.beat.keep[:: len(self.beat.keep) // lanes]
        kept = Cat(Mux(keep[lane], words.word_select(lane, part_bits), 0) for lane in range(lanes))
        bytes_log2 = exact_log2(max(part_bits, 8) // 8)
        # Of words of 4 bits, the zero that fills a byte stays.
        missing = Cat(C(0, bytes_log2), (lanes - popcount(keep))[int(part_bits < 8) :])
        adds, completes = self.passed, self.passed & self.beat.last
        # Neither has an enable or a reset, because what no beat has brought is never used.
        if self.pipelined:
            kept, missing = _next(m, "kept", kept), _next(m, "beat_missing", missing)
            adds, completes = (
                _next(m, name, value, reset=True)
                for name, value in (("adds", adds), ("completes", completes))
            )

        state = Signal(CRC_BITS, reset_less=True)
        begins = Signal(init=1)
        # The register is added to the bits that come first.
        first = Mux(begins, CRC_INIT, state) ^ kept[:CRC_BITS]
        columns = after_zeros(bits) + after_bits(bits)[CRC_BITS:]
        with m.If(adds):
            m.d.sync += [
                state.eq(xor_network(m, Cat(first, kept[CRC_BITS:]), columns, CRC_BITS)),
                begins.eq(completes),
            ]

        ended = data.StructLayout({"state": CRC_BITS, "missing": len(missing)})
        m.submodules.ended = sums = Fifo(ended, self.packets, reserved=True)
        m.d.comb += [
            sums.input.valid.eq(_next(m, "complete", completes, reset=True)),
            sums.input.payload.state.eq(state),
            sums.input.payload.missing.eq(_next(m, "state_missing", missing)),
        ]
        self._take_back(m, sums.output)
        return m

    def _take_back(self, m: Module, ended: stream.Interface) -> None:
        """Takes the zeros back that the last beat had for the bytes that it had not."""
        state = Signal(CRC_BITS, name="taken_back", reset_less=True)
        missing = Signal.like(ended.payload.missing, name="to_take_back", reset_less=True)
        busy = Signal()
        m.d.comb += [
            ended.ready.eq(~busy),
            self.crc.valid.eq(busy & (missing == 0)),
            self.crc.payload.eq(state ^ CRC_XOR),
        ]
        with m.If(~busy):
            m.d.sync += [
                state.eq(ended.payload.state),
                missing.eq(ended.payload.missing),
                busy.eq(ended.valid),
            ]
        with m.Elif(missing != 0):
            m.d.sync += [
                state.eq(xor_network(m, state, before_zeros(8), CRC_BITS)),
                missing.eq(missing - 1),
            ]
        with m.Elif(self.crc.ready):
            m.d.sync += busy.eq(0)


def _next(m: Module, name: str, value: Value, *, reset: bool = False) -> Signal:
    """The value a cycle later."""
    kept = Signal(len(value), name=name, reset_less=not reset)
    m.d.sync += kept.eq(value)
    return kept
