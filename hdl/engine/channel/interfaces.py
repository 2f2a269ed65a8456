"""What a channel shows of itself, and how it reads its address windows."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.registers.description import REGISTER_BITS

__all__ = ["ChannelEvents", "ChannelStatus", "WindowHalf", "WindowPort"]


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
