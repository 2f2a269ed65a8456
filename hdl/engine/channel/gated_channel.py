"""A channel whose clock stops while it has nothing to do."""

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value

from cdma.hdl.axi.ports import each_port
from cdma.hdl.blocks.clock_gate import ClockGates

from .channel import Channel

__all__ = ["gated_channel"]

#: Beyond a window in the codec, what a channel does once nothing is in flight takes less.
_SETTLING_CYCLES = 32


def gated_channel(
    m: Module,
    name: str,
    channel: Channel,
    component: Elaboratable,
    gates: ClockGates,
    clear: Value | None = None,
) -> Elaboratable:
    """Gives ``component``, which is the ``channel`` or stands for it, as a submodule whose clock stops, and that is reset by
    ``clear`` too.

    A descriptor that is offered opens the gate in the same cycle, and so does a command.
    """
    enabled = Signal(name=f"{name}_was_enabled")
    m.d.sync += enabled.eq(channel.enable)
    answers = [port.r.valid for port in each_port(channel.source)]
    answers += [port.b.valid for port in each_port(channel.sink)]
    if channel.config.pages:
        answers.append(channel.lists.r.valid)
    if channel.config.coded_memories:
        answers.append(channel.lost)
    active = Signal(name=f"{name}_active")
    m.d.comb += active.eq(
        Cat(
            channel.requests.valid,
            channel.completion.valid,
            channel.status.busy,
            channel.status.aborting,
            channel.enable != enabled,
            channel.resume,
            channel.abort,
            channel.halt,
            channel.stop,
            *answers,
        ).any()
    )
    settling = channel.config.codec.beats + _SETTLING_CYCLES
    return gates.gated(m, name, component, active, settling, clear=clear)
