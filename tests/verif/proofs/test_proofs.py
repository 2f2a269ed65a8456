"""Which proofs there are, and which say something of a design. Printed Verilog that is broken on purpose: the rules at
its ports and the comparison with its source find it. The free Yosys reads every file of rules, and finds assertions
and assumptions in it, which parameters exchange. The serial decoder that decompressors are proven against, held
against the numpy model. The short set of proofs: every one holds, and every one would not if the block were broken
(``test_broken.py``).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module, Mux, Signal, Value

import cdma.verif.proofs
from cdma.base.errors import ParameterError
from cdma.base.yosys import find_yosys
from cdma.hdl.codec.generate import codec_ports, codec_shell, codec_verilog
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import EXPONENTS, Format
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.sim.codec.model import compress_words
from cdma.verif import proofs
from cdma.verif.engine.design import SMALL
from cdma.verif.proofs import proof as choice
from cdma.verif.proofs.codec import Reader, step
from cdma.verif.proofs.equivalence import Whole
from cdma.verif.proofs.printed import _MAP, LITE_RULES, STREAM_RULES, CodecPorts, LitePort
from cdma.verif.proofs.proof import (
    FAILED,
    HOLDS,
    METHODS,
    OWN,
    Claim,
    Config,
    Proof,
    Result,
    all_proofs,
    blocks_in,
    choose,
    exact_proofs,
    smaller_proofs,
)
from cdma.verif.proofs.runner import run_proof
from tests.support.simulate import simulate
from tests.support.thorough import cases_of
from tests.support.verilog_designs import wrapped


def test_the_list() -> None:
    found = all_proofs()
    assert {proof.method for proof in found} <= set(METHODS)
    assert len({proof.label for proof in found}) == len(found)
    claims = {(proof.name, proof.claim) for proof in found}
    assert len(claims) == len({name for name, _ in claims}), "one claim for all proofs of a name"
    assert [proof.label for proof in found if proof.method in ("induction", "bmc") and not proof.depth] == []


def test_a_new_proof_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'from cdma.verif.proofs.proof import Proof\nPROOFS = [Proof(name="mine", config="", claim="", bench=None)]\n'
    (tmp_path / "mine.py").write_text(text)
    monkeypatch.setattr(proofs, "__path__", [*proofs.__path__, str(tmp_path)])
    monkeypatch.setattr(choice, "_folder", proofs.__path__)
    all_proofs.cache_clear()
    try:
        assert [proof.name for proof in choose(["mine"])] == ["mine"]
    finally:
        all_proofs.cache_clear()


def test_names() -> None:
    assert {proof.name for proof in choose(["butterfly"])} == {"butterfly_concentrate", "butterfly_expand"}
    assert {proof.name for proof in choose(["fifo", "skid_buffer"])} == {"fifo", "skid_buffer"}
    assert choose([]) == list(all_proofs())
    with pytest.raises(ParameterError, match="there is no proof 'fido'; did you mean fifo"):
        choose(["fido"])


def _names(proofs: list[Claim]) -> set[str]:
    return {proof.name for proof in proofs}


def _configs(proofs: list[Claim], name: str) -> set[str]:
    return {proof.config for proof in proofs if proof.name == name}


def test_a_design_has_proofs_of_its_very_configuration() -> None:
    own = {proof.name: proof for proof in exact_proofs("compressor", CodecConfig())}
    assert set(own) == {"butterfly_concentrate", "compressor_ports", "compressor_verilog"}
    assert own["butterfly_concentrate"].config == "8 lanes"
    assert own["compressor_ports"].config == own["compressor_verilog"].config == OWN
    pipelined = exact_proofs("decompressor", CodecConfig(pipelined=True))
    assert _names(pipelined) == {"butterfly_expand", "decompressor_ports", "decompressor_modules"}
    stages = {block: _names(exact_proofs(block, StageConfig())) for block in STAGES}
    assert stages["quantiser"] == {"quantised_bound", "quantiser_verilog"}
    assert stages["dequantiser"] == {"restored_exact", "dequantiser_verilog"}
    lossy = EngineConfig(Format(8), lanes=32, lossy="fp32")
    assert _names(exact_proofs("engine", lossy)) >= {"quantised_bound", "restored_exact", "engine_modules"}


#: What is proven of blocks that are in every engine, as they are there without options.
_EVERY = {"fifo", "wide_counter", "axi_reader", "axi_writer", "checker_rests", "checker_decides"}
_EVERY |= {"slots", "completer", "channel", "window_store", "packer", "decompressor"}
#: And in every one with registers and rings.
_WITH_REGISTERS = {
    "read_arbiter", "write_arbiter", "rings", "ring_slot", "registers_port", "skid_buffer", "window_lock",
}  # fmt: skip


def test_a_codec_is_told_what_is_proven_of_its_blocks_and_no_more() -> None:
    plain = _names(smaller_proofs("compressor", CodecConfig()))
    assert {"butterfly_concentrate", "window_store", "packer", "lossless", "wide_counter"} <= plain
    assert not plain & {"decompressor", "axi_reader", "fifo", "skid_buffer", "stream_register"}
    sliced = CodecConfig(register_slices="in")
    assert _names(smaller_proofs("compressor", sliced)) - plain == {"skid_buffer"}
    pipelined = _names(smaller_proofs("decompressor", CodecConfig(pipelined=True)))
    assert {"credit", "memory_queue", "stream_register", "decompressor_modules"} <= pipelined
    assert not pipelined & {"decompressor", "lossless", "decompressor_any_stream", "fifo"}
    fields = Format(16, 32, 3, EXPONENTS, field_bits=8, rotate=1, zero=True)
    for format, queue in ((Format(8), 0), (Format(8, align=4), 2), (fields, 2)):
        odd = _names(smaller_proofs("compressor", CodecConfig(format, queue=queue)))
        assert odd - {"stream_register"} == {"butterfly_concentrate", "compressor_verilog", "wide_counter"}
    stage = _names(smaller_proofs("quantiser", StageConfig()))
    assert stage == {"quantised_bound", "quantiser_verilog", "wide_counter"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "without"),
    [
        (EngineConfig(), set()),
        (EngineConfig(registers=False), _WITH_REGISTERS),
        (EngineConfig(units=2), {"slots", "channel"}),
        (EngineConfig(alignment="word"), {"axi_reader", "axi_writer", "channel"}),
        (EngineConfig(alignment="byte"), {"axi_reader", "axi_writer", "channel", "checker_rests", "slots"}),
        (
            EngineConfig(crc=True),
            {"checker_rests", "checker_decides", "slots", "completer", "rings", "channel"},
        ),
        (EngineConfig(queue=0), {"packer", "window_store", "decompressor", "channel"}),
        (
            EngineConfig(pipelined=True),
            {*_EVERY, *_WITH_REGISTERS}
            - {"fifo", "wide_counter", "axi_reader", "read_arbiter", "registers_port", "skid_buffer"},
        ),
        (
            EngineConfig(memories_protect="secded"),
            {"axi_writer", "checker_rests", "checker_decides", "slots", "completer", "channel"}
            | {"rings", "ring_slot", "write_arbiter"},
        ),
    ],
    ids=["default", "streams", "units", "words", "bytes", "crc", "queue", "pipelined", "coded"],
)
def test_an_engine_is_told_what_is_proven_of_its_blocks_and_no_more(
    config: EngineConfig, without: set[str]
) -> None:
    told = _names(smaller_proofs("engine", config))
    assert {*_EVERY, *_WITH_REGISTERS} - told == without


def test_a_block_with_more_registers_has_the_proofs_of_that() -> None:
    plain = smaller_proofs("engine", EngineConfig())
    assert _configs(plain, "axi_reader") == {"1 lane, bursts of 2", "2 lanes, bursts of 2"}
    assert _configs(plain, "registers_port") == {"5 registers"}
    shaped = smaller_proofs("engine", EngineConfig(dimensions=1))
    assert _configs(shaped, "axi_reader") - _configs(plain, "axi_reader") == {"1 lane, bursts of 2, of rows"}
    pipelined = smaller_proofs("engine", EngineConfig(pipelined=True))
    assert _configs(pipelined, "axi_reader") == {"1 lane, bursts of 2, registered"}
    assert _configs(pipelined, "registers_port") == {"5 registers, fast"}


def test_each_proof_is_about_the_blocks_that_stand_in_its_bench() -> None:
    for proof in all_proofs():
        # A printed file has no blocks, and the butterflies are those of a codec.
        if isinstance(proof, Proof) and proof.verilog is None and not proof.name.startswith("butterfly_"):
            assert blocks_in(proof.bench()).issuperset(proof.blocks), proof.label


def test_only_the_one_of_both_codecs_names_no_block() -> None:
    assert {proof.name for proof in all_proofs() if not proof.blocks} == {"lossless"}


@pytest.mark.slow
def test_each_property_is_about_some_design() -> None:
    designs: list[tuple[str, Config]] = [
        *((block, CodecConfig(pipelined=each)) for block in BLOCKS for each in (False, True)),
        *((block, CodecConfig(clock_gates=True)) for block in BLOCKS),
        ("compressor", CodecConfig(Format(levels=2))),
        *((block, StageConfig()) for block in STAGES),
        ("engine", SMALL),
        ("engine", EngineConfig(alignment="word")),
        ("engine", EngineConfig(pipelined=True)),
        ("engine", EngineConfig(dimensions=2)),
        ("engine", EngineConfig(memories_protect="secded")),
        ("engine", EngineConfig(pages=True, quiescence=True, delta=True)),
        ("engine", EngineConfig(clocks="registers", quiescence=True, group_bursts=4)),
        ("engine", EngineConfig(channels=2, msi=True)),
        ("engine", EngineConfig(stream_id_bits=4, substream_id_bits=8)),
    ]
    told = {name for design in designs for name in _names([*exact_proofs(*design), *smaller_proofs(*design)])}
    assert {proof.name for proof in all_proofs()} - told == set()


PRINTED_SMALL = CodecConfig(Format(8, 8), 2)
TOP = "cdma_compressor"


def _ports(expressions: dict[str, str], state: str, depth: int) -> Result:
    """What becomes of the rules at the ports of a compressor with such expressions for its ports."""
    text = codec_verilog("compressor", PRINTED_SMALL, init=False)
    broken = wrapped(text, TOP, codec_ports(PRINTED_SMALL, length=False), expressions, state)
    proof = Proof(
        name="broken",
        config="on purpose",
        claim="",
        bench=lambda: CodecPorts("compressor", PRINTED_SMALL),
        method="bmc",
        depth=depth,
        rules=(STREAM_RULES,),
        verilog=lambda: broken,
    )
    return run_proof(proof, use_cache=False)


@pytest.mark.slow
def test_a_valid_that_falls() -> None:
    toggles = "  reg on;\n  always @(posedge aclk) on <= aresetn & ~on;"
    result = _ports(
        {"m_axis_tvalid": "x_m_axis_tvalid & on", "m_axis_tready": "m_axis_tready & on"}, toggles, 9
    )
    assert result.status == FAILED
    assert "axi_stream.sv" in result.detail


@pytest.mark.slow
def test_an_answer_that_comes_late() -> None:
    proof = Proof(
        name="broken",
        config="on purpose",
        claim="",
        bench=lambda: LitePort(RegisterFile(_MAP, pipelined=True), 1),
        rules=(LITE_RULES,),
    )
    result = run_proof(proof, use_cache=False)
    assert result.status == FAILED
    assert "axi_lite_subordinate.sv" in result.detail


@pytest.mark.slow
def test_another_logic() -> None:
    text = codec_verilog("compressor", PRINTED_SMALL)
    bits = sum(port.width for port in codec_ports(PRINTED_SMALL, length=False) if port.direction == "output")
    broken = text.replace(" & ", " | ", 1)
    assert broken != text
    assert Whole(codec_shell("compressor", PRINTED_SMALL), broken, TOP).compare(600)[:2] == (FAILED, bits)


FILES = sorted((Path(cdma.verif.proofs.__file__).parents[1] / "properties").glob("*.sv"))


def _counted(path, folder, **parameters):
    (folder / path.name).write_text(path.read_text())
    chosen = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    log = find_yosys().run(
        f"read_verilog -formal -sv {path.name}\nhierarchy -top {path.stem}{chosen}\nproc\nchformal -lower\n"
        "tee -o asserts select -count t:$assert\ntee -o assumes select -count t:$assume\n",
        folder,
    )
    assert "ERROR" not in log
    return tuple(int((folder / name).read_text().split()[0]) for name in ("asserts", "assumes"))


def test_the_files():
    assert [path.name for path in FILES] == ["axi4_manager.sv", "axi_lite_subordinate.sv", "axi_stream.sv"]


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("axi4_manager", {"MANAGER_ASSUMED": 1, "SUBORDINATE_ASSERTED": 1}),
        ("axi_lite_subordinate", {"SUBORDINATE_ASSUMED": 1, "MANAGER_ASSERTED": 1}),
        ("axi_stream", {"SOURCE_ASSUMED": 1}),
    ],
)
def test_it_is_read(name, sides, tmp_path):
    (path,) = (path for path in FILES if path.stem == name)
    asserts, assumes = _counted(path, tmp_path)
    assert asserts > 3
    assert _counted(path, tmp_path, **sides) == (assumes, asserts)


FORMATS = [Format(word_bits=2, window=4), Format(word_bits=4, window=4, code_bits=2, values=(0, 5, 9))]


def decoded(fmt, stream, words, window, place):
    """The word at one place of one window of a packet, as the serial decoder finds it; None if it finds none."""
    m = Module()
    state = Reader.registers(fmt)
    word, follow, ended = Signal(fmt.word_bits), Signal(), Signal()
    chosen = Signal(range(fmt.window))
    fresh = Signal(init=1)
    shown = Reader(**{**vars(state), "left": Mux(fresh, words, state.left)})
    after, ends, _ = step(m, fmt, 0, shown, word, chosen, follow=follow)
    m.d.sync += [Value.cast(vars(state)[name]).eq(value) for name, value in vars(after).items()]
    m.d.sync += fresh.eq(0)
    m.d.comb += ended.eq(ends)
    found = []

    async def read(ctx):
        ctx.set(chosen, place)
        for number, each in enumerate(stream):
            ctx.set(word, int(each))
            ctx.set(follow, ctx.get(state.windows) == window)
            assert ctx.get(ended) == (number == len(stream) - 1)
            await ctx.tick()
        found.append(ctx.get(state.word) if ctx.get(state.known) else None)

    simulate(m, read)
    return found[0]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_finds_the_words_of_the_model(fmt):
    rng = np.random.default_rng(3)
    for words in (1, 4, 5, 7):
        raw = rng.integers(0, 1 << fmt.word_bits, words) * rng.integers(0, 2, words)
        stream = compress_words(raw.astype(np.uint8), fmt)
        for number, word in enumerate(raw):
            window, place = divmod(number, fmt.window)
            assert decoded(fmt, stream, words, window, place) == word, (words, number)


#: Of a family of widths, those between its ends.
_BETWEEN = re.compile(
    "butterfly_.*-[24]_lanes|quantised_bound-(bf16_to_8|fp16|fp32_to_[48]_bits$)"
    "|restored_exact-(bf16|fp32_to_[48]|fp16_to_8)|wide_counter-up_to_1|credit-.*1_at_once-0_ahead"
)
PROVEN_NOW = {proof.label: proof for proof in choose([], quick=True)}


@pytest.mark.slow
@pytest.mark.parametrize("proof", cases_of(PROVEN_NOW, set(filter(_BETWEEN.search, PROVEN_NOW))))
def test_holds(proof):
    result = run_proof(proof, use_cache=False)
    assert result.status in HOLDS, result
    assert result.covers
