"""The driver on a CPU of a LiteX SoC; skipped where LiteX or the compiler is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cdma.verif.simulator.litex import run


@pytest.mark.verilator
def test_the_cpu_gets_its_tensor_back() -> None:
    if lacking := run.missing():
        pytest.skip(" and ".join(lacking))
    # In a process of its own: LiteX warns about deprecated names, and sets up the log.
    done = subprocess.run(
        [sys.executable, "-m", "cdma.verif.simulator.litex"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 2048 words are as before, 2 interrupts\n" in done.stdout


def test_missing_packages_and_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    monkeypatch.setattr(run.shutil, "which", lambda name: None)
    with pytest.raises(run.LitexError) as raised:
        run.run()
    said = str(raised.value)
    assert "litex, migen, pythondata_cpu_vexriscv (pip install " in said
    assert "riscv64-unknown-elf-gcc (on Debian or Ubuntu apt install gcc-riscv64-unknown-elf)" in said
