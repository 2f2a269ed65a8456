"""Turns of reads and writes at a memory port: one direction at a time, in groups, and neither waits for ever."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Signal

from cdma.hdl.axi.arbiter import ReadArbiter
from cdma.hdl.axi.turns import BurstTurns
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, last_cycle, obey
from .proof import Proof

_MOST, _GROUP = 3, 2
#: A burst that is taken ends within so many cycles, and an address that may pass is taken within as many.
_PATIENCE = 2
#: What was in flight ends, the other direction's group is taken and ends, one after another, and the own address is taken;
#: two turns.
_LONGEST = (_MOST + 2 * _GROUP + 1) * (_PATIENCE + 1) + 3


class InTurns(Bench):
    """Two directions that want to pass, and pass, at any time; data and a ring are who reads.

    Ghost state: how many bursts of each direction are in flight, and how long the oldest of them; how long a direction,
    and the ring, has waited.
    """

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = BurstTurns(_MOST)
        m.d.comb += dut.group.eq(_GROUP)
        in_flight = {}
        for way, passes in (("read", dut.reads), ("write", dut.writes)):
            waits, taken, ended = (getattr(dut, f"{way}_{name}") for name in ("waits", "taken", "ended"))
            for signal in (taken, ended) if way == "read" else (waits, taken, ended):
                free(m, signal.name, signal)
            count = in_flight[way] = Signal(range(_MOST + 1), name=f"{way}_count")
            age, offered, waited = (Signal(8, name=f"{way}_{name}") for name in ("age", "offered", "waited"))
            m.d.sync += [
                count.eq(count + taken - ended),
                age.eq(age + 1),
                offered.eq(offered + 1),
                waited.eq(waited + 1),
            ]
            with m.If(ended | (count == 0)):
                m.d.sync += age.eq(0)
            with m.If(taken | ~(waits & passes)):
                m.d.sync += offered.eq(0)
            with m.If(taken | ~waits):
                m.d.sync += waited.eq(0)
            was_offered = last_cycle(m, waits & passes & ~taken, f"{way}_was_offered")
            waited_before = last_cycle(m, waits & ~taken, f"{way}_waited_before")
            m.d.comb += [
                Assume(~taken | (waits & passes & (count != _MOST))),
                Assume(~ended | (count != 0)),
                (Assert if way == "read" else Assume)(~waited_before | waits),
                Assume(age <= _PATIENCE),
                Assume((offered <= _PATIENCE) | (count == _MOST)),
                Assert(~was_offered | passes),
                Assert(waited <= _LONGEST),
                Cover(taken & (waited == _PATIENCE + 4)),
            ]
        m.d.comb += Assert((in_flight["read"] == 0) | (in_flight["write"] == 0))
        self._read(m, dut)

    def _read(self, m: Module, dut: BurstTurns) -> None:
        """Two managers that want to read at any time, behind an arbiter."""
        m.submodules.arbiter = arbiter = ReadArbiter(((0,), (1,)), 8, 1, 1)
        for client in (arbiter.client_0, arbiter.client_1):
            obey(m, client.ar, f"client_{'ring' if client is arbiter.client_1 else 'data'}")
        ring, waited = arbiter.client_1.ar, Signal(8, name="ring_waited")
        m.d.comb += [
            dut.read_waits.eq(arbiter.port.ar.valid),
            arbiter.port.ar.ready.eq(dut.read_taken),
            Assert(waited <= 2 * _LONGEST + 1),
            Cover(ring.ready & (waited == _LONGEST // 2)),
        ]
        with m.If(ring.ready | ~ring.valid):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)


PROOFS = [
    Proof(
        name="turns",
        config=f"groups of {_GROUP}, {_MOST} in flight, 2 clients that read",
        claim="reads and writes of a port with groups are never in flight at once, an address that is offered stays "
        "so, a direction waits at most for the other's group and what that has in flight, and a ring that reads for one "
        "burst of data besides",
        blocks=(BurstTurns,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.group_bursts > 0,
        bench=InTurns,
        cover=30,
    ),
]
