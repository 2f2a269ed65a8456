"""The ports of AXI4 and AXI4-Lite, commands for them and what became of these."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import Turn
from cdma.hdl.blocks.memories import checks_of, columns

#: An address has the check bits of one with so many bits.
_CHECKED_BITS = 64


def whole_address(address: Value) -> Value:
    """An address with as many bits as its check bits are for."""
    return Cat(address, C(0, _CHECKED_BITS - len(address)))


def address_checks(address: Value, code: str) -> Value:
    """The check bits of an address. Those of the sum of two without a bit in common are the sum of theirs."""
    return checks_of(whole_address(address), code)


def address_check_bits(code: str) -> int:
    """How many an address has with a code; without one none."""
    return len(columns(_CHECKED_BITS, code)) - _CHECKED_BITS if code else 0


class Command(data.StructLayout):
    """The memory of one packet: the bytes from ``first`` to ``last``, both included, at most ``2**33``.

    ``first`` is aligned to a beat, or to a word where the port's shape says ``realign``.

    Of the ``flags``, ``more`` says that the packet goes on with the next command, and ``shaped`` that only some of the bytes
    are meant: those of a shape. ``pages`` bits of the number of a page say where the list of the memory's pages is; 0: it
    has none. ``padding`` is no memory, but a part of a shape's stream. The ``user`` bits go to every address of the command.
    """

    def __init__(self, address_bits: int, *flags: str, pages: int = 0, user: int = 0) -> None:
        bits = {"first": address_bits, "last": address_bits, **dict.fromkeys(flags, 1)}
        super().__init__({**bits, "pages": pages, "user": user})


class Outcome(wiring.Signature):
    """The outcomes of commands, in their order, as pulses that nothing delays.

    ``note``, ``address``: The address is to be kept for the command in hand. Of several, the last one counts.
    ``checks``: Its check bits of the code ``checked``, if there is one: as it comes from a memory, and not corrected.
    ``done``, ``resp``: The command is done, and this was the first response that was not OKAY, if there was one. The
        address of that was noted in this cycle or before.
    """

    def __init__(self, address_bits: int, *, checked: str = "") -> None:
        super().__init__(
            {
                "note": Out(1),
                "address": Out(address_bits),
                "checks": Out(address_check_bits(checked)),
                "done": Out(1),
                "resp": Out(Response),
            }
        )


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite with 32 data bits, seen from the manager: flat members with the names of the specification."""

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(Response),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


#: A command spans at most ``2**33`` bytes: so these bits of an address tell all of its bytes apart, and at most one multiple
#: of their range lies in it.
SPAN_BITS = 34


@dataclass(frozen=True)
class Blocks:
    """Memory in blocks, a burst's longest length each, whose bytes divide 4 KiB.

    Only the lower bits of a block's number are counted. The upper bits are those of the command's first address, until
    the count has passed zero; from then on, they are those of its last address.

    ``span_bits``: Bits of an address that tell all bytes of a command apart; fewer than :data:`SPAN_BITS` where
        commands are shorter.
    ``contained``: No multiple of their range lies within a command: the upper bits are always those of its first
        address.
    """

    address_bits: int
    beat_bytes: int
    burst: int
    span_bits: int = SPAN_BITS
    contained: bool = False

    @property
    def beat_log2(self) -> int:
        """Bits of an address below the beat."""
        return exact_log2(self.beat_bytes)

    @property
    def place_bits(self) -> int:
        """Bits of a beat's number in its block."""
        return (self.burst - 1).bit_length()

    @property
    def block_bits(self) -> int:
        """Bits of a block's number that are counted."""
        return self.span_bits - self.beat_log2 - self.place_bits

    def lane(self, address: Value, word_bits: int) -> Value:
        """Number of the word in its beat."""
        return address[exact_log2(word_bits // 8) : self.beat_log2]

    def place(self, address: Value) -> Value:
        """Number of the beat in its block."""
        return address[self.beat_log2 :][: self.place_bits]

    def block(self, address: Value) -> Value:
        """Number of the block, as it is counted."""
        return address[self.beat_log2 + self.place_bits : self.span_bits]

    def beat(self, first: Value, last: Value, wrapped: Value, block: Value, place: Value) -> Value:
        """The address, in beats, of a beat of the command from ``first`` to ``last``."""
        upper = first[self.span_bits :]
        high = upper if self.contained else Mux(wrapped, last[self.span_bits :], upper)
        return Cat(place, block, high)[: self.address_bits - self.beat_log2]

    def address(self, beat: Value) -> Value:
        """An address in beats as one in bytes."""
        return Cat(C(0, self.beat_log2), beat)


@dataclass(frozen=True, kw_only=True)
class PortShape:
    """An AXI4 port, and how data are moved over it.

    ``word_bits``: Bits of a word. Only whole words are moved. In an engine it is a stream word.
    ``data_bits``, ``address_bits``: Bits of the port's data, and of its addresses.
    ``burst``: Beats of the longest burst: a power of two, whose bytes divide 4 KiB.
    ``outstanding``: Bursts that may be in flight.
    ``buffer``: Beats of the buffer, a power of two.
    ``align``: Bytes of which the address where data begin is a multiple; 0: those of a beat. Without ``realign``.
    ``realign``: Data may begin with any word of a beat, not only with the first.
    ``in_place``: With ``rows`` and ``realign``: any command may begin and end with any word of a beat, and words come
        from a reader, and go to a writer, in the lanes that they have in memory.
    ``clears``: Of a reader: zeros come in the place of what lies behind the last word of a command.
    ``pipelined``: The buffers are in an FPGA's block RAM, which is slow: their outputs go to registers.
    ``rows``: A packet may have several commands: those of a reader and of a writer have ``more``, and each but the last
        one of a packet has it set. ``end`` of a writer is its bytes, with ``outcome.done``.
    ``limited``: With ``rows``, of a writer: packets may be larger than their commands, and these may end within a beat.
        The first beat that does not fit is dropped, and all after it. It has ``skip``: the packet has ended, and of its
        commands nothing is left that has been taken.
    ``of_addresses``: What a reader reads are addresses: their words in memory have the checks of these.
    ``span_bits``: A command spans at most half of ``2**span_bits`` bytes, or, if it is ``contained``, all of them.
    ``contained``: A command does not go across a multiple of ``2**span_bits`` bytes.
    ``user_bits``: User bits of a command, which travel with each of its addresses.
    ``checked``: The code of which addresses of bursts have check bits in the memories of reader and writer, and with an
        outcome; none if empty.
    """

    word_bits: int
    data_bits: int
    address_bits: int
    burst: int
    outstanding: int
    buffer: int
    align: int = 0
    realign: bool = False
    in_place: bool = False
    clears: bool = False
    pipelined: bool = False
    rows: bool = False
    limited: bool = False
    of_addresses: bool = False
    span_bits: int = SPAN_BITS
    contained: bool = False
    user_bits: int = 0
    checked: str = ""

    @property
    def lanes(self) -> int:
        """Words of a beat."""
        return self.data_bits // self.word_bits

    @property
    def word_log2(self) -> int:
        """Bits of an address below the word."""
        return exact_log2(self.word_bits // 8)

    @property
    def align_log2(self) -> int:
        """Bits of an address that are 0 where data may begin."""
        return self.word_log2 if self.realign else exact_log2(self.align or self.data_bits // 8)

    @property
    def shifts(self) -> bool:
        """Whether the reader or the writer moves words to other lanes."""
        return self.realign and not self.in_place

    @property
    def turn(self) -> Turn | int:
        """The layout of how words are moved to other lanes; without bits if they are not."""
        return Turn(self.lanes) if self.shifts else 0

    @property
    def command(self) -> Command:
        """The commands of a reader or a writer."""
        return Command(self.address_bits, *(("more",) if self.rows else ()), user=self.user_bits)

    @property
    def outcome(self) -> Outcome:
        """The outcomes of a reader or a writer."""
        return Outcome(self.address_bits, checked=self.checked)

    @property
    def address_checks(self) -> int:
        """Check bits of an address in memory."""
        return address_check_bits(self.checked)

    def checked_bits(self, address_bits: int) -> tuple[int, int]:
        """The bits of an address in memory, of which so many are kept, with its checks, and those."""
        return (address_bits + self.address_checks, self.address_checks) if self.checked else (0, 0)

    @property
    def read_port(self) -> "ReadPort":
        """The reading half of the port."""
        return ReadPort(self.data_bits, self.address_bits, user_bits=self.user_bits)

    @property
    def write_port(self) -> "WritePort":
        """The writing half of the port."""
        return WritePort(self.data_bits, self.address_bits, self.word_bits, user_bits=self.user_bits)

    @property
    def blocks(self) -> Blocks:
        """How addresses follow from those of a command."""
        return Blocks(self.address_bits, self.data_bits // 8, self.burst, self.span_bits, self.contained)


class Response(enum.Enum, shape=2):
    """What RRESP and BRESP say."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class AddressBeat(data.StructLayout):
    """AR or AW: ``len`` is the number of beats less one, ``size`` the logarithm of a beat's bytes, and the ``user`` bits are
    what the source of the address says with it."""

    def __init__(self, address_bits: int, id_bits: int = 0, user_bits: int = 0) -> None:
        super().__init__({"id": id_bits, "address": address_bits, "len": 8, "size": 3, "user": user_bits})


class ReadData(data.StructLayout):
    """R."""

    def __init__(self, data_bits: int, id_bits: int = 0) -> None:
        super().__init__({"id": id_bits, "data": data_bits, "resp": Response, "last": 1})


class WriteData(data.StructLayout):
    """W; ``keep`` has a strobe for each word, not for each byte: only whole words are written."""

    def __init__(self, data_bits: int, word_bits: int) -> None:
        super().__init__({"data": data_bits, "keep": data_bits // word_bits, "last": 1})


class WriteResponse(data.StructLayout):
    """B."""

    def __init__(self, id_bits: int = 0) -> None:
        super().__init__({"id": id_bits, "resp": Response})


class ReadPort(wiring.Signature):
    """The reading half, seen from the manager."""

    def __init__(self, data_bits: int, address_bits: int, id_bits: int = 0, user_bits: int = 0) -> None:
        super().__init__(
            {
                "ar": Out(stream.Signature(AddressBeat(address_bits, id_bits, user_bits))),
                "r": In(stream.Signature(ReadData(data_bits, id_bits))),
            }
        )


class WritePort(wiring.Signature):
    """The writing half, seen from the manager."""

    def __init__(
        self, data_bits: int, address_bits: int, word_bits: int, id_bits: int = 0, user_bits: int = 0
    ) -> None:
        super().__init__(
            {
                "aw": Out(stream.Signature(AddressBeat(address_bits, id_bits, user_bits))),
                "w": Out(stream.Signature(WriteData(data_bits, word_bits))),
                "b": In(stream.Signature(WriteResponse(id_bits))),
            }
        )


def port_members(signature: wiring.Signature, ports: int) -> wiring.Member:
    """A member for one port, or an array of several."""
    return Out(signature) if ports == 1 else Out(signature).array(ports)


def each_port(member: Any) -> list[Any]:
    """The ports of a member made by :func:`port_members`."""
    return list(member) if isinstance(member, list | tuple) else [member]


def connect_ports(m: Module, inner: Any, outer: Any) -> None:
    """Connects ports of a submodule with those of the component around it, in their order."""
    for one, other in zip(each_port(inner), each_port(outer), strict=True):
        wiring.connect(m, one, wiring.flipped(other))
