"""Descriptors, completions and shapes as software sees them: 64 bytes each, little-endian, every bit named.

The RTL (:mod:`~cdma.hdl.engine.channel.interfaces`), the register document, the C header and the drivers are all made
from these tables, so they cannot disagree.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from .options import MOST_STREAM_BITS, MOST_SUBSTREAM_BITS, owner_fields
from .shape import (
    COUNT_BITS,
    MARGIN_BITS,
    MAX_DIMENSIONS,
    PADDING_BITS,
    RUN_BITS,
    STRIDE_BITS,
    Dimension,
    Shape,
)

#: Bytes of a descriptor and of a completion.
RECORD_BYTES = 64

#: The most raw bytes that one descriptor moves.
MAX_BYTES = 1 << 32

#: Bits of a number of bytes: 4 GiB of raw words may become 6 GiB (8-bit words with 4-bit codes).
LENGTH_BITS = 33


def most_bytes(word_bits: int, longest: int = MAX_BYTES) -> int:
    """The longest length, in bytes: the codec counts words with 32 bits, so 2**32 words of a byte are one too many."""
    return min(longest, ((1 << 32) - 1) * word_bits // 8)


#: Bits of the step: those of the largest exponent that a number stores.
STEP_BITS = 8


class Mode(enum.IntEnum):
    """How a channel changes the data that it moves."""

    #: Copied without a change.
    RAW = 0
    #: Compressed or decompressed with a table of zeros: only zero words are left out.
    ZVC = 1
    #: Compressed or decompressed with the channel's table of frequent values.
    FVC = 2


class Status(enum.IntEnum):
    """How a descriptor ended: the first cause found, in the order in which data flows."""

    #: No error.
    OK = 0
    #: A read of the data was answered SLVERR or DECERR; ``address`` is the first such beat.
    READ_SLVERR = 1
    READ_DECERR = 2
    #: A write of the data was answered SLVERR or DECERR; ``address`` is where that burst began.
    WRITE_SLVERR = 3
    WRITE_DECERR = 4
    #: The read of the descriptor was answered SLVERR or DECERR; ``address`` is the descriptor's, ``tag`` is 0.
    FETCH_SLVERR = 5
    FETCH_DECERR = 6
    #: The write of a completion was answered SLVERR or DECERR; in the error register only. ``address`` is the
    #: completion's.
    COMPLETION_SLVERR = 7
    COMPLETION_DECERR = 8
    #: A reserved field is not 0, or this engine does not have the mode.
    RESERVED = 9
    #: ``source`` or ``destination`` is not aligned; ``address`` is the one that is not.
    ALIGNMENT = 10
    #: ``length`` is 0, or ``compressed_length`` of a prefetch in a codec's mode or with a step.
    ZERO_LENGTH = 11
    #: A length is not a whole number of words (``compressed_length``: of stream words) where it must be, is too long, or is
    #: given in a mode that has no use for it. With a step ``length`` is of numbers, and a raw copy's ``compressed_length``
    #: is that of their integers.
    LENGTH = 12
    #: The result does not fit ``capacity``; ``address`` is the first byte that could not be written.
    CAPACITY = 13
    #: The source, the destination, the descriptor or (error register only) the completion is not inside the
    #: window of its port; ``address`` is where it begins.
    WINDOW = 14
    #: The compressed stream ended before the last word.
    STREAM_TRUNCATED = 15
    #: The compressed stream had words left over.
    STREAM_TRAILING = 16
    #: The compressed stream had a code outside the table, or one past the end of the packet.
    STREAM_CODE = 17
    #: A port did not answer for the watchdog's time; ``address`` is that of the oldest open transaction.
    WATCHDOG = 18
    #: The channel was aborted when the descriptor had started.
    ABORTED = 19
    #: The compressed stream had padding that is not 0, in a format whose windows are padded.
    STREAM_PADDING = 20
    #: The CRC of the raw bytes is not the one that the descriptor has.
    CRC_MISMATCH = 21
    #: Numbers of an offload with a step are NaN, infinite or too large for it; ``range_count`` and ``range_first`` say more.
    #: All data are written.
    LOSSY_RANGE = 22
    #: The shape is none, does not have ``length`` bytes, or may overlap itself where it is written.
    SHAPE = 23
    #: A word of a memory inside the engine is lost, and the descriptor may have depended on it; so may the numbers of its
    #: completion. The channel halts as after an abort.
    MEMORY = 24
    #: ``owner`` is none that the channel may have.
    OWNER = 25


#: What a descriptor that was not refused can end with, in the order in which it counts. Those of a group exclude each other.
CAUSES = (
    (Status.READ_SLVERR, Status.READ_DECERR),
    (Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE, Status.STREAM_PADDING),
    (Status.WRITE_SLVERR, Status.WRITE_DECERR),
    (Status.CAPACITY,),
    (Status.CRC_MISMATCH,),
    (Status.LOSSY_RANGE,),
)


@dataclass(frozen=True)
class RecordField:
    """Bits of a record, the first of them in ``byte``. A field called ``reserved…`` has no meaning and must be 0."""

    name: str
    byte: int
    bits: int
    doc: str

    @property
    def reserved(self) -> bool:
        """Whether the field must be 0."""
        return self.name.startswith("reserved")


@dataclass(frozen=True)
class RecordOptions:
    """The options of an engine that have fields of their own: a ``crc``, a ``lossy`` stage, the ``dimensions`` of shapes,
    ``pages`` of host memory, a base for a ``delta``, an owner with so many bits of IDs. Without an option its fields are
    reserved. Numbers of bytes have ``length_bits``; completions that are not ``timed`` have no cycles, but 0.
    ``pair_bits`` say of which of several queue pairs a descriptor is, where its addresses must tell that."""

    crc: bool = False
    lossy: bool = False
    dimensions: int = 0
    pages: bool = False
    length_bits: int = LENGTH_BITS
    timed: bool = True
    stream_id_bits: int = 0
    substream_id_bits: int = 0
    pair_bits: int = 0
    delta: bool = False

    @property
    def owner_fields(self) -> dict[str, tuple[int, int]]:
        """Those of an owner: see :func:`.owner_fields`."""
        return owner_fields(self.stream_id_bits, self.substream_id_bits)

    @property
    def owner_bits(self) -> int:
        """Bits of an owner; 0: descriptors have none."""
        return sum(bits for _, bits in self.owner_fields.values())

    @property
    def tag_bits(self) -> int:
        """Bits that go with the addresses of a descriptor: its owner, and above it the number of its pair."""
        return self.owner_bits + self.pair_bits


def table_rows(table: str) -> list[tuple[list[str], str]]:
    """The words before the bar of each line ``WORDS | TEXT``, and the text.

    A line without a bar continues the text above it. A line that begins with ``#`` counts as absent, with what continues it.
    """
    rows: list[tuple[list[str], list[str]]] = []
    for line in filter(str.strip, table.splitlines()):
        head, bar, text = line.partition(" | ")
        if bar:
            rows.append((head.split(), [text]))
        else:
            rows[-1][1].append(line.strip())
    return [(words, " ".join(texts)) for words, texts in rows if not words[0].startswith("#")]


def only_if(condition: object) -> str:
    """The beginning of a line of :func:`table_rows` that is there if a condition holds."""
    return "" if condition else "#"


def _record(table: str) -> tuple[RecordField, ...]:
    """Lays the fields of a table with lines ``NAME BITS | DOC`` one after the other."""
    record, bit = [], 0
    for (name, bits), doc in table_rows(table):
        record.append(RecordField(name, bit // 8, int(bits), doc))
        bit += int(bits)
    assert bit == RECORD_BYTES * 8
    return tuple(record)


def descriptor_fields(options: RecordOptions) -> tuple[RecordField, ...]:
    """A descriptor of engines with ``options``. All fields but the flags start on a byte.

    The last word is 0 where it is not ``owned``: the entry after it may be its shape.
    """
    crc, pages, delta = options.crc, options.pages, options.delta
    owned, shapes = options.owner_bits > 0, options.dimensions > 0
    free_flags = (5 if owned else 7 - shapes) - (2 if delta else crc)
    free = 16 - STEP_BITS * options.lossy
    return _record(f"""
source 64 | Byte address to read from: in device memory for offload, in host memory for prefetch.
destination 64 | Byte address the data is written to.
length 64 | Raw bytes: read by offload, written by prefetch; whole words, 1 word to 4 GiB, or any number of bytes where
      `engine.stream_fields.any_length` is 1. With a step whole numbers.
capacity 64 | Bytes that may be written from `destination` on; nothing is written past them. Of a prefetch with `delta`
      the byte address of the base: `length` bytes may be written.
compressed_length 64 | Bytes of the compressed stream: prefetch in the modes zvc and fvc, and in any with a step, reads so
      many; otherwise 0. Of an offload with `delta` the byte address of the base.
tag 32 | Any number; the completion has it too.
mode 8 | 0 raw copy, 1 zvc, 2 fvc.
interrupt 1 | 1: the completion counts towards the interrupt. Errors always do.
{only_if(crc)}check_crc 1 | 1: the CRC of the raw bytes must be `crc`. Must be 0 where `engine.limits.crc` is 0.
{only_if(delta and not crc)}reserved_check 1 | Must be 0.
{only_if(delta)}delta 1 | 1: the stream has the raw data XOR the bytes from the base on, in device memory. Must be 0 where
      `engine.stream_fields.delta` is 0.
reserved_flags {free_flags} | Must be 0.
{only_if(owned)}owned 1 | 1: `owner` says whose the transfer is. 0: that must be 0.
{only_if(shapes)}shaped 1 | 1: the next entry of the ring is the extension that says a shape in device memory. Must be 0
      where `engine.dev_port.dimensions` is 0.
{only_if(owned and not shapes)}reserved_shaped 1 | Must be 0.
{only_if(options.lossy)}step {STEP_BITS} | 0: without loss. Otherwise the data are numbers, and integers in the stream: the
      exponent of the step as a number stores it, with its bias. Must be 0 where `engine.limits.lossy` is 0.
{only_if(crc or pages or owned)}reserved_middle {free if crc or pages else free + 32} | Must be 0.
{only_if(pages and not crc)}reserved_crc 32 | Must be 0.
{only_if(crc)}crc 32 | CRC-32C that the raw bytes must have, with `check_crc`. Must be 0 where `engine.limits.crc` is 0.
{only_if(pages)}pages_low 32 | Byte address of the list of pages of host memory after the first, a multiple of 4096; 0: host
      memory is one run of bytes. Must be 0 where `engine.host_port.pages` is 0.
{only_if(pages)}pages_high 32 | The upper half of that address.
{only_if(owned and not pages)}reserved_pages 64 | Must be 0.
{only_if(owned)}owner 32 | The IDs by which an SMMU finds tables: bits 0 to 19 the substream, 20 to 30 the stream, and bit 31
      whether there is a substream, without which its bits are 0. Must be 0 where `engine.guards` has no bits of either.
{only_if(not owned)}reserved {32 if pages else 96 if crc else free + 128} | Must be 0.
""")


def completion_fields(options: RecordOptions) -> tuple[RecordField, ...]:
    """A completion of engines with ``options``. Its last 32 bits are in the last beat of the write at every bus width,
    so software that polls memory polls these."""
    crc, lossy = options.crc, options.lossy
    return _record(f"""
tag 32 | The descriptor's tag.
literals 32 | Words stored as literals; literals / words is the tensor's density. 0 for a raw copy.
bytes_read 64 | Bytes taken from the source.
bytes_written 64 | Bytes written to the destination: the compressed length of an offload.
cycles 64 | Clock cycles from taking the descriptor up to its last write response; wraps at 2**32.
address 64 | The address that belongs to `status`; 0 if there is none.
{only_if(crc)}crc 32 | CRC-32C of the raw bytes that passed, before the compressor or after the decompressor: with a step, of
      the integers. 0 if none were moved, and where `engine.limits.crc` is 0.
{only_if(lossy and not crc)}reserved_crc 32 | 0.
{only_if(lossy)}range_count 32 | Numbers of an offload with a step that are NaN, infinite or too large for it: what was
      written in their place is not within the bound. 0 where `engine.limits.lossy` is 0.
{only_if(lossy)}range_first 32 | The index of the first of them; 0 if there is none.
reserved {64 if lossy else 128 if crc else 160} | 0.
status 8 | How it ended; 0 is well.
reserved_status 23 | 0.
phase 1 | 1 in the ring's first pass, 0 in the second, and so on: a slot with another phase is old.
""")


#: With all fields that any engine has: software, which serves every engine, knows these.
ALL_OPTIONS = RecordOptions(
    crc=True,
    lossy=True,
    dimensions=MAX_DIMENSIONS,
    pages=True,
    delta=True,
    stream_id_bits=MOST_STREAM_BITS,
    substream_id_bits=MOST_SUBSTREAM_BITS,
)
NO_OPTIONS = RecordOptions()
DESCRIPTOR = descriptor_fields(ALL_OPTIONS)
COMPLETION = completion_fields(ALL_OPTIONS)


#: Bits of a dimension's number.
ORDER_BITS = 2
_NUMBERS = range(1, MAX_DIMENSIONS + 1)
_WORD_BITS = 32


def _extent(n: int) -> str:
    return f"""\
count_{n} {COUNT_BITS} | Entries of dimension {n} in memory; 0: there is no such dimension.
before_{n} {PADDING_BITS} | Entries of padding before them in the stream.
after_{n} {PADDING_BITS} | Entries of padding after them in the stream.
"""


def _shape_table() -> str:
    """The fields of the extension, one after the other.

    An extension that is taken for a descriptor, after the fetch of that has failed, is refused, and is not ``shaped``
    itself: where a descriptor has that bit and ``owned``, an extension has reserved ones, and where a descriptor that is
    not owned has reserved ones, an extension has its run.
    """
    strides = "".join(
        f"stride_{n} {STRIDE_BITS} | Bytes from an entry of dimension {n} to the next, signed.\n"
        for n in _NUMBERS
    )
    orders = "".join(
        f"order_{n} {ORDER_BITS} | The number, less one, of the dimension with the {n}. smallest stride. The first fields, "
        "as many as the engine has dimensions, must name each of these once; the others are ignored. In a shape that is "
        "written each must step over all of those before it.\n"
        for n in _NUMBERS
    )
    *inner, outermost = _NUMBERS
    return f"""
{strides}{"".join(map(_extent, inner))}{orders}
reserved_order {_WORD_BITS - ORDER_BITS * MAX_DIMENSIONS} | Must be 0.
{_extent(outermost)}
before_run {MARGIN_BITS} | Bytes of padding before each row in the stream.
after_run {MARGIN_BITS} | Bytes of padding after each row in the stream.
reserved_shape {_WORD_BITS} | Must be 0.
run {RUN_BITS} | Bytes of a row, which are contiguous in memory; not 0.
"""


#: The fields of the extension, in the order in which they lie.
SHAPE_RECORD = _record(_shape_table())


def missing_fields(dimensions: int) -> list[str]:
    """The fields of the dimensions that an engine with so many does not have. They must be 0."""
    missing = range(dimensions + 1, MAX_DIMENSIONS + 1)
    return [f"{name}_{number}" for number in missing for name in ("stride", "count", "before", "after")]


def shape_values(shape: Shape) -> dict[str, int]:
    """The fields that say a shape."""
    values = {"run": shape.run, "before_run": shape.before, "after_run": shape.after}
    for number, dimension in enumerate(shape.dimensions, 1):
        values |= {
            f"stride_{number}": dimension.stride % (1 << STRIDE_BITS),
            f"count_{number}": dimension.count,
            f"before_{number}": dimension.before,
            f"after_{number}": dimension.after,
        }
    rest = range(len(shape.dimensions), MAX_DIMENSIONS)
    values |= {f"order_{place}": number for place, number in enumerate((*shape.order, *rest), 1)}
    return values


def shape_from(values: Mapping[str, int], dimensions: int) -> Shape | None:
    """The shape that fields say to an engine of so many dimensions; None if they say none: no row, an order in which not
    each dimension is named once, or a dimension that the engine does not have."""
    order = [values[f"order_{place}"] for place in range(1, dimensions + 1)]
    missing = any(values[name] for name in missing_fields(dimensions))
    if not values["run"] or missing or sorted(order) != list(range(dimensions)):
        return None
    half = 1 << (STRIDE_BITS - 1)
    return Shape(
        values["run"],
        tuple(
            Dimension(
                values[f"count_{n}"] or 1,
                (values[f"stride_{n}"] + half) % (2 * half) - half,
                values[f"before_{n}"],
                values[f"after_{n}"],
            )
            for n in range(1, dimensions + 1)
        ),
        values["before_run"],
        values["after_run"],
    )
