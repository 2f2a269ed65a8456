"""Words, tables and numbers for first benches: at random, with so many that the codec stores. What the first bench of a
block sends, and what the golden model makes of it. The transfers of the first bench of an engine: a tensor to host
memory and back, by the specification.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from cdma.hdl.deliver.bench.opening import MemoryArea, StreamVectors, Transfer, TransferVectors, Vectors
from cdma.hdl.deliver.block import Config
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.hdl.spec.records import Mode
from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.number_types import integers_of, words_of
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import Words, packed_beats, rotated, word_dtype, words_to_bytes
from cdma.sim.engine.transfer import DIRECTIONS, Outcome, TransferRules

#: The share of words that are anything, where the others are frequent ones.
_DENSITY = 0.45


def some_table(config: CodecConfig) -> tuple[int, ...]:
    """A table for a port that takes one: the format's values, and others behind them."""
    form = config.format
    others = range(1, config.table_size)
    return (*form.values, *others)[: config.table_size]


def some_words(rng: np.random.Generator, form: StreamFormat, count: int, density: float = _DENSITY) -> Words:
    """Words of which the share ``density`` is anything, and the others are frequent; in runs, as activations have them."""
    dtype = word_dtype(form)
    anything = rng.integers(1, 1 << form.word_bits, count, np.uint64).astype(dtype)
    frequent = rng.choice(np.array(form.values or (0,), np.uint64), count)
    if form.field_bits:
        assert isinstance(form, Format)
        others = form.word_bits - form.field_bits
        words = frequent << np.uint64(others) | rng.integers(0, 1 << others, count, np.uint64)
        common = rotated(words.astype(dtype), form, -1)
        common[rng.random(count) < form.zero / 2] = 0
    else:
        common = frequent.astype(dtype)
    runs = np.repeat(rng.random(-(-count // 3)) < density, 3)[:count]
    return np.where(runs, anything, common)


def some_numbers(rng: np.random.Generator, form: Quantisation, step: int, count: int) -> Words:
    """The bits of numbers around a step, given as a number stores it: some vanish, none is out of range, some are 0."""
    kind = form.number_type
    stored = rng.integers(max(0, step - 3), step + form.bits - 2, count)
    fraction = rng.integers(0, 1 << kind.fraction_bits, count)
    sign = rng.integers(0, 2, count)
    numbers = sign << (kind.bits - 1) | stored << kind.fraction_bits | fraction
    return np.where(rng.random(count) < _DENSITY, numbers, 0).astype(f"u{kind.bits // 8}")


Beats = list[Mapping[str, int]]


def golden_vectors(block: str, config: Config) -> Vectors:
    """The vectors of the ``block`` of ``config``; the same ones each time."""
    if isinstance(config, EngineConfig):
        return transfer_vectors(config)
    if isinstance(config, StageConfig):
        return _stage_vectors(block, config)
    return _codec_vectors(block, config)


def _codec_vectors(block: str, config: CodecConfig) -> StreamVectors:
    """A packet of some windows, one of a single word, and one that is dense."""
    rng = np.random.default_rng(1)
    form, levels = config.format, {}
    if config.runtime_values:
        table = some_table(config)
        form = form.with_table(table)
        levels["values"] = sum(value << index * form.entry_bits for index, value in enumerate(table))
    window = form.window
    raws = [
        some_words(rng, form, 3 * window + window // 2 + 1),
        some_words(rng, form, 1),
        some_words(rng, form, window, density=1),
    ]
    what = f"packets of {_listed(raws)} words"
    raw_beats = [_beats(raw, form.word_bits, config.lanes) for raw in raws]
    compressed = [encode_packet(raw, form) for raw in raws]
    stream_beats = [_beats(each.words, form.stream_bits, config.units) for each in compressed]
    if block == "compressor":
        reports = [each.report for each in compressed]
        streams = {"s_axis": _joined(raw_beats), "m_axis": _joined(stream_beats)}
    else:
        reports = [
            decode_packet(each.words, len(raw), form, config.lanes).report
            for each, raw in zip(compressed, raws, strict=True)
        ]
        streams = {"s_axis": _joined(stream_beats), "m_axis": _joined(raw_beats)}
        streams["s_length"] = [{"tdata": len(raw)} for raw in raws]
    fields = ((each.words_in, each.words_out, each.literals, each.error) for each in reports)
    streams["m_report"] = [_word(each) for each in fields]
    return StreamVectors(what, levels, streams)


def _stage_vectors(block: str, config: StageConfig) -> StreamVectors:
    """Two packets in steps of an eighth; of numbers, one is infinite, which is reported."""
    rng = np.random.default_rng(1)
    form, exponent = config.form, -3
    step, kind = form.step(exponent), form.number_type
    numbers = [some_numbers(rng, form, step, count) for count in (5 * config.lanes + 1, 1)]
    numbers[0][1] = ((1 << kind.exponent_bits) - 1) << kind.fraction_bits
    made = [quantise(each, exponent, form) for each in numbers]
    integers = [words_of(each.integers, form.bits) for each in made]
    integer_beats = _joined(_beats(each, form.bits, config.lanes) for each in integers)
    if block == STAGES[0]:
        streams = {
            "s_axis": _joined(_beats(each, kind.bits, config.lanes) for each in numbers),
            "m_axis": integer_beats,
            "m_report": [_word((each.reported, each.first)) for each in made],
        }
    else:
        back = [dequantise(integers_of(each, form.bits), exponent, form) for each in integers]
        streams = {
            "s_axis": integer_beats,
            "m_axis": _joined(_beats(each, kind.bits, config.lanes) for each in back),
        }
    return StreamVectors(f"packets of {_listed(numbers)} numbers", {"step": step}, streams)


def _listed(packets: Sequence[Words]) -> str:
    *most, last = (str(len(packet)) for packet in packets)
    return f"{', '.join(most)} and {last}"


def _word(fields: Sequence[int]) -> Mapping[str, int]:
    """What moves on a stream of fields of 32 bits, but for the last one, which may have fewer."""
    return {"tdata": sum(value << 32 * index for index, value in enumerate(fields))}


def _beats(words: Words, bits: int, lanes: int) -> Beats:
    """What moves on a stream of packed words."""
    return [
        {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last)}
        for beat in packed_beats(words, bits, lanes)
    ]


def _joined(packets: Iterable[Beats]) -> Beats:
    return list(chain.from_iterable(packets))


#: Bytes of the tensor of an engine with one device port.
_TENSOR_BYTES = 2048
#: Where the memories begin, if addresses have so many bits.
_BASES = {"dev": 0x1000_0000, "host": 0x8000_0000}
#: Bytes around what lies in a memory, which nothing may touch, and of which memories consist.
_GAP, _PAGE = 64, 4096
#: The exponent of the step of numbers.
_EXPONENT = -3
#: The share of the bytes that changed since a base.
_CHANGED = 0.02


def transfer_vectors(config: EngineConfig) -> TransferVectors:
    """An offload and a prefetch, and with an error-bounded stage both once more, of numbers; with bases of what changed."""
    words = _tensor_words(config)
    while not (script := _Script(config, words)).fits:
        words //= 2
    return script.vectors()


def _tensor_words(config: EngineConfig) -> int:
    """The words of the tensor: windows and a part of one; and where there are units, more than a stripe of each."""
    form = config.format
    least = config.units * config.stripe_bytes if config.units > 1 else _TENSOR_BYTES
    return -(-least // config.window_bytes) * form.window + form.window // 2 + 1


class _Memory:
    """One of the memories, in which one thing after the other gets its place."""

    def __init__(self, config: EngineConfig, port: str) -> None:
        bits = config.dev_address_bits if port == "dev" else config.host_address_bits
        base = _BASES[port]
        self.base = base if base < 1 << bits else 0
        self.most = (1 << bits) - self.base
        self.align = config.base_align if config.delta and port == "dev" else config.align(port)
        self.end = 0

    def place(self, size: int) -> int:
        """The address of so many bytes more: not that of a page, where the alignment allows that."""
        line = max(_GAP, self.align)
        start = -(-(self.end + _GAP) // line) * line + self.align % line
        self.end = start + size
        return self.base + start

    @property
    def area(self) -> MemoryArea:
        return MemoryArea(self.base, -(-(self.end + _GAP) // _PAGE) * _PAGE)


class _Script:
    """All transfers, with a tensor of so many ``words``."""

    def __init__(self, config: EngineConfig, words: int) -> None:
        self.config = config
        form = config.format
        self.memories = {port: _Memory(config, port) for port in _BASES}
        self.rules = {name: TransferRules(config, name) for name in DIRECTIONS}
        self.data: dict[str, bytes] = {}
        self.transfers: list[Transfer] = []
        size = config.codec.table_size
        self.table = some_table(config.codec) if size and form.values != (0,) else (0,) * size
        rng = np.random.default_rng(1)
        # An even number of them: words of 4 bits fill bytes.
        raw = to_memory(some_words(rng, form, words + words % 2), form.word_bits)
        self._there_and_back("tensor", "stream", "tensor", raw, "the tensor")
        if config.quantisation:
            step = config.quantisation.step(_EXPONENT)
            numbers = words_to_bytes(some_numbers(rng, config.quantisation, step, words))
            self._there_and_back("numbers", "integers", "restored", numbers, "numbers", step)
        if config.delta:
            old = np.frombuffer(raw, np.uint8)
            new = np.where(rng.random(len(old)) < _CHANGED, ~old, old).tobytes()
            self._there_and_back(
                "newer", "changes", "updated", new, "what changed of the tensor", base="tensor"
            )

    @property
    def fits(self) -> bool:
        """Whether the memories have room for it."""
        return all(memory.area.size <= memory.most for memory in self.memories.values())

    def vectors(self) -> TransferVectors:
        """What the bench needs."""
        config = self.config
        return TransferVectors(
            device=self.memories["dev"].area,
            host=self.memories["host"].area,
            units=config.units,
            stripe_bytes=config.stripe_bytes,
            table=self.table if any(self.table) else (),
            data=self.data,
            transfers=self.transfers,
        )

    def _there_and_back(
        self, there: str, stream: str, back: str, raw: bytes, what: str, step: int = 0, base: str = ""
    ) -> None:
        """An offload of ``raw`` and a prefetch of what became of it; the names of the data before, between and after, and of
        the base of both."""
        form = self.config.format
        device, host = self.memories["dev"], self.memories["host"]
        bits = (
            self.config.quantisation.number_type.bits if step and self.config.quantisation else form.word_bits
        )
        capacity = -(-form.bound(len(raw) * 8 // bits) * form.stream_bits // 8)
        common = {"length": len(raw), "mode": Mode.FVC if any(self.table) else Mode.ZVC, "step": step}
        away = {
            **common,
            "source": device.place(len(raw)),
            "destination": host.place(capacity),
            "capacity": capacity,
            "tag": len(self.transfers) + 1,
        }
        if base:
            common["delta"] = 1
            at = next(each.descriptor["source"] for each in self.transfers if each.source == base)
            away |= {"delta": 1, "compressed_length": at}
        self.data[there] = raw
        packed = self._add(f"{what} from device memory to host memory", "offload", away, there, stream, base)
        checked = {"check_crc": 1, "crc": packed.crc} if self.config.crc else {}
        home = {
            **common,
            **checked,
            "source": away["destination"],
            "destination": device.place(len(raw)),
            "capacity": len(raw),
            "compressed_length": packed.bytes_written,
            "tag": len(self.transfers) + 1,
        }
        if base:
            home["capacity"] = at
        self._add(f"{what} back, to another place", "prefetch", home, stream, back, base)

    def _add(
        self,
        what: str,
        channel: str,
        descriptor: Mapping[str, int],
        source: str,
        written: str,
        base: str = "",
    ) -> Outcome:
        """Notes a transfer and what it writes."""
        old = self.data[base] if base else b""
        outcome = self.rules[channel].outcome(
            defaultdict(int, descriptor), self.data[source], self.table, old
        )
        self.data[written] = outcome.written
        completion = {
            "tag": descriptor["tag"],
            "status": int(outcome.status),
            "bytes_read": outcome.bytes_read,
            "bytes_written": outcome.bytes_written,
            "literals": outcome.literals,
            "address": outcome.address,
        }
        if self.config.crc:
            completion["crc"] = outcome.crc
        fields = {name: int(value) for name, value in descriptor.items() if value}
        self.transfers.append(Transfer(what, channel, fields, source, written, completion))
        return outcome
