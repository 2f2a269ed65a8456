"""Completions that have left a channel, until the rings take them: of all pairs in one memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.elaboration import flags
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.engine.channel.interfaces import Delivered
from cdma.hdl.engine.channel.tickets import CYCLES_BYTES
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RecordOptions, Status, completion_fields

from .accounts import lowest, number_of

#: What is counted of a pair: the descriptors that have started, those whose completions the rings have taken, and those
#: that are completed.
_KINDS = ("started", "taken", "done")


class KeptSignature(wiring.Signature):
    """What a pair has of its completions, seen from the store.

    ``full``, ``owed``, ``inside``, ``waiting``: There is no room, from the fourth cycle after the last descriptor has
        started; there are descriptors whose completions the rings have not taken; some are in the data path; a
        completion waits.
    ``settled``: What has happened is counted.
    ``taken``: Pulse: the rings have taken a completion.
    ``lost``: With coded memories: the completion that comes may depend on a word that is lost.
    ``clear``: Pulse, while nothing of the pair is in the data path: what is kept of it is forgotten.
    """

    def __init__(self) -> None:
        super().__init__(
            flags(Out, "full", "owed", "inside", "waiting", "settled") | flags(In, "taken", "lost", "clear")
        )


class DeliveredStore(wiring.Component):
    """Keeps the completions of a direction, of each pair in their order, and counts its descriptors. Of a pair twice as
    many may be in the data path, or wait, as are fetched ahead: with two pairs as many as are in flight, and as many whose
    completions are on their way, so that a pair alone never waits for room.

    What is counted of a pair is a row of a memory. An event takes two cycles, and one after the other has its turn; bits
    of each pair tell what must be known at once.

    ``pair_0``, …: The pairs.
    ``started``, ``done``: Pulses, of one pair at a time: a descriptor has started, at least four cycles after the last
        one; a completion comes, only while ``ready``.
    ``completion``: What comes. It stays in the cycle after.
    ``ready``: A completion may come.
    ``pair``, ``oldest``: The completion of that pair that waits longest, two cycles after ``pair`` has changed.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.count = config.channels
        self.room = 2 * config.fetched
        self.records = config.records
        super().__init__(
            {
                **{f"pair_{number}": Out(KeptSignature()) for number in range(self.count)},
                "started": In(self.count),
                "done": In(self.count),
                "completion": In(Delivered(config.records)),
                "ready": Out(1),
                "pair": In(range(self.count)),
                "oldest": Out(Delivered(config.records)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        pairs = [getattr(self, f"pair_{number}") for number in range(self.count)]
        taken, clear = (Cat(getattr(pair, name) for pair in pairs) for name in ("taken", "clear"))
        pulses = {"started": self.started, "taken": taken, "done": self.done}
        bits = exact_log2(self.room) + 1
        row_layout = data.StructLayout(dict.fromkeys(_KINDS, bits))
        rows = Memory(shape=row_layout, depth=self.count, init=[])
        read, shown, write = rows.read_port(domain="sync"), rows.read_port(domain="sync"), rows.write_port()
        # Where a completion lies must not be lost.
        m.submodules.rows = coding.in_flip_flops(rows)
        #: The row of the pair has been written since that was cleared.
        known = Signal(self.count)
        busy = Signal()
        pair = Signal.like(self.pair, name="counted_pair")
        steps = {kind: Signal(name=f"counts_{kind}") for kind in _KINDS}
        # Software takes the completion of one pair while the rings take that of another.
        waits = {kind: Signal(self.count, name=f"{kind}_waits") for kind in ("started", "taken")}
        started, leaving = (each.any() for each in waits.values())
        begins = {
            "started": ~busy & started,
            "taken": ~busy & ~started & leaving,
            "done": self.done.any(),
        }
        counted = Signal(self.count, name="counted")
        m.d.comb += [
            self.ready.eq(~busy & ~started & ~leaving),
            counted.eq(Mux(started, waits["started"], Mux(leaving, lowest(waits["taken"]), self.done))),
            read.en.eq(1),
            read.addr.eq(number_of(counted)),
        ]
        m.d.sync += [busy.eq(Cat(begins.values()).any()), pair.eq(read.addr)]
        for kind in _KINDS:
            m.d.sync += steps[kind].eq(begins[kind])
        for kind, each in waits.items():
            m.d.sync += each.eq((each & ~Mux(begins[kind], counted, 0)) | pulses[kind])

        row, new = Signal(row_layout, name="row"), Signal(row_layout, name="new_row")
        mine = Signal(self.count)
        m.d.comb += [
            Value.cast(row).eq(Mux(known.bit_select(pair, 1), Value.cast(read.data), 0)),
            *(new[kind].eq(row[kind] + steps[kind]) for kind in _KINDS),
            write.addr.eq(pair),
            write.data.eq(new),
            write.en.eq(busy),
            mine.eq(Mux(busy, 1 << pair, 0)),
        ]
        m.d.sync += known.eq((known | mine) & ~clear)
        # An event of the same pair that is not counted yet is known already.
        starts, leaves = (each.bit_select(pair, 1) for each in waits.values())
        left = (new.started - new.taken)[:bits]
        for name, value, sets, clears in (
            ("full", left == self.room, 0, clear),
            ("owed", (left != 0) | starts, self.started, clear),
            ("inside", (new.started != new.done) | starts, self.started, clear),
            ("waiting", (new.done != new.taken) & ~leaves, 0, clear | taken),
        ):
            flag = Signal(self.count, name=name)
            m.d.sync += flag.eq((Mux(value, flag | mine, flag & ~mine) | sets) & ~clears)
            m.d.comb += [getattr(pair, name).eq(flag[number]) for number, pair in enumerate(pairs)]
        m.d.comb += [pair.settled.eq(self.ready) for pair in pairs]
        lost = Cat(pair.lost for pair in pairs)
        self._keep(m, coding, pair, row.done[:-1], steps["done"], shown, known, (self.done & lost).any())
        return m

    def _keep(
        self,
        m: Module,
        coding: PlainMemories,
        pair: Signal,
        place: Value,
        writes: Signal,
        shown: wiring.PureInterface,
        known: Signal,
        unsafe: Value,
    ) -> None:
        """Writes a completion, in the second cycle of its event, and reads the oldest one of the pair that is asked for.
        ``unsafe`` is high in the first cycle if it may depend on a lost word."""
        kept = _kept_bits(self.records)
        layout = data.StructLayout({**kept, "interrupt": 1})
        m.submodules.completions = memory = Memory(shape=layout, depth=self.count * self.room, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        asked = Signal.like(self.pair, name="asked_pair")
        lost, lost_read = Signal(name="may_be_lost"), coding.watch(memory)
        m.d.sync += [asked.eq(self.pair), lost.eq(unsafe)]
        place_read = Mux(known.bit_select(asked, 1), shown.data.taken[:-1], 0)
        comes, oldest = _told(m, "kept", self.completion, lost), Signal(Delivered(self.records), name="read")
        for name in kept:
            m.d.comb += [
                write.data[name].eq(comes.completion[name]),
                oldest.completion[name].eq(read.data[name]),
            ]
        m.d.comb += [
            write.addr.eq(Cat(place, pair)),
            write.data.interrupt.eq(comes.interrupt),
            oldest.interrupt.eq(read.data.interrupt),
            write.en.eq(writes),
            shown.addr.eq(self.pair),
            shown.en.eq(1),
            read.addr.eq(Cat(place_read, asked)),
            read.en.eq(1),
            self.oldest.eq(_told(m, "shown", oldest, lost_read)),
        ]


def _kept_bits(records: RecordOptions) -> dict[str, int]:
    """How many bits of each field of a completion are kept. The others are 0, and its phase is found as it is written."""
    most = {
        "bytes_read": records.length_bits,
        "bytes_written": records.length_bits,
        "cycles": 8 * CYCLES_BYTES,
    }
    fields = (field for field in completion_fields(records) if not field.reserved and field.name != "phase")
    return {field.name: min(field.bits, most.get(field.name, field.bits)) for field in fields}


def _told(m: Module, name: str, done: data.View, lost: Value) -> data.View:
    """A completion, which says so if a word is ``lost`` that it depends on."""
    told = Signal(done.shape(), name=name)
    m.d.comb += told.eq(done)
    with m.If(lost):
        m.d.comb += [
            told.completion.status.eq(Status.MEMORY),
            told.completion.address.eq(0),
            told.interrupt.eq(1),
        ]
    return told
