"""``cdma verify`` with a certificate: what it writes for a tiny codec, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.base.errors import ToolError
from cdma.synth import yosys
from cdma.verif.proofs.result import PROVEN


def test_impossible_requests_are_refused_before_the_tests_run(
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
    assert f"cannot write to the directory {file}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.verilator
@pytest.mark.slow
def test_a_tiny_codec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = ["compressor", "--lanes", "1", "--word-bits", "8", "--window", "8"]
    assert main(["generate", *block, "-o", str(tmp_path)]) == 0
    command = ["verify", *block, "--tests", "lengths", "--packets", "5"]
    command += ["-o", str(tmp_path), "--mutate", "1", "--json"]
    capsys.readouterr()
    status = main(command)
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((tmp_path / "cdma_compressor_certificate.json").read_text())
    assert kept == printed
    text = (tmp_path / "cdma_compressor.v").read_bytes()
    assert kept["sha256"] == hashlib.sha256(text).hexdigest()
    assert kept["mutation"]["mutants"] == 1
    assert kept["holds"] == (kept["mutation"]["score"] >= 95) == (status == 0)
    assert {"compressing-dma", "amaranth", "verilator"} <= set(kept["tools"])
    assert kept["sha256"] in (tmp_path / "cdma_compressor_certificate.md").read_text()
    (tmp_path / "cdma_compressor.v").write_text("module other; endmodule\n")
    assert main([*command[:-3], "--json"]) == 1
    assert "is not the Verilog that was verified" in json.loads(capsys.readouterr().out)["fails"][0]


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
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
