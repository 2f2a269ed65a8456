"""Both channels behind rings, on two AXI4 ports: what the register block controls."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..params import EngineConfig
from .arbiter import ReadArbiter, WriteArbiter
from .axi import ReadPort, WritePort
from .interfaces import ControlSignature
from .ring_channel import RingChannel

__all__ = ["HOST_ID_BITS", "ManagedEngine"]

#: Data, and the rings of two channels.
_CLIENTS = 3
HOST_ID_BITS = (_CLIENTS - 1).bit_length()


class ManagedEngine(wiring.Component):
    """The engine without its register block.

    On the host port, ID 0 is data, ID 1 the rings of the offload channel, ID 2 those of the prefetch channel.

    A soft reset lets every open transaction finish and then resets all but the windows, which are the
    register block's; ``control.resetting`` is high until then."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        dev = (config.dev_data_bits, config.dev_address_bits)
        host = (config.host_data_bits, config.host_address_bits)
        word_bits = config.format.word_bits
        super().__init__(
            {
                "control": In(ControlSignature(config)),
                "dev_read": Out(ReadPort(*dev)),
                "dev_write": Out(WritePort(*dev, word_bits)),
                "host_read": Out(ReadPort(*host, HOST_ID_BITS)),
                "host_write": Out(WritePort(*host, word_bits, HOST_ID_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, self.control
        host = (config.host_data_bits, config.host_address_bits)
        offload, prefetch = RingChannel(config, compressing=True), RingChannel(config, compressing=False)
        clear = Signal()
        m.submodules.offload = ResetInserter(clear)(offload)
        m.submodules.prefetch = ResetInserter(clear)(prefetch)
        m.submodules.host_reads = reads = ReadArbiter(_CLIENTS, *host, HOST_ID_BITS)
        m.submodules.host_writes = writes = WriteArbiter(
            _CLIENTS, *host, config.format.word_bits, HOST_ID_BITS
        )
        wiring.connect(m, offload.source, wiring.flipped(self.dev_read))
        wiring.connect(m, prefetch.sink, wiring.flipped(self.dev_write))
        for arbiter, clients in (
            (reads, (prefetch.source, offload.fetch, prefetch.fetch)),
            (writes, (offload.sink, offload.complete, prefetch.complete)),
        ):
            for number, client in enumerate(clients):
                wiring.connect(m, client, getattr(arbiter, f"client_{number}"))
        wiring.connect(m, reads.port, wiring.flipped(self.host_read))
        wiring.connect(m, writes.port, wiring.flipped(self.host_write))

        for channel, half, counters in (
            (offload, control.offload, control.offload_counters),
            (prefetch, control.prefetch, control.prefetch_counters),
        ):
            wiring.connect(m, wiring.flipped(half), channel.control)
            wiring.connect(m, wiring.flipped(counters), channel.counters)
            m.d.comb += [
                channel.clear_counters.eq(control.clear_counters),
                channel.dev_window.eq(control.dev_window),
                channel.host_window.eq(control.host_window),
                channel.watchdog_cycles.eq(control.watchdog_cycles),
                channel.stop.eq(control.resetting),
            ]
        with m.If(control.soft_reset):
            m.d.sync += control.resetting.eq(1)
        with m.Elif(clear):
            m.d.sync += control.resetting.eq(0)
        m.d.comb += clear.eq(control.resetting & offload.stopped & prefetch.stopped)
        return m
