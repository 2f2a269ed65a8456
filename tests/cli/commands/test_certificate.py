"""Certificates: what holds, what does not and what was not done, of a tiny codec and of made-up results."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.commands.certificate.certificate import Certificate, Shown
from cdma.commands.certificate.claims import OWN, own_proofs, smaller_proofs
from cdma.commands.certificate.markdown import markdown
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth import yosys
from cdma.synth.errors import ToolError
from cdma.verif.codec.design import CodecDesign
from cdma.verif.engine.design import EngineDesign
from cdma.verif.kinds import plan_of
from cdma.verif.mutation.campaign import KILLED, SURVIVED, Verdict
from cdma.verif.mutation.mutants import Mutant
from cdma.verif.proofs.result import FAILED, PROVEN, UNKNOWN, Result
from cdma.verif.regression import Regression
from cdma.verif.simulator.simulate import Outcome

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


def test_which_proofs_are_of_the_very_configuration() -> None:
    own = {proof.name: proof for proof in own_proofs(CodecDesign("compressor"))}
    assert set(own) == {"butterfly_concentrate", "compressor_ports", "compressor_verilog"}
    assert own["butterfly_concentrate"].config == "8 lanes"
    assert own["compressor_ports"].config == own["compressor_verilog"].config == OWN
    names = {proof.name for proof in smaller_proofs(CodecDesign("compressor"))}
    assert {"butterfly_concentrate", "window_store", "packer", "lossless", "wide_counter"} <= names
    assert not names & {"decompressor", "axi_reader", "fifo"}
    pipelined = CodecDesign("decompressor", CodecConfig(pipelined=True))
    assert {proof.name for proof in own_proofs(pipelined)} >= {"decompressor_modules"}
    assert not {proof.name for proof in smaller_proofs(pipelined)} & {"decompressor", "lossless"}
    engine = {proof.name for proof in smaller_proofs(EngineDesign())}
    assert {"axi_reader", "axi_writer", "registers_port", "packer"} <= engine


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
