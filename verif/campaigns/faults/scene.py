"""The few transfers, at fixed places, that each fault of a campaign meets; the verdict on a fault, and the counts of a
campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAGE_BYTES, packed_pages
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.engine.transfer import TransferRules
from cdma.verif.campaigns.faults.machine import Event, Machine, Pace, Side, State
from cdma.verif.campaigns.faults.software import WAYS, Software
from cdma.verif.engine.memory import AROUND, GUARD
from cdma.verif.engine.transfer import Transfer, base_like, difference, random_words, transfer

#: What becomes of a fault, from the best to the worst.
#:
#: ``detected``
#:     It is reported as the documents say, or the engine recovers as they say, and the next transfer is right.
#: ``harmless``
#:     Every byte is right all the same, and nothing is to be reported.
#: ``undetectable``
#:     A stream has become another valid stream; the engine does what the model does with it.
#: ``wrong``
#:     It is reported, with another status, address or number than it should; or what comes after it is not right.
#: ``silent``
#:     Success is reported, and something is not right.
#: ``hung``
#:     Something does not come, for ever.
OUTCOMES = ("detected", "harmless", "undetectable", "wrong", "silent", "hung")

#: The most failures that a tally describes.
_DESCRIBED = 20


class Wrong(Exception):
    """Something is not as the documents say."""


class Silent(Wrong):
    """Success is reported, and something is not right."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one fault.

    ``kind``: The row of the table that counts it.
    ``case``: Its name, which runs it again.
    ``outside``: Bytes that were written outside of every destination.
    """

    kind: str
    case: str
    outcome: str
    outside: int = 0
    reason: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.outside) or self.outcome in ("wrong", "silent", "hung")


@dataclass
class Tally:
    """Verdicts, counted by kind, with the descriptions of the first ``failures``."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        row = self.counts.setdefault(verdict.kind, dict.fromkeys(("cases", *OUTCOMES, "outside"), 0))
        row["cases"] += 1
        row[verdict.outcome] += 1
        row["outside"] += verdict.outside
        if verdict.failed and len(self.failures) < _DESCRIBED:
            self.failures.append(vars(verdict).copy())

    def merge(self, other: Tally) -> None:
        for kind, row in other.counts.items():
            mine = self.counts.setdefault(kind, dict.fromkeys(row, 0))
            for name, count in row.items():
                mine[name] += count
        self.failures += other.failures[: _DESCRIBED - len(self.failures)]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Tally:
        tally = cls()
        for verdict in verdicts:
            tally.add(verdict)
        return tally

    @property
    def failed(self) -> bool:
        """Whether anything was wrong, silent, hung or outside."""
        bad = ("wrong", "silent", "hung", "outside")
        return any(row[name] for row in self.counts.values() for name in bad)


def judged(run: Callable[[], str]) -> tuple[str, str]:
    """The outcome that ``run`` returns or raises, and the reason if it must not be so."""
    try:
        return run(), ""
    except TimeoutError as error:
        return "hung", str(error)
    except Silent as error:
        return "silent", str(error)
    except (Wrong, AssertionError) as error:
        return "wrong", str(error)


#: Transfers in flight through a ring; through registers there is one. One more follows when the fault is over.
_TRANSFERS = 2
#: Where the data of a transfer begin, short of the edge of a page so that bursts end there; and how far the next lie.
_DATA, _STEP = 0x11000, 0x8000
#: Where lists of pages are. With lists each two pages of host memory stand in the place of each other.
_LISTS, _SWAP = 0x8000, PAGE_BYTES
_PACES = {"fast": Pace(latency=4), "slow": Pace(latency=20, pause=80, seed=5)}


def scene_names(config: EngineConfig) -> list[str]:
    """Every scene of an engine: channel, mode, way, pace."""
    modes = [mode.name.lower() for mode in Mode if mode != Mode.FVC or config.codec.table_size]
    return [
        f"{channel} {mode} {way} {pace}"
        for channel in ("offload", "prefetch")
        for mode in modes
        for way in WAYS
        for pace in _PACES
    ]


def compare(made: Transfer, completion: Mapping[str, int]) -> None:
    """Raises :class:`Wrong` where a completion is not as expected, and :class:`Silent` where it is of a success."""
    if wrong := made.wrong(completion):
        silent = completion["status"] == Status.OK != made.expected.status
        raise (Silent if silent else Wrong)(f"a completion has (got, want) {wrong}")


@dataclass(frozen=True)
class _Ports:
    read: Side
    write: Side


class Scene:
    """The transfers of one channel, in one mode, submitted in one way, with memories of one pace, in the memory from
    ``at`` on.

    ``transfers``, ``after``: Those that the faults meet, and the one that follows.
    ``outside``: Bytes written outside since :meth:`prepare`.
    """

    def __init__(self, machine: Machine, name: str, seed: int, at: int = 0) -> None:
        channel, mode, way, pace = name.split()
        self.machine, self.config, self.channel, self._at = machine, machine.config, channel, at
        self.name, self.seed = name, seed
        self.mode, self.pace = Mode[mode.upper()], _PACES[pace]
        self.software = Software(machine, channel, way)
        self.software.move(self.software.ring + at)
        self.sides = _Ports("dev", "host") if channel == "offload" else _Ports("host", "dev")
        self.rules = TransferRules(self.config, channel)
        rng = np.random.default_rng([seed, *name.encode()])
        form = self.config.format
        self.table = tuple(
            int(value) for value in rng.integers(0, 1 << form.entry_bits, self.config.codec.table_size)
        )
        count = _TRANSFERS if way == "ring" else 1
        made = [self._transfer(rng, index) for index in range(count + 1)]
        self.transfers, self.after = made[:-1], made[-1]
        self.outside = 0
        # Of a part of the places, each scene takes others.
        self._offset = seed + sum(name.encode())

    def _transfer(self, rng: np.random.Generator, index: int) -> Transfer:
        config = self.config
        word = config.format.raw_bytes
        bursts = max(config.burst(port) * config.data_bits(port) // 8 for port in ("dev", "host"))
        stripe = config.stripe_bytes if config.units > 1 else 0
        # A part of each density; the last window is not full.
        part = -(-max(5 * bursts // 2, 5 * stripe // 2) // (8 * word)) * (8 * word // config.format.word_bits)
        raw = b"".join(random_words(rng, part, config, self.table) for _ in range(8))[:-word]
        places = {}
        for side in ("dev", "host"):
            beat = max(config.data_bits(side) // 8, config.align(side))
            places[side] = self._at + _DATA + index * _STEP - 2 * beat
        base = base_like(rng, raw) if config.delta else b""
        made = transfer(
            config,
            self.channel,
            mode=self.mode,
            raw=raw,
            table=self.table,
            source=places[self.sides.read],
            destination=places[self.sides.write],
            tag=0x1000 + index,
            base=base,
        )
        half = -(-_STEP // 2 // config.base_align) * config.base_align
        if base:
            made.descriptor[made.base_field] = places["dev"] + half
        assert half + len(raw) + AROUND < _STEP
        if config.pages:
            field = "destination" if self.channel == "offload" else "source"
            made.descriptor[field] ^= _SWAP
            made.descriptor["pages_low"] = self._at + _LISTS + index * PAGE_BYTES
        return made

    # -- Running.

    def prepare(self, *, halt: bool = False, watchdog: int = 0) -> None:
        """Resets everything and writes memory; nothing is submitted yet."""
        machine = self.machine
        machine.heal()
        machine.reset()
        # What a reset has cut off belongs to the case before.
        machine.state()
        self.outside = 0
        machine.begin(Pace(latency=0))
        if watchdog:
            machine.poke("engine.watchdog", value=watchdog)
        self.join(halt=halt)
        machine.begin(self.pace)

    def join(self, *, halt: bool = False) -> None:
        """Writes memory for an engine that is reset, and opens the windows of this pair."""
        for made in (*self.transfers, self.after):
            self.lay(made)
        self.software.start(halt=halt, table=self.table)

    def lay(self, made: Transfer) -> None:
        """Writes a source, and clears its destination."""
        machine, write = self.machine, self.sides.write
        capacity = made.capacity
        if made.base:
            machine.write("dev", made.descriptor[made.base_field], made.base)
        for start, place, count in self._runs(made, self.sides.read, 0, len(made.source)):
            machine.write(self.sides.read, place, made.source[start : start + count])
        for _, place, count in self._runs(made, write, -AROUND, capacity + 2 * AROUND):
            machine.fill(write, place, count, GUARD)
        if self.config.pages:
            size = max(len(made.source), capacity)
            further = [place for _, place, _ in self._runs(made, "host", 0, size)][1:]
            machine.write("host", made.descriptor["pages_low"], packed_pages(further))
        self.allow(made)

    def _runs(self, made: Transfer, side: Side, first: int, count: int) -> Iterator[tuple[int, int, int]]:
        """The runs of some bytes of a transfer: the offset of the first byte, its address, and the count."""
        begin = made.descriptor["source" if side == self.sides.read else "destination"]
        if not self.config.pages or side == "dev":
            yield first, begin + first, count
            return
        at, end = (begin ^ _SWAP) + first, (begin ^ _SWAP) + first + count
        while at < end:
            some = min(PAGE_BYTES - at % PAGE_BYTES, end - at)
            yield at - (begin ^ _SWAP), at ^ _SWAP, some
            at += some

    def allow(self, made: Transfer, allowed: bool = True) -> None:
        for _, place, count in self._runs(made, self.sides.write, 0, made.capacity):
            self.machine.allow(self.sides.write, place, count, allowed)

    def forbid(self) -> None:
        """Makes no byte writable."""
        for made in (*self.transfers, self.after):
            self.allow(made, False)
        self.software.forbid()

    def completed(self) -> list[dict[str, int]]:
        found: list[dict[str, int]] = []
        if self.software.way == "ring":
            for index in range(len(self.transfers)):
                if self.software.ready(index, 1):
                    found.append(self.software.peek(index))
        return found

    def submit(self) -> None:
        self.software.submit([made.record() for made in self.transfers])

    def measure(self, **settings: Any) -> tuple[int, list[Event]]:
        """The cycles and bus events of the transfers without a fault; ``settings`` are those of :meth:`prepare`."""
        self.prepare(**settings)
        start = self.look().cycle
        self.submit()
        for made in self.transfers:
            self.complete(made)
        cycles = self.look().cycle - start
        # The responses of the last completion come later.
        self.machine.run(200 * self.machine.pace)
        events = self.machine.events()
        self.follow()
        self.quiet()
        return cycles, events

    def of_record(self, event: Event) -> bool:
        """Whether it is of a descriptor or a completion in host memory, and not of data."""
        return event.id > 0 and event.port == len(self.machine.ports) - 1

    def takes(self, number: int, every: int) -> bool:
        """Whether a place gets a fault where one of ``every`` does."""
        return (number + self._offset) % every == 0

    def verdict(self, kind: str, case: str, run: Callable[[], None]) -> Verdict:
        """The verdict on a fault, which ``run`` puts in and judges; after it a transfer is right, and nothing is open."""

        def run_whole() -> str:
            run()
            self.follow()
            self.quiet()
            return "detected"

        outcome, reason = judged(run_whole)
        self.look()
        return Verdict(kind, case, outcome, self.outside, reason)

    # -- Judging. Each raises Wrong.

    def complete(self, made: Transfer, limit: int = 20000) -> None:
        """Waits for a completion, which must be right, and looks at the destination."""
        self.completes(made, self.wait(limit))

    def wait(self, limit: int = 20000) -> dict[str, int]:
        if not self.software.ready(self.software.done, limit):
            raise TimeoutError("no completion")
        return self.software.take()

    def completes(self, made: Transfer, completion: Mapping[str, int]) -> None:
        """Compares a completion and the destination with the specification."""
        compare(made, completion)
        self.holds(made)

    def ends(self, made: Transfer, completion: Mapping[str, int], cut: tuple[Status, ...]) -> bool:
        """Compares a completion that may have been ``cut`` short, with one of these statuses; whether it was."""
        if completion["status"] not in cut:
            self.completes(made, completion)
            return False
        if completion["tag"] != made.descriptor["tag"]:
            raise Wrong(f"a completion has tag {completion['tag']:#x}, not {made.descriptor['tag']:#x}")
        if completion["status"] == Status.ABORTED and completion["address"]:
            raise Wrong(f"an abort is reported with the address {completion['address']:#x}")
        return True

    def holds(self, made: Transfer) -> None:
        """Compares every byte of a destination, and those around it."""
        side, capacity = self.sides.write, made.capacity
        runs = self._runs(made, side, -AROUND, capacity + 2 * AROUND)
        got = b"".join(self.machine.read(side, place, count) for _, place, count in runs)
        if found := difference(got, made.image()):
            raise Silent(found)

    def follow(self) -> None:
        """The transfer after the fault, which must be complete and right."""
        self.software.submit([self.after.record()])
        self.complete(self.after)

    def look(self) -> State:
        """The state since the last call; bytes outside are added up."""
        state = self.machine.state()
        self.outside += state.outside
        return state

    def quiet(self) -> None:
        """Nothing is open, and no rule was broken."""
        # The last response of a ring's completion may be on its way.
        self.machine.run(100 * self.machine.pace)
        state = self.look()
        if state.outside:
            raise Wrong(f"{state.outside} bytes were written outside, the first at {state.first_outside:#x}")
        if state.deaf:
            raise TimeoutError("the register port does not answer")
        if state.broken:
            raise Wrong(state.broken)
        if state.open:
            raise Wrong(f"{state.open} transactions are open at the end")
