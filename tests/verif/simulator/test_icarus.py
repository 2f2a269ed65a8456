"""Icarus Verilog is found on PATH, or named as missing; what it complains about is passed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.hdl.verilog.shell import Port
from cdma.verif.simulator.build import BuildError, build_four_state, find_icarus
from cdma.verif.simulator.toolchain import ToolchainError
from tests.support.simulate import needs_icarus


def test_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no iverilog on PATH; install it, .* apt install iverilog$"):
        find_icarus()


def test_one_that_does_not_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("iverilog", "vvp"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(ToolchainError, match=r"^Icarus Verilog \(.*iverilog\) does not run; reinstall it"):
        find_icarus()


@needs_icarus
def test_broken_verilog_is_reported_and_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    ports = (Port("aclk", "input"), Port("aresetn", "input"), Port("q", "output"))
    with pytest.raises(BuildError, match=r"^Icarus Verilog on tiny failed with status \d+:\n"):
        build_four_state("module tiny (\n", "tiny", ports)
    assert not list((tmp_path / "four-state").iterdir())
