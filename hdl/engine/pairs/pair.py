"""A queue pair: how its registers and its rings connect to what drives the channels."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import port_members
from cdma.hdl.blocks.clocks import Clocking
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.quiescence import CONTROL, soft_reset
from cdma.hdl.engine.rings.messages import Messages
from cdma.hdl.engine.user import ChannelUsers, connect_with_user, host_ports, ring_user
from cdma.hdl.spec.engine import EngineConfig

#: Where memories are that both channels of the pair depend on.
OWN = "own"


def pair_members(config: EngineConfig, pairs: int) -> dict[str, wiring.Member]:
    """What so many pairs have for the rest of an engine.

    ``working``, ``pending``: In an engine with a Q-channel: something of a pair is in flight, and a descriptor waits in
        a ring.
    ``word_corrected``, ``word_lost``: In an engine with coded memories: pulses for wrong words that are found
        elsewhere.
    ``messages``: The AXI4 ports of the messages of each pair, if any, with the number of a channel as ID.
    ``offload_users``, ``prefetch_users``: What the registers of each pair say of the addresses of a channel.
    """
    return {
        **optional(config.msi, messages=port_members(host_ports(config, 1)[1], pairs)),
        **{f"{name}_users": Out(data.ArrayLayout(ChannelUsers(config), pairs)) for name in CHANNELS},
        **optional(config.coded_memories, word_corrected=In(1), word_lost=In(1)),
        **optional(config.quiescence, working=Out(1), pending=Out(1)),
    }


class Parts(NamedTuple):
    """The parts of the pair, what it has of registers and rings, what is written into the memory of registers, and the
    codings of their memories."""

    control: wiring.PureInterface
    link: wiring.PureInterface
    changes: data.View
    memories: CodedParts


class Way(NamedTuple):
    """What a direction of the pair is told of the data path.

    ``extra_error``: Pulse: a completion becomes an error after it was counted.
    ``busy``, ``halted``, ``aborting``, ``stuck``: Those of a :data:`~cdma.hdl.engine.channel.interfaces.ChannelStatus`.
    ``rests``: Nothing of the pair is in the data path, and nothing comes there while ``resetting`` is high.
    """

    extra_error: Value
    busy: Value
    halted: Value
    aborting: Value
    stuck: Value
    rests: Value


class Pair(wiring.Component):
    """What software has of an engine, without the data path: with the members of :func:`pair_members`, and those of a pair
    that is alone or of one of several.

    ``active``: With gates of clocks: the clock of the registers is to run.
    """

    active: Signal

    def __init__(self, config: EngineConfig, clocking: Clocking, members: dict[str, wiring.Member]) -> None:
        self.config = config
        self.clocking = clocking
        super().__init__(pair_members(config, 1) | members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clear = Signal(name="pair_restart")
        parts = Parts(*self._shared(m, clear), CodedParts(coding_of(platform)))
        control, link, changes, memories = parts
        interrupts, waiting = self._coalesced(m, parts, clear)
        for name in CHANNELS:
            ChannelUsers(config).drive(m, getattr(self, f"{name}_users")[0], getattr(control, name))
        m.d.comb += [
            link.stop.eq(control.resetting),
            link.clear.eq(clear),
        ]
        counting = self._counting(m, parts, clear)
        rests = [self._direction(m, index, parts, counting[index], clear) for index in range(len(CHANNELS))]
        # Statements after those that connect all of the registers with the rings.
        m.d.comb += [
            half.completion_irq.eq(interrupt)
            for half, interrupt in zip(self._halves(control), interrupts, strict=True)
        ]
        messaging = self._add_messages(m, parts, changes, clear) if config.msi else C(0)
        if config.clock_gates:
            m.d.comb += self.active.eq(self._runs(parts, messaging))
        if memories.coding.coded:
            self._tell_losses(m, parts)
        if config.quiescence:
            busy = [half.status.busy | half.status.aborting for half in self._halves(control)]
            m.d.comb += [
                self.working.eq(Cat(*busy, control.resetting, waiting, messaging).any()),
                self.pending.eq(link.pending),
            ]
        # Nothing begins while ``resetting`` is high, so what has stopped stays so.
        soft_reset(
            m, control, link.stopped & ~messaging & Cat(rests).all(), clear, staged=self.clocking.staged
        )
        return m

    def _shared(
        self, m: Module, clear: Signal
    ) -> tuple[wiring.PureInterface, wiring.PureInterface, data.View]:
        """What the pair has of registers and rings."""
        raise NotImplementedError

    def _coalesced(self, m: Module, parts: Parts, clear: Signal) -> tuple[Value, Value]:
        """The interrupts of completions, and whether one is to come."""
        raise NotImplementedError

    def _counting(self, m: Module, parts: Parts, clear: Signal) -> list[wiring.PureInterface]:
        """The counters of each direction."""
        raise NotImplementedError

    def _way(self, m: Module, index: int, parts: Parts, counting: wiring.PureInterface, clear: Signal) -> Way:
        """Connects a direction with the data path."""
        raise NotImplementedError

    def _answers(self) -> list[Value]:
        """What the clock of the registers must run for, besides what every pair has."""
        return []

    def _found(self) -> tuple[Value, Value]:
        """Whether a wrong word was corrected, and whether one is lost, that is found elsewhere."""
        return self.word_corrected, self.word_lost

    def _loses(self, parts: Parts) -> Value:
        """A word is lost that both directions depend on."""
        own = parts.memories.groups[OWN].loses() if OWN in parts.memories.groups else C(0)
        return own | parts.link.loses | parts.control.register_lost

    def _halves(self, control: wiring.PureInterface) -> list[wiring.PureInterface]:
        return [getattr(control, name) for name in CHANNELS]

    def _add_messages(self, m: Module, parts: Parts, changes: data.View, clear: Signal) -> Value:
        """What writes messages; gives whether it has anything to do."""
        messages = Messages(self.config)
        built = parts.memories.built(OWN, messages)
        cleared = self.clocking.cleared(m, "messages", built, clear)
        m.submodules.messages = self.clocking.beside(CONTROL, cleared)
        users = [getattr(self, f"{name}_users")[0] for name in CHANNELS]
        connect_with_user(m, messages.port, self.messages, ring_user(users))
        control = parts.control
        for name, half in zip(CHANNELS, self._halves(control), strict=True):
            wiring.connect(m, half.message, getattr(messages, name))
        m.d.comb += [messages.changes.eq(changes), messages.stop.eq(control.resetting)]
        return messages.busy

    def _runs(self, parts: Parts, messaging: Value) -> Value:
        """Whether the clock of the registers is to run."""
        control = parts.control
        answers = [messaging, *self._answers()]
        if self.config.msi:
            answers.append(self.messages.b.valid)
        if self.config.coded_memories:
            answers += [control.word_corrected, control.word_lost]
        return Cat(
            *(
                half.status.busy | half.status.aborting | half.completion_irq
                for half in self._halves(control)
            ),
            *(getattr(parts.link, name).waiting for name in CHANNELS),
            *answers,
            control.resetting,
            control.soft_reset,
        ).any()

    def _tell_losses(self, m: Module, parts: Parts) -> None:
        """Words that are found wrong here and elsewhere are counted; a register that is lost concerns the rings."""
        control, found, (corrected, lost) = parts.control, parts.memories.found(), self._found()
        m.d.comb += [
            parts.link.register_lost.eq(control.register_lost),
            control.word_corrected.eq(found.corrected | corrected),
            control.word_lost.eq(found.lost | lost),
        ]

    def _direction(
        self, m: Module, index: int, parts: Parts, counting: wiring.PureInterface, clear: Signal
    ) -> Value:
        """Connects one direction to its registers, its rings, its windows and its counters; whether nothing of it is in the
        data path."""
        name, link, control = CHANNELS[index], parts.link, parts.control
        half, client = getattr(control, name), getattr(link, name)
        way = self._way(m, index, parts, counting, clear)
        wiring.connect(m, half, getattr(link, f"{name}_control"))
        m.d.comb += [
            counting.extra_error.eq(client.extra_error | way.extra_error),
            counting.hold.eq(half.hold_counters),
            half.counters_held.eq(counting.held),
            client.aborting.eq(way.aborting),
            half.status.busy.eq(way.busy | link.busy[index]),
            half.status.halted.eq(way.halted),
            half.status.aborting.eq(way.aborting | client.settling),
            half.status.stuck.eq(way.stuck | link.stuck[index]),
        ]
        return way.rests
