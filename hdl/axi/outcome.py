"""What a stage says about the commands it carries out."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from .ports import Response

__all__ = ["Outcome"]


class Outcome(wiring.Signature):
    """Told by pulses, in the order of the commands; whoever listens must always be able to hear.

    ``note``: ``address`` is to be kept for the command at hand; of several the last counts. ``done``: the command
    is done, and ``resp`` was the first response that was not OKAY, if there was one: then its address was noted,
    in this cycle or before.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {"note": Out(1), "address": Out(address_bits), "done": Out(1), "resp": Out(Response)}
        )
