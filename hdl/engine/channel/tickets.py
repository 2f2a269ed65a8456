"""What is kept of a descriptor in flight: the ticket that its completion is made from, and how its slot is filled."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS, Response, address_check_bits
from cdma.hdl.blocks.arithmetic import CRC_BITS
from cdma.hdl.engine.path.switches import Route
from cdma.hdl.spec.options import PAGE_LOG2
from cdma.hdl.spec.records import LENGTH_BITS, STEP_BITS, RecordOptions

from .interfaces import StatusShape

# A descriptor is a command of a port.
assert SPAN_BITS == LENGTH_BITS + 1

#: Bytes of what is written a byte at a time.
ADDRESS_BYTES = 8
CYCLES_BYTES = 4


def length_bytes(options: RecordOptions) -> int:
    """Bytes of the part of an address that tells all bytes of a packet apart."""
    return -(-(options.length_bits + 1) // 8)


def result_bytes(options: RecordOptions) -> int:
    """Bytes that the completer writes into a ticket: the number of those that were written, and the cycles, if there are."""
    return length_bytes(options) + (CYCLES_BYTES if options.timed else 0)


def noted_bits(read_address_bits: int, dev_address_bits: int, options: RecordOptions) -> int:
    """Bits of the address of what was read in vain: of the source, or of the base."""
    return max(read_address_bits, dev_address_bits) if options.delta else read_address_bits


class TicketFields(data.StructLayout):
    """What the completer must know of a descriptor besides. A ``status`` other than OK refuses it; ``crc`` is expected if
    ``check_crc``; ``lossy`` if it has a step, ``delta`` if it has a base."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(
            {
                "tag": 32,
                "interrupt": 1,
                "raw": 1,
                "words": 32,
                "status": StatusShape,
                "check_crc": int(options.crc),
                "crc": CRC_BITS * options.crc,
                "lossy": int(options.lossy),
                "delta": int(options.delta),
            }
        )


class Ticket(data.StructLayout):
    """All that is known of the oldest descriptor.

    ``fields``, ``started``, ``start``, ``objection``, ``bytes``, ``destination``: From the checker: the fields; whether
        their status is OK; the time at which it began; the address that belongs to ``fields.status``; the bytes to
        read; where they go, of which the lower bits matter.
    ``read_resp``, ``read_address``, ``write_resp``, ``write_address``, ``overflow``, ``write_end``: From the stages:
        see :class:`.Outcome` and :class:`.AxiWriter`. Where memories have a ``code``, addresses have its check bits. What is
        read are the source and, where that has no error, the base.
    ``finish``, ``written``, ``cycles``: From the completer itself.
    """

    def __init__(
        self, read_address_bits: int, write_address_bits: int, options: RecordOptions, *, code: str = ""
    ) -> None:
        super().__init__(
            {
                "fields": TicketFields(options),
                "started": 1,
                "start": 8 * CYCLES_BYTES,
                "objection": 8 * ADDRESS_BYTES,
                "bytes": options.length_bits,
                "destination": options.length_bits + 1,
                "read_resp": Response,
                "read_address": read_address_bits,
                "read_checks": address_check_bits(code),
                "write_resp": Response,
                "write_address": write_address_bits,
                "write_checks": address_check_bits(code),
                "overflow": 1,
                "write_end": options.length_bits + 1,
                "finish": 8 * CYCLES_BYTES,
                "written": options.length_bits,
                "cycles": 8 * CYCLES_BYTES,
            }
        )


class SlotPort(wiring.Signature):
    """How the checker fills the next slot. With ``tail_bits`` a route has a tail.

    ``ready``: High while there is a free slot, from a cycle after it has become free.
    ``begin``: Notes the time.
    ``place``: The byte of each number that is written, one bit per byte.
    ``source``: Writes ``first``, ``last`` and ``count`` of what is read.
    ``destination``: Writes ``first`` and ``last`` of where it goes.
    ``base``: Writes ``first`` and ``last`` of the base.
    ``objection``: Writes ``last`` as the address of the objection.
    ``push``: Hands the slot on, with ``fields``, ``route``, ``early`` and ``step``.
    ``early``: Beats of the packet may be written before its command: see :class:`~cdma.hdl.axi.gather.Gather`.
    ``delta``: There is a base, with ``push``.
    ``shaped``, ``moved``: What lies in device memory is a shape, with ``push``; and the bytes that are read, as
        ``count`` otherwise.
    ``pages``: The number of the page that the list of host memory's pages is in, with ``push``; 0: there is none.
    ``user``: Whose the memory is, with ``push``: an :class:`~.interfaces.OwnerLayout`, and the pair's number.
    ``starts``: With ``push``: ``fields.status`` is OK. Only then the stages see the slot.
    """

    def __init__(self, options: RecordOptions, tail_bits: int = 0) -> None:
        super().__init__(
            {
                "ready": In(1),
                "begin": Out(1),
                "place": Out(ADDRESS_BYTES),
                "source": Out(1),
                "destination": Out(1),
                "base": Out(int(options.delta)),
                "objection": Out(1),
                "first": Out(8),
                "last": Out(8),
                "count": Out(8),
                "fields": Out(TicketFields(options)),
                "route": Out(Route(tail_bits)),
                "early": Out(1),
                "step": Out(STEP_BITS * options.lossy),
                "delta": Out(int(options.delta)),
                "shaped": Out(int(options.dimensions > 0)),
                "moved": Out(8 * (options.dimensions > 0)),
                "pages": Out((64 - PAGE_LOG2) * options.pages),
                "user": Out(options.tag_bits),
                "push": Out(1),
                "starts": Out(1),
            }
        )
