"""The commands of a reader and of a writer."""

from amaranth.lib import data

__all__ = ["Command"]


class Command(data.StructLayout):
    """The memory of one packet: the bytes from ``first`` to ``last``, both included, at most ``2**33``.

    ``first`` is aligned to a beat, or to a word where the port's shape says ``realign``.

    Of the ``flags``, ``more`` says that the packet goes on with the next command, and ``shaped`` that only some of the bytes
    are meant: those of a shape. ``pages`` bits of the number of a page say where the list of the memory's pages is; 0: it
    has none. ``padding`` is no memory, but a part of a shape's stream. ``owner`` bits say whose the memory is; 0: nobody
    asks.
    """

    def __init__(self, address_bits: int, *flags: str, pages: int = 0, owner: int = 0) -> None:
        further = {name: bits for name, bits in (("pages", pages), ("owner", owner)) if bits}
        super().__init__({"first": address_bits, "last": address_bits, **dict.fromkeys(flags, 1), **further})
