"""Corrupted streams: many prefetches through the ring at once, judged by what the model says of each stream.

A stream that the model refuses must be refused with the same status and the same numbers, and the words before the
error must be in memory. A stream that has become another valid one is *undetectable* by the format: its words must be
those that the model decodes. An engine with a CRC gets that of the data that were meant, and so it must refuse those,
too. Every eighth transfer is whole, and must be right next to the others. Case N of a seed is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import DESCRIPTOR, Mode, Status
from cdma.sim.codec.container import crc32c
from cdma.sim.engine.memory import AddressSpace, unpack
from cdma.sim.engine.transfer import Outcome, TransferRules
from cdma.verif.engine.memory import GUARD
from cdma.verif.engine.transfer import Transfer, random_words, stream_of

from .machine import Machine, Pace
from .scene import Silent, Verdict, Wrong, compare
from .software import Software

#: About how many bytes of raw data the longest stream stands for.
_MOST_BYTES = 200
#: The kind of a stream that is whole.
INTACT = "intact"


@dataclass(frozen=True)
class Damaged:
    """One prefetch of a stream that is not what a compressor wrote for it.

    ``kind``: The damage: one of :data:`KINDS`, or :data:`INTACT`.
    ``raw``, ``stream``: The data that were meant, and the stream in host memory.
    ``length``, ``compressed_length``: Those of the descriptor.
    """

    kind: str
    mode: Mode
    raw: bytes
    stream: bytes
    length: int
    compressed_length: int


def some_stream(
    rng: np.random.Generator, rules: TransferRules, mode: Mode, table: tuple[int, ...]
) -> tuple[bytes, bytes]:
    """Raw data, and the stream that stands for them."""
    config = rules.config
    words = int(rng.integers(1, _MOST_BYTES * 8 // config.format.word_bits))
    raw = random_words(rng, words, config, table)
    if mode == Mode.RAW:
        return raw, raw
    form = rules.format(mode, table)
    return raw, stream_of(raw, form)


def damaged_stream(rng: np.random.Generator, rules: TransferRules, table: tuple[int, ...]) -> Damaged:
    """A stream of any mode with any damage. Streams through the codec are drawn more often than copies."""
    modes = [Mode.RAW, *3 * [Mode.ZVC], *3 * [Mode.FVC]] if table else [Mode.RAW, *3 * [Mode.ZVC]]
    mode = modes[rng.integers(len(modes))]
    kind = KINDS[rng.integers(len(KINDS))]
    while True:
        raw, stream = some_stream(rng, rules, mode, table)
        compressed = 0 if mode == Mode.RAW else len(stream)
        if kind == "lengths":
            length, longer = _lengths(rng, rules.config, len(raw), compressed)
            return Damaged(kind, mode, raw, stream, length, longer)
        other = some_stream(rng, rules, mode, table)[1] if kind == "splices" else b""
        bad = _DAMAGE[kind](rng, stream, other, rules.config.format.moved_bits // 8)
        if bad and bad != stream:
            return Damaged(kind, mode, raw, bad, len(raw), 0 if mode == Mode.RAW else len(bad))


def _flips(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """One to four bits are inverted, most often one."""
    bad = bytearray(stream)
    for _ in range(int(rng.choice((1, 1, 1, 2, 4)))):
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
    return bytes(bad)


def _cuts(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """The stream ends early, after a whole number of words."""
    return stream[: int(rng.integers(1, len(stream) // word + 1)) * word]


def _splices(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """The beginning of the stream, and the end of another."""
    head = int(rng.integers(0, len(stream) // word + 1)) * word
    tail = int(rng.integers(0, len(other) // word + 1)) * word
    return stream[:head] + other[tail:]


def _random(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """Random bytes from some place on, or in the place of the whole stream."""
    start = int(rng.integers(0, len(stream) // word)) * word if rng.random() < 0.5 else 0
    return stream[:start] + rng.bytes(len(stream) - start)


def _lengths(rng: np.random.Generator, config: EngineConfig, length: int, compressed: int) -> tuple[int, int]:
    """The lengths of the descriptor are not those of the stream, or none."""
    word, stream_word = config.format.raw_bytes, config.format.moved_bits // 8
    while True:
        new = length, compressed
        if rng.random() < 0.5:
            new = length + int(rng.integers(-8, 9)) * (1 if rng.random() < 0.2 else word), compressed
        elif compressed:
            step = 1 if rng.random() < 0.2 else stream_word
            new = length, compressed + int(rng.integers(-8, 9)) * step
        if rng.random() < 0.02:
            new = new[0], 0
        if new != (length, compressed) and min(new) >= 0:
            return new


_DAMAGE: dict[str, Callable[[np.random.Generator, bytes, bytes, int], bytes]] = {
    "flips": _flips,
    "cuts": _cuts,
    "splices": _splices,
    "random": _random,
}
#: Every kind of damage.
KINDS = (*_DAMAGE, "lengths")


#: Cases of which each shares its ring with the others.
BATCH = 28
#: Of so many transfers in a ring, the last is whole.
_WHOLE = 8
#: Where sources and destinations lie; each has so many bytes, and begins in the first part of them.
_DATA, _PITCH = 0x10000, 1024
#: Cycles in which a transfer must complete.
_LIMIT = 4000


@dataclass
class _Slot:
    """A transfer in the ring: case ``number``, or a whole stream (-1)."""

    number: int
    damaged: Damaged
    made: Transfer


def stream_cases(machine: Machine, seed: int, numbers: range, only: str | None = None) -> Iterator[Verdict]:
    """The verdicts on the corrupted streams with these numbers, or on the case ``only``, among those that ran with it."""
    bench = _Bench(machine, seed)
    if only is not None:
        first = int(only) // BATCH * BATCH
        numbers = range(first, first + BATCH)
    for start in range(numbers.start, numbers.stop, BATCH):
        for verdict in bench.batch(range(start, min(start + BATCH, numbers.stop))):
            if only in (None, verdict.case):
                yield verdict


class _Bench:
    """The prefetch channel."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.seed = machine, seed
        config = machine.config
        self.rules = TransferRules(config, "prefetch")
        self.software = Software(machine, "prefetch", "ring")
        rng = np.random.default_rng([seed, 0])
        values = rng.integers(0, 1 << config.format.entry_bits, config.codec.table_size)
        self.table = tuple(int(value) for value in values)
        self.spaces = AddressSpace(config.host_address_bits), AddressSpace(config.dev_address_bits)
        self._start()

    def _start(self) -> None:
        self.machine.reset()
        self.software.start(table=self.table)

    def batch(self, numbers: Sequence[int]) -> Iterator[Verdict]:
        """Runs cases together, with whole streams among them."""
        slots: list[_Slot] = []
        memory = bytearray([GUARD]) * (_PITCH * self.software.size)
        rng = np.random.default_rng([self.seed, 2, numbers[0]])
        for number in numbers:
            if len(slots) % _WHOLE == _WHOLE - 1:
                slots.append(self._slot(-1, len(slots), rng, memory))
            slots.append(
                self._slot(number, len(slots), np.random.default_rng([self.seed, 1, number]), memory)
            )
        self.machine.begin(
            Pace(latency=int(rng.choice((2, 20))), pause=int(rng.choice((0, 60))), seed=numbers[0])
        )
        self.machine.write("host", _DATA, bytes(memory))
        while slots:
            done = yield from self._run(slots)
            slots = slots[done:]

    def _slot(self, number: int, place: int, rng: np.random.Generator, memory: bytearray) -> _Slot:
        """Draws a transfer, and writes its stream into the image of the host's ``memory``."""
        config = self.machine.config
        if number < 0:
            mode = Mode.ZVC
            raw, stream = some_stream(rng, self.rules, mode, self.table)
            damaged = Damaged(INTACT, mode, raw, stream, len(raw), len(stream))
        else:
            damaged = damaged_stream(rng, self.rules, self.table)
        offsets = [
            int(rng.integers(4)) * max(config.align(side), config.data_bits(side) // 8)
            for side in ("host", "dev")
        ]
        at = place * _PITCH + offsets[0]
        memory[at : at + len(damaged.stream)] = damaged.stream
        descriptor = {
            "source": _DATA + at,
            "destination": _DATA + place * _PITCH + offsets[1],
            "length": damaged.length,
            "capacity": len(damaged.raw),
            "compressed_length": damaged.compressed_length,
            "tag": place + 1,
            "mode": int(damaged.mode),
        }
        if config.crc:
            descriptor |= {"check_crc": 1, "crc": crc32c(damaged.raw)}
        made = Transfer(descriptor, damaged.stream, Outcome())
        known = unpack(DESCRIPTOR, made.record())
        refusal = self.rules.refusal(known, *self.spaces)
        if refusal is None:
            read = bytes(memory[at : at + self.rules.bytes_read(known)])
            refusal = self.rules.outcome(known, read, self.table)
        made.expected = refusal
        return _Slot(number, damaged, made)

    def _run(self, slots: Sequence[_Slot]) -> Generator[Verdict, None, int]:
        """Runs transfers until one hangs; the number of those that are judged."""
        machine, software = self.machine, self.software
        machine.state()
        machine.fill("dev", _DATA, _PITCH * software.size, GUARD)
        machine.allow("dev", _DATA, _PITCH * software.size, False)
        for slot in slots:
            descriptor = slot.made.descriptor
            machine.allow("dev", descriptor["destination"], descriptor["capacity"])
        begun = software.done
        software.submit([slot.made.record() for slot in slots])
        done = len(slots)
        if not software.ready(begun + done - 1, _LIMIT * done):
            done = next(index for index in range(done) if not software.ready(begun + index, 1))
        state = machine.state()
        memory = machine.read("dev", _DATA, _PITCH * software.size)
        outside = state.outside
        for index, slot in enumerate(slots[:done]):
            verdict = self._verdict(slot, software.peek(begun + index), memory, outside)
            outside = 0
            if verdict:
                yield verdict
        if done == len(slots):
            software.skip(done)
            if state.broken or state.deaf:
                yield self._named(slots[-1], "wrong", 0, state.broken or "the register port does not answer")
            return done
        yield self._named(slots[done], "hung", outside, "no completion")
        self._start()
        return done + 1

    def _verdict(
        self, slot: _Slot, completion: dict[str, int], memory: bytes, outside: int
    ) -> Verdict | None:
        """What became of a slot; None for a whole one that is right."""
        expected, damaged = slot.made.expected, slot.damaged
        try:
            self._compare(slot, completion, memory)
        except Silent as error:
            return self._named(slot, "silent", outside, str(error))
        except Wrong as error:
            return self._named(slot, "wrong", outside, str(error))
        if outside:
            return self._named(slot, "wrong", outside, "something was written outside, here or after it")
        if damaged.kind == INTACT:
            return None
        if expected.status != Status.OK:
            return self._named(slot, "detected")
        same = expected.written == damaged.raw
        return self._named(slot, "harmless" if same else "undetectable")

    def _compare(self, slot: _Slot, completion: dict[str, int], memory: bytes) -> None:
        made, expected = slot.made, slot.made.expected
        compare(made, completion)
        place = made.descriptor["tag"] - 1
        got = memory[place * _PITCH : (place + 1) * _PITCH]
        start = made.descriptor["destination"] - _DATA - place * _PITCH
        end = start + len(expected.written)
        if self.machine.config.units > 1 and expected.status != Status.OK:
            # Units after the one with the error may have written their stripes.
            got = got[:end] + bytes([GUARD]) * (_PITCH - end)
        want_bytes = bytes([GUARD]) * start + expected.written + bytes([GUARD]) * (_PITCH - end)
        if got != want_bytes:
            at = next(index for index in range(_PITCH) if got[index] != want_bytes[index]) - start
            raise Silent(f"byte {at} of the destination is not what the model decodes")

    def _named(self, slot: _Slot, outcome: str, outside: int = 0, reason: str = "") -> Verdict:
        kind = "copies" if slot.damaged.mode == Mode.RAW else slot.damaged.kind
        if self.machine.config.crc:
            kind += ", CRC"
        return Verdict(kind, str(slot.number), outcome, outside, reason)
