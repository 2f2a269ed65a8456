"""What a stage reports about the commands that it carries out."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from .ports import Response

__all__ = ["Outcome"]


class Outcome(wiring.Signature):
    """The outcomes of commands, in their order, as pulses that nothing delays.

    ``note``, ``address``
        The address is to be kept for the command in hand. Of several, the last one counts.
    ``done``, ``resp``
        The command is done, and this was the first response that was not OKAY, if there was one. The address of that
        was noted in this cycle or before.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {"note": Out(1), "address": Out(address_bits), "done": Out(1), "resp": Out(Response)}
        )
