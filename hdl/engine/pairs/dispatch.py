"""Whose descriptor a channel takes next, and whose completion it gives."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.engine.channel.interfaces import ChannelControl, Delivered, ExtensionPort, Request
from cdma.hdl.engine.control.interfaces import SharesSignature
from cdma.hdl.engine.rings.store import RequestPort
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import LIMIT_BITS, PERIOD_BITS, TURN_LOG2, UNIT_LOG2
from cdma.hdl.spec.records import LENGTH_BITS, Mode, Status, descriptor_fields

from .accounts import Accounts
from .sharing import Flight, PairClient, Shares

#: What says whose descriptors a pair carries out.
_OF_OWNERS = ("owner_value", "owner_mask")
#: Bits of the units that a descriptor costs.
_COST_BITS = LENGTH_BITS - UNIT_LOG2 + 1


class Dispatch(wiring.Component):
    """Lets descriptors of several pairs start on one channel, each when its pair's turn comes and its limit allows it, and
    gives each completion to the pair that it belongs to: they come in the order in which descriptors have started.

    A descriptor that needs a pair's table waits, if the table in use is another one's, until nothing is in flight. A pair
    that drops what it has started has the channel aborted once the oldest descriptor in flight is one of its own. What
    others have behind that starts again.

    ``pair_0``, …: The pairs.
    ``store``: Where the descriptors are.
    ``shares``: What software says of their turns and limits.
    ``requests``, ``checking``, ``done``, ``pair``, ``values``: The channel's.
    ``number``: The pair whose descriptor is at the channel.
    ``owner_value``, ``owner_mask``, ``abort``, ``aborting``: As well.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.count = config.channels
        super().__init__(
            {
                **{f"pair_{number}": In(PairClient(config)) for number in range(self.count)},
                "store": Out(RequestPort(config)),
                "shares": In(SharesSignature(config)),
                "requests": Out(stream.Signature(Request(config.records))),
                "checking": In(1),
                **ExtensionPort(config.records).members,
                "done": In(stream.Signature(Delivered(config.records))),
                "pair": Out(config.records.pair_bits),
                "number": Out(range(self.count)),
                **{
                    name: member
                    for name, member in ChannelControl(config).members.items()
                    if name in ("values", *_OF_OWNERS)
                },
                "abort": Out(1),
                "aborting": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pairs = [getattr(self, f"pair_{number}") for number in range(self.count)]
        in_flight = 2 * self.config.descriptors
        coding = coding_of(platform)
        m.submodules.shares = shares = Shares(self.count, _COST_BITS)
        accounts = self._keep_accounts(m, coding)
        wiring.connect(m, shares.turns, accounts.turns)
        order = Fifo(self.count, in_flight)
        # Whose completion comes next must not be lost.
        m.submodules.order = coding.in_flip_flops(order)
        m.submodules.flight = flight = Flight(self.config.records, self.count, in_flight)
        offers = Cat(pair.offers for pair in pairs)
        #: Whose descriptor is at the channel.
        who = Signal(self.count)
        #: Descriptors that start again go first.
        repeats = Signal()
        aborted = Signal()
        m.d.sync += aborted.eq(self.aborting)
        m.d.comb += [
            repeats.eq(self.aborting | aborted | flight.owed),
            flight.restart.eq(aborted & ~self.aborting),
            shares.asks.eq(offers & ~accounts.limited),
            shares.levels.eq(self.shares.levels),
        ]
        may_start = (shares.choice & offers).any() & ~repeats
        offered = may_start & self.store.shown
        fits = Signal()
        #: The channel has taken the descriptor, in the cycle before.
        taken = Signal()
        m.d.sync += taken.eq(self.requests.valid & self.requests.ready)
        waits = Signal(range(self._offers + 1))
        with m.If(waits.any()):
            m.d.sync += waits.eq(waits - 1)
        with m.FSM() as fsm:
            with m.State("look"):
                m.d.comb += shares.look.eq(~repeats & ~flight.full & ~waits.any() & accounts.turns.settled)
                with m.If(flight.again & ~self.aborting):
                    m.d.sync += who.eq(flight.shown.owner)
                    m.next = "again"
                with m.Elif(shares.look):
                    m.next = "chosen"
            with m.State("chosen"):
                m.d.sync += who.eq(shares.choice)
                m.next = "look"
                with m.If(shares.choice.any()):
                    m.next = "read"
            with m.State("read"):
                m.d.comb += flight.put.eq(offered)
                with m.If(~may_start):
                    m.next = "given"
                with m.Elif(self.store.shown):
                    m.next = "show"
                    if self.config.dimensions:
                        request = flight.new.request
                        with m.If(request.descriptor.shaped & (request.fault == Status.OK)):
                            m.next = "extend"
            if self.config.dimensions:
                with m.State("extend"):
                    m.d.comb += flight.extends.eq(self.store.extended)
                    with m.If(self.store.extended | ~offered):
                        m.next = "show"
            # One whose descriptor goes away has had its turn.
            with m.State("show"):
                m.next = "give"
                with m.If(~offered):
                    m.next = "given"
            with m.State("give"):
                # What the checker has begun with stays, although its pair lets no more start.
                m.d.comb += self.requests.valid.eq(self.checking | (offered & fits))
                with m.If(self.requests.ready | ~(self.checking | offered)):
                    m.next = "given"
            with m.State("given"):
                m.d.comb += [shares.charge.eq(1), flight.add.eq(taken)]
                m.d.sync += waits.eq(Mux(taken, self._offers, 0))
                m.next = "look"
            with m.State("again"):
                m.d.comb += self.requests.valid.eq(fits & ~self.aborting)
                with m.If(self.requests.ready | self.aborting):
                    m.next = "repeated"
            with m.State("repeated"):
                m.d.comb += flight.taken.eq(taken)
                m.next = "look"
        gives, given = fsm.ongoing("give"), fsm.ongoing("given")
        # In flight a request has both its halves.
        m.d.comb += self.extended.eq(self.wants_extension)
        #: What the descriptor at the channel says is lost: it is refused, and costs and needs nothing.
        lost = flight.shown.request.fault == Status.MEMORY if coding.coded else C(0)
        idle = order.empty & (gives | fsm.ongoing("again"))
        tables = flight.shown.request.descriptor.mode == Mode.FVC
        broken = self._load_table(m, coding, tables, idle, fits, lost)
        m.d.comb += self.requests.payload.eq(flight.shown.request)
        with m.If(broken):
            m.d.comb += self.requests.payload.fault.eq(Status.MEMORY)
        m.d.comb += [
            self.number.eq(self._of(who, [C(number) for number in range(self.count)])),
            self.pair.eq(self.number),
            flight.new.request.eq(self._offered()),
            flight.new.owner.eq(shares.choice),
            order.input.valid.eq(taken),
            order.input.payload.eq(who),
        ]
        with m.If(gives | fsm.ongoing("show")):
            m.d.sync += shares.cost.eq(Mux(self.requests.ready & ~lost, self._cost(), 1))
        for name in _OF_OWNERS if self.config.records.owner_bits else ():
            m.d.comb += getattr(self, name).eq(self._of(who, [getattr(pair, name) for pair in pairs]))
        store, extends = self.store, fsm.ongoing("extend") if self.config.dimensions else C(0)
        m.d.comb += [
            store.reads.eq(fsm.ongoing("read") | extends | fsm.ongoing("show") | gives | given),
            store.chosen.eq(shares.choice),
            store.checking.eq((gives & self.checking) | (given & taken)),
            store.taken.eq(given & taken),
            store.wants_extension.eq(extends),
        ]
        for number, pair in enumerate(pairs):
            mine = shares.choice[number]
            m.d.comb += [pair.started.eq(mine & store.taken), pair.checking.eq(mine & store.checking)]
        self._complete(m, pairs, order, flight)
        return m

    @property
    def _offers(self) -> int:
        """Cycles in which a pair whose descriptor is taken offers its next one, if that is there."""
        return 3 if self.config.dimensions else 2

    def _of(self, who: Value, values: list[Value]) -> Value:
        """The value of one of the pairs."""
        return one_of(*((who[number], Value.cast(value)) for number, value in enumerate(values)))

    def _offered(self) -> Value:
        """The request of the pair that was chosen; of each reserved field one bit says whether any is set."""
        request = self.store.request
        descriptor = request.descriptor
        fields = [
            (Value.cast(descriptor[field.name]), field) for field in descriptor_fields(self.config.records)
        ]
        return Cat(
            *(Cat(bits.any(), C(0, len(bits) - 1)) if field.reserved else bits for bits, field in fields),
            Value.cast(request)[len(Value.cast(descriptor)) :],
        )

    def _cost(self) -> Value:
        """The units of the descriptor at the channel: whole ones, and at least one."""
        length = self.requests.payload.descriptor.length[:LENGTH_BITS]
        whole = length[UNIT_LOG2:]
        return whole + (length[:UNIT_LOG2].any() | ~whole.any())

    def _load_table(
        self, m: Module, coding: PlainMemories, needed: Value, idle: Value, fits: Signal, lost: Value
    ) -> Value:
        """Keeps a pair's table for the channel, and changes it only while that is ``idle`` and a descriptor is at it; drives
        ``fits`` with whether that can do with the table, which may be ``needed``; gives whether a word of it is lost."""
        if not self.config.codec.table_size:
            m.d.comb += fits.eq(1)
            return C(0)
        entry = Pace(m, self.config).late(self.shares.entry, "entry", reset=True)
        row, bits = Cat(entry.place, entry.pair), len(entry.data)
        m.submodules.tables = tables = Memory(shape=bits, depth=1 << len(row), init=[])
        write, read = tables.write_port(granularity=min(8, bits)), tables.read_port(domain="sync")
        owner = Signal.like(self.number)
        known, reads, comes, broken = (Signal(name=name) for name in ("known", "reads", "comes", "broken"))
        #: An entry of the table that is kept was written in the cycle before: that comes late.
        changed = Signal(name="table_changed")
        #: The entry that is read, and the one that was read in the cycle before.
        place, before = (Signal.like(entry.place, name=name) for name in ("place", "place_before"))
        entries = Signal.like(self.values, name="entries", reset_less=True)
        last = self.config.codec.table_size - 1
        m.d.comb += [
            fits.eq(~needed | (known & (owner == self.number)) | lost),
            self.values.eq(entries),
            write.addr.eq(row),
            write.data.eq(entry.data),
            write.en.eq(entry.enable),
            read.addr.eq(Cat(place, owner)),
            read.en.eq(reads),
        ]
        m.d.sync += [
            comes.eq(reads),
            before.eq(place),
            changed.eq(entry.enable.any() & (entry.pair == owner)),
        ]
        with m.If(~fits & idle & ~self.checking & ~reads & ~comes):
            m.d.sync += [owner.eq(self.number), known.eq(0), broken.eq(0), place.eq(0), reads.eq(1)]
        with m.If(reads):
            m.d.sync += [place.eq(place + 1), reads.eq(place != last)]
        with m.If(comes):
            m.d.sync += [
                entries[before].eq(read.data),
                broken.eq(broken | coding.watch(tables)),
                known.eq(before == last),
            ]
        with m.If(changed):
            m.d.sync += [known.eq(0), reads.eq(0), comes.eq(0)]
        return broken & known & needed if coding.coded else C(0)

    def _keep_accounts(self, m: Module, coding: PlainMemories) -> Accounts:
        """The accounts of the pairs, with what software says of them."""
        m.submodules.accounts = accounts = Accounts(self.count, _COST_BITS, step_log2=TURN_LOG2)
        term = Pace(m, self.config).late(self.shares.term, "term", reset=True)
        m.submodules.terms = terms = Memory(shape=LIMIT_BITS, depth=1 << len(term.row), init=[])
        write, read = terms.write_port(granularity=8), terms.read_port(domain="sync")
        # The last cycle of a period is known in the cycle before, and it is counted two ahead.
        over = Signal(init=1)
        cycle = Signal(PERIOD_BITS, init=2)
        m.d.sync += [over.eq(cycle >= self.shares.period), cycle.eq(cycle + 1)]
        with m.If(over):
            m.d.sync += [over.eq(self.shares.period <= 1), cycle.eq(2)]
        m.d.comb += [
            write.addr.eq(term.row),
            write.data.eq(term.data),
            write.en.eq(term.enable),
            read.addr.eq(accounts.row),
            read.en.eq(1),
            accounts.term.eq(coding.guarded(terms, read.data)),
            accounts.changed.eq(term.enable.any()),
            accounts.over.eq(over),
        ]
        return accounts

    def _complete(self, m: Module, pairs: list[wiring.PureInterface], order: Fifo, flight: Flight) -> None:
        """Gives each completion to its pair, but for those of descriptors that start again."""
        owner = order.output
        drops = (owner.payload & Cat(pair.drops for pair in pairs)).any()
        passes = Signal()
        m.d.comb += [
            self.abort.eq(owner.valid & drops & ~self.aborting),
            passes.eq(owner.valid & flight.known & self.done.valid),
            self.done.ready.eq(passes),
            owner.ready.eq(passes),
            flight.done.eq(passes),
            flight.delivered.eq((self.done.payload.completion.status != Status.ABORTED) | drops),
        ]
        for number, pair in enumerate(pairs):
            m.d.comb += [
                pair.done.valid.eq(passes & flight.delivered & owner.payload[number]),
                pair.done.payload.eq(self.done.payload),
            ]
