"""The blocks ``dev_window`` and ``host_window``: the addresses that the engine may touch on a port."""

from __future__ import annotations

from .declare import address_pair, constant, lock, register, rw
from .description import REGISTER_BITS, Block

__all__ = ["window_block"]

#: Windows begin and end on pages of 4 KiB.
_PAGE_BITS = 12


def window_block(port: str, address_bits: int, base: int, *, opened: bool) -> Block:
    """The block of the port called ``port``, at the address ``base``; a reset of the hardware leaves it ``opened``, to all
    addresses, or closed."""
    page_bits = min(address_bits, REGISTER_BITS) - _PAGE_BITS
    high_bits = max(address_bits - REGISTER_BITS, 0)
    return Block(
        f"{port}_window",
        f"The addresses that the engine may touch on the {port} port: after a reset of the hardware "
        f"{'all of them, until these registers say less' if opened else 'none, until these registers say which'}. "
        "A descriptor, a ring or a completion that reaches outside is refused before its first transaction.",
        (
            *address_pair(
                "base",
                0x00,
                "The lowest address that may be touched, a multiple of 4 KiB.",
                address_bits,
                rw(
                    "page",
                    _PAGE_BITS,
                    "The address without its 12 low bits, which are 0.",
                    page_bits,
                    reset=0 if opened else (1 << page_bits) - 1,
                    in_memory=True,
                ),
                high_reset=0 if opened else (1 << high_bits) - 1,
                locked_by="lock.locked",
            ),
            *address_pair(
                "limit",
                0x08,
                "The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be.",
                address_bits,
                constant("ones", 0, _PAGE_BITS, (1 << _PAGE_BITS) - 1, "Always ones."),
                rw(
                    "page",
                    _PAGE_BITS,
                    "The address without its 12 low bits.",
                    page_bits,
                    reset=(1 << page_bits) - 1 if opened else 0,
                    in_memory=True,
                ),
                high_reset=(1 << high_bits) - 1 if opened else 0,
                locked_by="lock.locked",
            ),
            register(
                "lock",
                0x10,
                "Freezes the window until the hardware is reset.",
                lock("locked", 0, "Base and limit ignore writes."),
            ),
        ),
        ((f"{port}_window", base),),
        survives_soft_reset=True,
    )
