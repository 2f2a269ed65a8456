"""What controls a channel, what it shows of itself, and how it reads its address windows."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import REGISTER_BITS

__all__ = ["ChannelControl", "ChannelEvents", "ChannelStatus", "WindowHalf", "WindowPort"]


#: For counters, one bit per cycle each: see :mod:`~cdma.hdl.spec.counters`.
ChannelEvents = data.StructLayout(
    {
        "under_way": 1,
        "read_beat": 1,
        "write_beat": 1,
        "stall_source": 1,
        "stall_codec": 1,
        "stall_sink": 1,
    }
)

#: ``busy``: a descriptor is under way, or a ring has one. ``halted``: stopped after an error, goes on after
#: ``resume``. ``aborting``: open transactions of an abort are still being finished. ``stuck``: the watchdog
#: has fired, and a port has not answered since.
ChannelStatus = data.StructLayout({"busy": 1, "halted": 1, "aborting": 1, "stuck": 1})

#: The high halves of the addresses, or the low ones, of the window of the port that the channel writes to, or of the
#: one that it reads.
WindowHalf = data.StructLayout({"high": 1, "write": 1})


class WindowPort(wiring.Signature):
    """How a channel's checker reads its two windows, seen from the checker.

    ``base`` belongs to the ``at`` of one cycle before, ``limit`` to that of two cycles before: a sum is compared with
    the limit a cycle later. The low 12 bits are 0 in a base and ones in a limit.
    """

    def __init__(self) -> None:
        super().__init__({"at": Out(WindowHalf), "base": In(REGISTER_BITS), "limit": In(REGISTER_BITS)})


class ChannelControl(wiring.Signature):
    """What controls a channel, seen from the logic that does. Every signature of a channel has these members."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "enable": Out(1),  # while low, no new descriptor is started
                "halt_on_error": Out(1),  # after an error, no new descriptor is started until resume
                "resume": Out(1),  # pulse
                "abort": Out(1),  # pulse
                "values": Out(data.ArrayLayout(config.format.word_bits, config.codec.table_size)),
            }
        )

    def connect(self, m: Module, driver: wiring.PureInterface, channel: wiring.PureInterface) -> None:
        """Connects these members of two interfaces that have others besides."""
        wiring.connect(m, _Part(self, driver), _Part(self.flip(), channel))


class _Part:
    """The members of an interface that belong to ``signature``, as an interface of their own."""

    def __init__(self, signature: wiring.Signature, interface: wiring.PureInterface) -> None:
        self.signature = signature
        for name in signature.members:
            setattr(self, name, getattr(interface, name))
