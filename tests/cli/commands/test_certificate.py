"""Certificates: what holds, what does not and what was not done, of a tiny codec and of made-up results."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.base.errors import ToolError
from cdma.commands.certificate.certificate import Certificate, Shown
from cdma.commands.certificate.claims import OWN, own_proofs, smaller_proofs
from cdma.commands.certificate.markdown import markdown
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import EXPONENTS
from cdma.hdl.spec.stage import STAGES
from cdma.synth import yosys
from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.mutation.campaign import KILLED, SURVIVED, Verdict
from cdma.verif.campaigns.mutation.mutants import Mutant
from cdma.verif.engine.design import EngineDesign
from cdma.verif.proofs.about import ABOUT, kinds_in
from cdma.verif.proofs.equivalence import Equivalence
from cdma.verif.proofs.proof import Proof
from cdma.verif.proofs.registry import PROOFS
from cdma.verif.proofs.result import FAILED, PROVEN, UNKNOWN, Result
from cdma.verif.regression import Regression
from cdma.verif.simulator.simulate import Outcome
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.stage.design import StageDesign

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def _regression(failure: str | None = None) -> Regression:
    tests = [point.name for point in plan_of(TINY).choose(TINY)]
    return Regression(TINY, 3, 9, [Outcome(name, failure, 1, 2, 3, 4) for name in tests])


def _result(status: str, detail: str = "") -> Result:
    return Result("packer", "2 lanes", "pdr", None, status, 1.0, 2, "words come out", detail=detail)


def _verdict(result: str) -> Verdict:
    return Verdict(
        Mutant("compressor.core", "m", "mutate", "", "bit 0 of A inverted"), result, "", "not decided"
    )


def test_all_is_well() -> None:
    certificate = Certificate(
        "module x; endmodule\n",
        _regression(),
        "verilator",
        proofs=[Shown(_result(PROVEN), True)],
        mutants=[_verdict(KILLED)],
        coverage={"lines": 100.0},
    )
    assert (certificate.fails, certificate.open) == ([], [])
    assert certificate.sha256 == hashlib.sha256(b"module x; endmodule\n").hexdigest()
    assert "**Everything that was tried holds.**" in markdown(certificate)


def test_each_thing_that_does_not_hold_is_said() -> None:
    failing = Certificate(
        "",
        _regression("17 < 18"),
        "verilator",
        proofs=[
            Shown(_result(FAILED, "packer.py:3"), False),
            Shown(_result(UNKNOWN, "no answer within 9 s"), False),
        ],
        long_proofs=["lossless (2 lanes)"],
        mutants=[_verdict(SURVIVED), _verdict(KILLED)],
        other_text=True,
    )
    text = "\n".join(failing.fails)
    assert "cdma_compressor.v in this folder is not the Verilog that was verified" in text
    assert "test soak: 17 < 18 (again: cdma verify compressor --lanes 2" in text
    assert "--tests soak --seed 3 --packets 9)" in text
    assert "proof packer (2 lanes): failed, packer.py:3" in text
    assert "50.0 % of the mutants were found; the goal is 95 %" in text
    assert failing.open == [
        "proof packer (2 lanes): no answer within 9 s",
        "proofs that take long and were not run: lossless (2 lanes)",
        "mutant of compressor.core survived: bit 0 of A inverted; not decided",
        "coverage was not measured",
    ]
    assert "**Something does not hold.**" in markdown(failing)
    assert failing.as_json()["holds"] is False


def test_what_was_not_done_is_said() -> None:
    run = Regression(TINY, 1, 9, _regression().outcomes[:1])
    bare = Certificate("", run, "verilator")
    assert bare.fails == []
    assert bare.open[0].startswith("tests that were left out: endings, soak, ")
    assert bare.open[1:] == ["no proof was run", "no mutant was run", "coverage was not measured"]
    smaller = Certificate("", run, "verilator", proofs=[Shown(_result(PROVEN), False)])
    assert "proven in other, mostly smaller configurations alone: packer" in smaller.open


def _names(proofs: list[Proof | Equivalence]) -> set[str]:
    return {proof.name for proof in proofs}


def _configs(proofs: list[Proof | Equivalence], name: str) -> set[str]:
    return {proof.config for proof in proofs if proof.name == name}


def test_which_proofs_are_of_the_very_configuration() -> None:
    own = {proof.name: proof for proof in own_proofs(CodecDesign("compressor"))}
    assert set(own) == {"butterfly_concentrate", "compressor_ports", "compressor_verilog"}
    assert own["butterfly_concentrate"].config == "8 lanes"
    assert own["compressor_ports"].config == own["compressor_verilog"].config == OWN
    pipelined = own_proofs(CodecDesign("decompressor", CodecConfig(pipelined=True)))
    assert _names(pipelined) == {"butterfly_expand", "decompressor_ports", "decompressor_modules"}
    stages = {block: _names(own_proofs(StageDesign(block))) for block in STAGES}
    assert stages["quantiser"] == {"quantised_bound", "quantiser_verilog"}
    assert stages["dequantiser"] == {"restored_exact", "dequantiser_verilog"}
    lossy = EngineDesign(EngineConfig(Format(8), lanes=32, lossy="fp32"))
    assert _names(own_proofs(lossy)) >= {"quantised_bound", "restored_exact", "engine_modules"}


#: What is proven of blocks that are in every engine, as they are there without options.
_EVERY = {"fifo", "wide_counter", "axi_reader", "axi_writer", "checker_rests", "checker_decides"}
_EVERY |= {"slots", "completer", "channel", "window_store", "packer", "decompressor"}
#: And in every one with registers and rings.
_WITH_REGISTERS = {"read_arbiter", "write_arbiter", "rings", "ring_slot", "registers_port", "skid_buffer"}


def test_a_codec_is_told_what_is_proven_of_its_blocks_and_no_more() -> None:
    plain = _names(smaller_proofs(CodecDesign("compressor")))
    assert {"butterfly_concentrate", "window_store", "packer", "lossless", "wide_counter"} <= plain
    assert not plain & {"decompressor", "axi_reader", "fifo", "skid_buffer", "stream_register"}
    sliced = CodecDesign("compressor", CodecConfig(register_slices="in"))
    assert _names(smaller_proofs(sliced)) - plain == {"skid_buffer"}
    pipelined = _names(smaller_proofs(CodecDesign("decompressor", CodecConfig(pipelined=True))))
    assert {"credit", "memory_queue", "stream_register", "decompressor_modules"} <= pipelined
    assert not pipelined & {"decompressor", "lossless", "decompressor_any_stream", "fifo"}
    fields = Format(16, 32, 3, EXPONENTS, field_bits=8, rotate=1, zero=True)
    for format, queue in ((Format(8), 0), (Format(8, align=4), 2), (fields, 2)):
        odd = _names(smaller_proofs(CodecDesign("compressor", CodecConfig(format, queue=queue))))
        assert odd - {"stream_register"} == {"butterfly_concentrate", "compressor_verilog", "wide_counter"}
    stage = _names(smaller_proofs(StageDesign("quantiser")))
    assert stage == {"quantised_bound", "quantiser_verilog", "wide_counter"}


@pytest.mark.parametrize(
    ("config", "without"),
    [
        (EngineConfig(), set()),
        (EngineConfig(registers=False), _WITH_REGISTERS),
        (EngineConfig(units=2), {"slots", "channel"}),
        (EngineConfig(alignment="word"), {"axi_reader", "axi_writer", "channel"}),
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
    ],
    ids=["default", "streams", "units", "words", "crc", "queue", "pipelined"],
)
def test_an_engine_is_told_what_is_proven_of_its_blocks_and_no_more(
    config: EngineConfig, without: set[str]
) -> None:
    told = _names(smaller_proofs(EngineDesign(config)))
    assert {*_EVERY, *_WITH_REGISTERS} - told == without


def test_a_block_with_more_registers_has_the_proofs_of_that() -> None:
    plain = smaller_proofs(EngineDesign(EngineConfig()))
    assert _configs(plain, "axi_reader") == {"1 lane, bursts of 2", "2 lanes, bursts of 2"}
    assert _configs(plain, "registers_port") == {"5 registers"}
    pipelined = smaller_proofs(EngineDesign(EngineConfig(pipelined=True)))
    assert _configs(pipelined, "axi_reader") == {"1 lane, bursts of 2, registered"}
    assert _configs(pipelined, "registers_port") == {"5 registers, fast"}


def test_each_proof_is_about_the_blocks_that_stand_in_its_bench() -> None:
    assert set(ABOUT) == {proof.name for proof in PROOFS}
    for proof in PROOFS:
        # A printed file has no blocks, and the butterflies are those of a codec.
        if isinstance(proof, Proof) and proof.verilog is None and not proof.name.startswith("butterfly_"):
            assert kinds_in(proof.bench()).issuperset(ABOUT[proof.name]), proof.label


def test_some_certificate_has_each_property() -> None:
    designs = [
        *(CodecDesign(block, CodecConfig(pipelined=each)) for block in BLOCKS for each in (False, True)),
        *(StageDesign(block) for block in STAGES),
        EngineDesign(),
        EngineDesign(EngineConfig(alignment="word")),
        EngineDesign(EngineConfig(pipelined=True)),
    ]
    told = {name for design in designs for name in _names([*own_proofs(design), *smaller_proofs(design)])}
    assert {proof.name for proof in PROOFS} - told == set()


def test_what_cannot_be_done_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> str:
        raise ToolError("ABC is not installed")

    monkeypatch.setattr(yosys, "find_abc", missing)
    assert main(["verify", "compressor", "--mutate", "1", "-o", str(tmp_path)]) == 2
    assert "ABC is not installed" in capsys.readouterr().err
    file = tmp_path / "file"
    file.touch()
    assert main(["verify", "compressor", "-o", str(file)]) == 2
    assert f"cannot create the directory {file}" in capsys.readouterr().err
    assert main(["verify", "compressor", "--prove", "0"]) == 2
    assert "prove is 0; it must be 1 or more" in capsys.readouterr().err
    assert main(["verify", "quantiser", "--mutate", "0"]) == 2
    assert "mutate is 0; it must be 1 or more" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.verilator
@pytest.mark.slow
def test_a_tiny_codec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = ["compressor", "--lanes", "2", "--word-bits", "8", "--window", "8"]
    assert main(["generate", *block, "-o", str(tmp_path)]) == 0
    command = ["verify", *block, "--tests", "lengths", "soak", "--packets", "10"]
    command += ["-o", str(tmp_path), "--mutate", "2", "--json"]
    capsys.readouterr()
    status = main(command)
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((tmp_path / "cdma_compressor_certificate.json").read_text())
    assert kept == printed
    text = (tmp_path / "cdma_compressor.v").read_bytes()
    assert kept["sha256"] == hashlib.sha256(text).hexdigest()
    assert kept["mutation"]["mutants"] == 2
    assert kept["holds"] == (kept["mutation"]["score"] >= 95) == (status == 0)
    assert {"compressing-dma", "amaranth", "verilator"} <= set(kept["tools"])
    assert kept["sha256"] in (tmp_path / "cdma_compressor_certificate.md").read_text()
    (tmp_path / "cdma_compressor.v").write_text("module other; endmodule\n")
    assert main([*command[:-3], "--json"]) == 1
    assert "is not the Verilog that was verified" in json.loads(capsys.readouterr().out)["fails"][0]


@pytest.mark.verilator
@pytest.mark.slow
def test_a_tiny_quantiser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = ["quantiser", "--lanes", "1", "--number", "bf16", "--bits", "4", "--tests", "fills", "special"]
    command = ["verify", *block, "--packets", "10", "-o", str(tmp_path), "--prove", "--mutate", "2", "--json"]
    main(command)
    kept = json.loads(capsys.readouterr().out)
    assert kept["sha256"] == hashlib.sha256((tmp_path / "cdma_quantiser.v").read_bytes()).hexdigest()
    assert kept["mutation"]["mutants"] == 2
    own = {proof["property"] for proof in kept["proofs"] if proof["own_configuration"]}
    assert own == {"quantised_bound", "quantiser_verilog"}
    assert {proof["status"] for proof in kept["proofs"]} == {PROVEN}
