"""Several managers on one port: it keeps the rules of AXI4, and so does what each of them sees."""

from __future__ import annotations

from amaranth.hdl import Assume, Cover, Module
from amaranth.lib import wiring

from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.ports import PortShape

from .axi_port import RULES, legal_manager, legal_subordinate
from .bench import Bench
from .design import any_design, engine_with
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Sharing"]

_DATA_BITS, _ADDRESS_BITS, _BURST = 8, 1, 2
#: The first client has one ID, and the second one, as the rings are, has two.
_IDS = ((0,), (1, 2))
_ID_BITS = 2


def _shape(outstanding: int) -> PortShape:
    """A port of a byte. An arbiter has no buffer, so the beats of one mean nothing."""
    return PortShape(
        word_bits=_DATA_BITS,
        data_bits=_DATA_BITS,
        address_bits=_ADDRESS_BITS,
        burst=_BURST,
        outstanding=outstanding,
        buffer=_BURST,
    )


class Sharing(Bench):
    """Any two legal managers, each with so many bursts ``outstanding``, and any legal subordinate. Whatever the one sees
    of the other is legal again."""

    def __init__(self, arbiter: wiring.Component, outstanding: int) -> None:
        super().__init__()
        self.arbiter = arbiter
        self.outstanding = outstanding
        self.reading = isinstance(arbiter, ReadArbiter)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.arbiter
        kind = "read" if self.reading else "write"
        clients = []
        for number, ids in enumerate(_IDS):
            client = getattr(dut, f"client_{number}")
            clients.append(client)
            legal_manager(
                m,
                _shape(self.outstanding),
                f"client_{number}",
                **{kind: client},
                id_bits=(len(ids) - 1).bit_length(),
            )
            if self.reading:
                # A client takes its data at any time.
                m.d.comb += Assume(client.r.ready)
        legal_subordinate(m, _shape(self.outstanding * len(_IDS)), **{kind: dut.port}, id_bits=_ID_BITS)
        for client in clients:
            answer = client.r if self.reading else client.b
            m.d.comb += Cover(answer.valid & answer.ready & (answer.payload.resp.as_value() == 2))


def _sharing(kind: type[ReadArbiter] | type[WriteArbiter], outstanding: int) -> Proof:
    reading = kind is ReadArbiter
    widths = (_DATA_BITS, _ADDRESS_BITS, _ID_BITS) if reading else (_DATA_BITS, _ADDRESS_BITS, 8, _ID_BITS)
    return Proof(
        name=f"{'read' if reading else 'write'}_arbiter",
        config=f"2 clients, {outstanding} {'burst' if outstanding == 1 else 'bursts'} each",
        claim="of any legal managers and any legal subordinate, what each sees of the other is legal AXI4 again",
        blocks=(kind,),
        built_so=any_design if reading else engine_with(options=True, realign=True, units=True),
        bench=lambda: Sharing(kind(_IDS, *widths), outstanding),
        rules=(RULES,),
        prepare=REDUCED,
        quick=False,
    )


PROOFS = [_sharing(ReadArbiter, 2), _sharing(WriteArbiter, 1)]
