"""What a reader or a writer must know of the AXI4 port that it serves."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from .command import Command
from .ports import ReadPort, WritePort
from .span import SPAN_BITS, Blocks

__all__ = ["PortShape"]


@dataclass(frozen=True, kw_only=True)
class PortShape:
    """An AXI4 port, and how data are moved over it.

    ``word_bits``
        Bits of a word. Only whole words are moved. In an engine it is a stream word.
    ``data_bits``, ``address_bits``
        Bits of the port's data, and of its addresses.
    ``burst``
        Beats of the longest burst: a power of two, whose bytes divide 4 KiB.
    ``outstanding``
        Bursts that may be in flight.
    ``buffer``
        Beats of the buffer, a power of two.
    ``align``
        Bytes of which the address where data begin is a multiple; 0: those of a beat. Without ``realign``.
    ``realign``
        Data may begin with any word of a beat, not only with the first.
    ``in_place``
        With ``rows`` and ``realign``: any command may begin and end with any word of a beat, and words come from a reader,
        and go to a writer, in the lanes that they have in memory.
    ``clears``
        Of a reader: zeros come in the place of what lies behind the last word of a command.
    ``pipelined``
        The buffers are in an FPGA's block RAM, which is slow: their outputs go to registers.
    ``rows``
        A packet may have several commands: those of a reader and of a writer have ``more``, and each but the last one of a
        packet has it set. ``end`` of a writer is its bytes, with ``outcome.done``.
    ``limited``
        With ``rows``, of a writer: packets may be larger than their commands, and these may end within a beat. The first
        beat that does not fit is dropped, and all after it. It has ``skip``: the packet has ended, and of its commands
        nothing is left that has been taken.
    ``of_addresses``
        What a reader reads are addresses: their words in memory have the checks of these.
    ``span_bits``
        A command spans at most half of ``2**span_bits`` bytes, or, if it is ``contained``, all of them.
    ``contained``
        A command does not go across a multiple of ``2**span_bits`` bytes.
    ``owner_bits``
        Bits by which commands, and addresses, say whose the data are.
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
    owner_bits: int = 0

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
    def command(self) -> Command:
        """The commands of a reader or a writer."""
        return Command(self.address_bits, *(("more",) if self.rows else ()), owner=self.owner_bits)

    @property
    def read_port(self) -> ReadPort:
        """The reading half of the port."""
        return ReadPort(self.data_bits, self.address_bits, owner_bits=self.owner_bits)

    @property
    def write_port(self) -> WritePort:
        """The writing half of the port."""
        return WritePort(self.data_bits, self.address_bits, self.word_bits, owner_bits=self.owner_bits)

    @property
    def blocks(self) -> Blocks:
        """How addresses follow from those of a command."""
        return Blocks(self.address_bits, self.data_bits // 8, self.burst, self.span_bits, self.contained)
