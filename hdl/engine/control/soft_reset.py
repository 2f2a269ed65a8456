"""How a soft reset goes on until what is to be reset has stopped, and then resets it."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring

__all__ = ["soft_reset"]

#: Cycles of a soft reset where parts are reset one after the other.
_RESET_CYCLES = 3


def soft_reset(
    m: Module, control: wiring.PureInterface, stopped: Value, clear: Signal, clock: Signal | None
) -> None:
    """Drives ``clear`` for a ``control.soft_reset`` once all has ``stopped``, and ``control.resetting`` until then. Nothing
    may begin meanwhile, so that what has stopped stays so. ``clock`` is that of :func:`.reset_with`."""
    cleared = Signal()
    with m.If(control.soft_reset):
        m.d.sync += control.resetting.eq(1)
    with m.Elif(cleared):
        m.d.sync += control.resetting.eq(0)
    if clock is None:
        m.d.comb += cleared.eq(clear)
        m.d.sync += clear.eq(control.resetting & ~clear & stopped)
    else:
        # Parts of parts are reset a cycle after those: all together, and until all are.
        steps = Signal(_RESET_CYCLES)
        ready = Signal()
        m.d.comb += cleared.eq(steps[-1])
        m.d.sync += [
            ready.eq(control.resetting & stopped),
            clear.eq(control.resetting & ~cleared & (clear | ready)),
            steps.eq(Mux(cleared, 0, Cat(clear, steps))),
        ]
