"""What no output of a design depends on is not in its text."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port
from cdma.hdl.verilog.shell import Shell

_PAIR = data.StructLayout({"low": 1, "high": 1})


class _Store(wiring.Component):
    """A word of two fields in a memory, of which the parents read one."""

    def __init__(self) -> None:
        super().__init__({"word": In(_PAIR), "stored": Out(_PAIR)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=_PAIR, depth=2, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [write.en.eq(1), write.data.eq(self.word), self.stored.eq(read.data)]
        return m


class _Parent(wiring.Component):
    def __init__(self, mask: int) -> None:
        self.mask = mask
        super().__init__({"word": In(2), "low": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.kept = kept = _Store()
        m.d.comb += [kept.word.as_value().eq(self.word ^ self.mask), self.low.eq(kept.stored.low)]
        return m


class _Parents(Shell):
    """Two that share the module of their submodules, which stands before theirs."""

    def __init__(self) -> None:
        super().__init__((*CLOCK_AND_RESET, Port("word", "input", 2), Port("low", "output")))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        parents = _Parent(0), _Parent(1)
        m.submodules.some, m.submodules.other = parents
        m.d.comb += [parent.word.eq(self.port("word")) for parent in parents]
        m.d.comb += self.port("low").eq(parents[0].low ^ parents[1].low)
        return m


def test_an_unread_half_of_a_word_is_no_port() -> None:
    text = emit(_Parents(), "top").text
    assert text.index("module top_kept (") < text.index("module top_other (")
    assert ".stored_low(" in text
    assert "stored_high(" not in text
