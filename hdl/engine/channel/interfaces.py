"""What controls a channel, what it shows of itself, and how it reads its address windows."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import REGISTER_BITS

__all__ = ["CHANNELS", "ChannelControl", "ChannelEvents", "ChannelStatus", "WindowHalf", "WindowPort"]

#: The channels of an engine, in the order of their numbers.
CHANNELS = ("offload", "prefetch")


class ChannelEvents(data.StructLayout):
    """What the counters count: how often each happens in a cycle, at most once but for beats, of which each of several
    ``ports`` may have one. See :mod:`~cdma.hdl.spec.counters`."""

    def __init__(self, ports: int = 1) -> None:
        super().__init__(
            {
                "in_flight": 1,
                "read_beat": range(ports + 1),
                "write_beat": range(ports + 1),
                "stall_source": 1,
                "stall_codec": 1,
                "stall_sink": 1,
            }
        )


#: ``busy``: a descriptor is in flight, or a ring has one. ``halted``: nothing is started until ``resume``, after an
#: error or an abort. ``aborting``: the open transactions of an abort are being finished, or its completions have not
#: left. ``stuck``: the watchdog has
#: fired, and a port has not answered since.
ChannelStatus = data.StructLayout({"busy": 1, "halted": 1, "aborting": 1, "stuck": 1})

#: One half of the addresses of a window: ``high`` or low, of the port that the channel writes (``write``) or reads.
WindowHalf = data.StructLayout({"high": 1, "write": 1})


class WindowPort(wiring.Signature):
    """How a channel's checker reads its two windows, seen from the checker.

    ``at``
        The half that is asked for.
    ``base``
        The half that was asked for one cycle before. The low 12 bits of a base are 0.
    ``limit``
        The half that was asked for two cycles before, because a sum is compared with it a cycle later. The low 12 bits
        of a limit are ones.
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
                "values": Out(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                # Those bits of a descriptor's owner that the mask has must be those of the value.
                **({"owner_value": Out(32), "owner_mask": Out(32)} if config.records.owner_bits else {}),
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
