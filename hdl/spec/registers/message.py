"""The block ``message``, once for each channel: the interrupt of the channel as a write."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig

from .declare import address_pair, register, ro, rw, w1c
from .description import REGISTER_BITS, Block

__all__ = ["message_block"]

#: A message is a word.
_WORD_BITS = 2


def message_block(config: EngineConfig) -> Block:
    """The block of the engine that ``config`` describes."""
    locked = "status.locked"
    address_bits = config.host_address_bits
    word = rw(
        "word",
        _WORD_BITS,
        "The address without its 2 low bits, which are 0.",
        min(address_bits, REGISTER_BITS) - _WORD_BITS,
        in_memory=True,
    )
    doc = "Where messages are written. No window holds for it."
    return Block(
        "message",
        "A channel's interrupt as a write of a word on the host port: one for each event that sets a bit of `irq_status` "
        "which `irq_enable` names, and one where software enables a bit that is set. Events that come before their "
        "message has begun share it; one whose bit software clears before has none.",
        (
            *address_pair("address", 0x00, doc, address_bits, word, locked_by=locked),
            register(
                "data",
                0x08,
                "The word that is written.",
                rw("value", 0, "The word.", REGISTER_BITS, in_memory=True),
                locked_by=locked,
            ),
            register("control", 0x0C, "Messages.", rw("enable", 0, "There are any."), locked_by=locked),
            register(
                "status",
                0x10,
                "State of the messages.",
                ro("pending", 0, "One is to be written, or its write is not answered yet."),
                ro(
                    "locked",
                    1,
                    "That of `host_window.lock`: address, data and control ignore writes until the hardware is reset.",
                ),
                w1c(
                    "failed", 8, "One was answered with an error. Its event is in `irq_status` all the same."
                ),
            ),
        ),
        (("offload_message", 0x580), ("prefetch_message", 0x5A0)),
        survives_soft_reset=True,
    )
