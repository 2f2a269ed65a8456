"""What the emitted Verilog promises: ports, names, reproducibility, initial values."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.codec.generate import codec_verilog
from cdma.hdl.engine.generate import engine_verilog
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.emit import emit, purpose_of
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell

_SMALL = CodecConfig(Format(8, 8, 1), lanes=2)
_PIPELINED = replace(_SMALL, pipelined=True)

verilog = cache(codec_verilog)


def _words(text: str) -> list[str]:
    code = re.sub(r"//.*", "", text)
    return re.findall(r"\\?(?<![$\w])[A-Za-z_][\w$]*", code)


def _modules(text: str) -> list[str]:
    return re.findall(r"^module (\S+)", text, flags=re.MULTILINE)


def test_names_are_plain_and_start_as_asked() -> None:
    kind = "decompressor"
    text = verilog(kind, _SMALL, name="mine")
    assert not [word for word in _words(text) if "$" in word]
    assert _modules(text)[0] == "mine"
    assert all(name.startswith("mine_") for name in _modules(text)[1:])
    assert len(set(_modules(text))) == len(_modules(text)) > 1
    text = verilog(kind, _SMALL, name="mine", prefix="soc__dma")
    assert _modules(text)[0] == "mine"
    assert all(name.startswith("soc__dma") for name in _modules(text)[1:])


def test_signals_are_fields_not_slices_of_payloads() -> None:
    text = verilog("compressor", _SMALL)
    assert "payload" not in text
    assert {"input_data", "input_keep", "input_last", "report_literals"} <= set(_words(text))


def test_header_says_what_it_is() -> None:
    comment = verilog("compressor", _SMALL, init=False).partition("module ")[0]
    for line in ("lanes +2", "word bits +8", "window +8", "values +0x0", "initial values +no", "amaranth 0"):
        assert re.search(line, comment), line
    assert "pipelined" not in comment
    assert re.search("pipelined +yes", verilog("compressor", _PIPELINED).partition("module ")[0])
    assert "BSD-2-Clause" in comment


@pytest.mark.slow
def test_the_same_on_every_run_and_without_paths() -> None:
    program = (
        "from cdma.hdl.spec.codec import CodecConfig; from cdma.hdl.spec.format import Format;"
        "from cdma.hdl.codec.generate import codec_design, codec_verilog;"
        "print(codec_verilog('decompressor', CodecConfig(Format(8, 8, 1), lanes=2)), end='')"
    )
    texts = set()
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        texts.add(
            subprocess.run([sys.executable, "-c", program], env=environment, stdout=-1, check=True).stdout
        )
    assert texts == {verilog("decompressor", _SMALL).encode()}
    text = re.sub(r"// Source: cdma/hdl/[\w/]+\.py, ", "", verilog("decompressor", _SMALL))
    assert os.getcwd() not in text
    assert not re.search(r"/(home|root|usr|tmp|work)\b|\.py\b", text)


@pytest.mark.parametrize(("kind", "config"), [("compressor", _PIPELINED), ("decompressor", _SMALL)])
def test_no_initial_values(kind: str, config: CodecConfig) -> None:
    declaration = re.compile(r"\breg\b[^;,\n]*=|\binitial\b(?! values)")
    assert declaration.search(verilog(kind, config))
    assert not declaration.search(verilog(kind, config, init=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda **names: codec_verilog("compressor", _SMALL, **names),
        lambda **names: engine_verilog(EngineConfig(), **names),
    ],
    ids=["codec", "engine"],
)
def test_illegal_names_are_refused(make: Callable[..., str]) -> None:
    with pytest.raises(ParameterError, match=r"^name is 'table', which is a reserved word"):
        make(name="table")
    with pytest.raises(ParameterError, match=r"^prefix is '1_'; it must be "):
        make(prefix="1_")


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^kind is 'zip'; it must be one of compressor, decompressor$"):
        codec_verilog("zip", _SMALL)


class _Awkward(Shell):
    """Signals whose names Verilog does not allow, structures, a memory, and two names that become one."""

    def __init__(self, written: bool) -> None:
        self.written = written
        super().__init__(
            [*CLOCK_AND_RESET, Port("a", "input", 8), Port("z", "output", 8), Port("y", "output", 8)]
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        reserved = Signal(8, name="always")
        odd = Signal(8, name="x.y")
        twin = Signal(8, name="x_y")
        pair = Signal(data.StructLayout({"low": 4, "high": data.StructLayout({"a": 1, "b": 3})}), name="pair")
        m.d.sync += [reserved.eq(self.a), odd.eq(reserved + 1), twin.eq(odd ^ reserved)]
        m.d.sync += [pair.low.eq(twin[4:]), pair.high.b.eq(pair.high.a + twin)]
        m.submodules.store = store = Memory(shape=8, depth=4, init=[1, 2, 3, 4])
        read = store.read_port()
        m.d.comb += [read.addr.eq(self.a), read.en.eq(1), self.y.eq(read.data)]
        if self.written:
            write = store.write_port()
            m.d.comb += [write.addr.eq(self.a[2:]), write.data.eq(twin + 1), write.en.eq(self.a[0])]
        m.d.comb += self.z.eq(pair.as_value() ^ self.a)
        return m


def test_any_signal_gets_a_legal_name() -> None:
    text = emit(_Awkward(written=True), "odd").text
    assert "\\" not in text
    assert {"always_", "x_y", "x_y_2", "pair_low", "pair_high_b"} <= set(_words(text))
    assert not re.search(r"reg \[7:0\] always\b", text)


def test_a_table_needs_its_initial_values() -> None:
    assert "initial" in emit(_Awkward(written=False), "odd").text
    with pytest.raises(CdmaError, match="has a memory that is only read; it needs its initial values"):
        emit(_Awkward(written=False), "odd", init=False)
    assert "initial begin" not in emit(_Awkward(written=True), "odd", init=False).text


def test_a_purpose_is_found_by_the_end_of_the_path() -> None:
    purposes = {r"store(\.memory)?": "first", r"\w+": "second"}
    assert purpose_of("engine.reader.store.memory", purposes) == "first"
    assert purpose_of("engine.reader.store.memory.coded_34", purposes) == "first"
    assert purpose_of("engine.restore", purposes) == "second"
    assert purpose_of("memory", {"store": "first"}) == ""
