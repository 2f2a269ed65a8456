"""What a descriptor says, and what is wrong with it by itself: without its addresses and its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.blocks.elaboration import Pace, sized
from cdma.hdl.engine.units.stripes import unit_of
from cdma.hdl.spec.options import MOST_PAGED, PAGE_LOG2
from cdma.hdl.spec.records import Mode, RecordOptions, descriptor_fields, most_bytes
from cdma.hdl.spec.stage import Quantisation

from .interfaces import stray_owner

_Side = TypeVar("_Side")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What descriptors of a channel may be: see :class:`~cdma.hdl.engine.channel.checker.Checker`."""

    read: PortShape
    write: PortShape
    word_bits: int
    stream_bytes: int
    tail_bits: int
    compressing: bool
    options: RecordOptions
    quantisation: Quantisation | None
    units: int
    stripe_bytes: int

    @property
    def word_log2(self) -> int:
        """log2 of the bytes of a word: -1 for words of 4 bits."""
        return exact_log2(self.word_bits) - 3

    @property
    def stream_log2(self) -> int:
        """log2 of the bytes that a compressed length is a multiple of."""
        return exact_log2(self.stream_bytes)

    @property
    def number_log2(self) -> int:
        """log2 of the bytes of a number; without numbers, of a word."""
        form = self.quantisation
        return max(0, self.word_log2) if form is None else exact_log2(form.number_type.bits // 8)

    @property
    def greatest_step(self) -> int:
        """The greatest step of a descriptor."""
        return self.quantisation.greatest_step if self.quantisation is not None else 0

    def of_host(self, read: _Side, write: _Side) -> _Side:
        """What is of host memory, of what is read and what is written."""
        return write if self.compressing else read

    def of_device(self, read: _Side, write: _Side) -> _Side:
        """What is of device memory."""
        return self.of_host(write, read)


class Facts(NamedTuple):
    """What is wrong with a descriptor by itself: registers, valid once its addresses are scanned."""

    reserved: Signal
    owner: Signal
    zero: Signal
    length: Signal
    capacity: Signal
    source: Signal
    destination: Signal
    base: Signal


class Reading:
    """A request as the checker reads it. What descriptors of the engine do not have is 0.

    ``lossy``, ``pages``, ``raw``: The descriptor has a step; the address of the list of its pages, 0 without one; its
        data pass around the codec.
    ``stream``: ``compressed_length`` counts, and not ``length`` alone.
    ``shaped``: What lies in device memory is a shape, which is ``measured``.
    ``delta``, ``base``: The descriptor has a base, and its address.
    """

    def __init__(self, rules: Rules, request: data.View, measured: data.View) -> None:
        self.rules = rules
        self.request = request
        self.descriptor = request.descriptor
        self.measured = measured
        self.shaped = measured.shaped
        self.lossy = self.field("step").any()
        self.pages = Cat(self.field("pages_low"), self.field("pages_high"))
        self.raw = self.descriptor.mode == Mode.RAW
        self.stream = C(0) if rules.compressing else ~self.raw | self.lossy
        self.delta = self.descriptor.delta if rules.options.delta else C(0)
        self.base: Value = self.descriptor["compressed_length" if rules.compressing else "capacity"]

    def field(self, name: str) -> Value:
        """A field that descriptors may have."""
        return self.descriptor[name] if name in self.descriptor.shape().members else C(0, 32)

    def address(self, name: str) -> Value:
        """Where the data of a descriptor begin: with a shape at its lowest byte."""
        address: Value = self.descriptor[name]
        shaped = self.rules.of_device("source", "destination") == name and self.rules.options.dimensions
        return Mux(self.shaped, self.measured.lowest, address) if shaped else address

    def capacity(self) -> Value:
        """The bytes that may be written."""
        descriptor = self.descriptor
        if not self.rules.options.delta or self.rules.compressing:
            return descriptor.capacity
        return Mux(self.delta, descriptor.length, descriptor.capacity)

    def words(self) -> Value:
        """The raw words, a last one that is not whole among them."""
        length, rules = self.descriptor.length, self.rules
        # One of the shifts is by 0.
        words = length << max(0, -rules.word_log2) >> max(0, rules.word_log2)
        whole = words[:32] + length[: rules.tail_bits].any()
        return Mux(self.lossy, length >> rules.number_log2, whole if rules.tail_bits else words)

    def find(self, m: Module, source: Value, allowed: Value, compared: Value, *, pipelined: bool) -> Facts:
        """Looks at the descriptor while its ``source`` is scanned; of its owner the bits that are ``compared`` must be those
        that are ``allowed``."""
        rules, descriptor, pace = self.rules, self.descriptor, Pace(m, pipelined)
        bits = {"base": int(rules.options.delta)}
        facts = Facts(*(Signal(bits.get(name, 1), name=f"fact_{name}") for name in Facts._fields))
        length, compressed, owner = descriptor.length, descriptor.compressed_length, self.field("owner")
        length_wrong, compressed_wrong = self._wrong_lengths()
        must_be_0 = [descriptor[field.name] for field in descriptor_fields(rules.options) if field.reserved]
        must_be_0 += [
            self.pages[:PAGE_LOG2],
            self.pages[rules.of_host(rules.read, rules.write).address_bits :],
        ]
        reserved = (
            Cat(must_be_0).any()
            | (self.field("step") > rules.greatest_step)
            | (self.shaped & self.measured.reserved)
            | stray_owner(owner, self.field("owned"), rules.options)
        )
        if rules.options.delta:
            reserved |= self.shaped & self.delta
        moved = rules.of_host(Mux(self.stream, compressed, length), descriptor.capacity)
        length_wrong |= self.pages.any() & (moved > MOST_PAGED)
        useless: Value = compressed != 0
        if rules.options.delta and rules.compressing:
            useless &= ~self.delta
        empty_source = self.stream & pace.late(compressed == 0, "empty_source_late")
        wrong_source = Mux(
            self.stream,
            pace.late(compressed_wrong, "compressed_wrong_late"),
            pace.late(useless, "compressed_late"),
        )
        with m.If(source):
            m.d.sync += [
                facts.owner.eq(pace.late(((owner ^ allowed) & compared).any(), "foreign_late")),
                facts.reserved.eq(pace.late(reserved, "reserved_late") | (descriptor.mode > max(Mode))),
                facts.zero.eq(pace.late(length == 0, "empty_late") | empty_source),
                facts.length.eq(pace.late(length_wrong, "length_wrong_late") | wrong_source),
                facts.capacity.eq(self.capacity() == 0),
                facts.source.eq(self.address("source")[: rules.read.align_log2].any()),
                facts.destination.eq(self.address("destination")[: rules.write.align_log2].any()),
                *sized(facts.base.eq(self._misplaced(m))),
            ]
        return facts

    def _misplaced(self, m: Module) -> Value:
        """Whether the base is not aligned; with several units, whether it lies in them in another way than the tensor."""
        rules, base = self.rules, self.base
        if rules.units == 1:
            return base[: rules.of_device(rules.read, rules.write).align_log2].any()
        tensor, place = (
            self.descriptor[rules.of_device("source", "destination")],
            exact_log2(rules.stripe_bytes),
        )
        units = [unit_of(m, each[place:], rules.units) for each in (base, tensor)]
        return (base[:place] != tensor[:place]) | (units[0] != units[1])

    def _wrong_lengths(self) -> tuple[Value, Value]:
        """Whether the length is wrong, and the compressed one where it is needed."""
        rules, length, compressed = self.rules, self.descriptor.length, self.descriptor.compressed_length
        bits = rules.options.length_bits
        most = most_bytes(rules.word_bits, 1 << bits - 1)
        whole = 0 if rules.tail_bits else max(0, rules.word_log2)
        length_wrong = length[:whole].any() | (length > most)
        length_wrong |= self.lossy & length[: rules.number_log2].any()
        compressed_wrong = compressed[: rules.stream_log2].any() | compressed[bits:].any()
        # Integers that pass around the codec are as many as the numbers.
        integers = length[: bits + 1] >> (rules.number_log2 - rules.word_log2)
        around = self.lossy & self.raw
        if rules.word_log2 < 0:
            # Two are in a byte, and a zero may fill the last one.
            fits = _is_sum(compressed[:bits], integers, length[rules.number_log2])
        else:
            fits = compressed[:bits] == integers
        return length_wrong, compressed_wrong | (around & ~fits)


def _is_sum(total: Value, number: Value, carry: Value) -> Value:
    """``total == number + carry``, without a carry chain: each carry follows from the bits of ``total`` and ``number``."""
    taken = total ^ number
    return taken == Cat(carry, (number & ~total)[:-1])
