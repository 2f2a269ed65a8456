"""The driver on the RTL, in a kernel that was built before."""

from __future__ import annotations

import subprocess

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.linux import kernel
from cdma.verif.linux.run import run
from tests.support.paths import ROOT
from tests.support.thorough import cases_of

_SHAPES = {
    "small": SMALL,
    "default": EngineConfig(),
    "units": EngineConfig(units=2, stripe_bytes=256, crc=False),
}


@pytest.mark.verilator
@pytest.mark.parametrize("config", cases_of(_SHAPES, thorough=set(_SHAPES)))
def test_the_driver_passes_its_tests_on_the_engine(config: EngineConfig) -> None:
    if not kernel.is_kept():
        pytest.skip("the kernel is not built here: make linux builds it")
    said: list[str] = []
    assert run(EngineDesign(config), say=said.append), "\n".join(said)


@pytest.mark.slow
def test_the_module_is_in_the_style_of_the_kernel() -> None:
    if not kernel.is_kept():
        pytest.skip("the kernel is not built here: make linux builds it")
    sources = ROOT / "sim" / "engine" / "driver" / "linux"
    # Definitions of tracepoints look as they do, and so does what differs between kernels.
    files = [path for path in sorted(sources.glob("*.[ch]")) if path.name not in {"libcdma.h", "trace.h"}]
    ignored = "--ignore=LINUX_VERSION_CODE,CONSTANT_COMPARISON"
    command = [
        "perl",
        kernel.kernel() / "scripts" / "checkpatch.pl",
        "--strict",
        "--no-tree",
        "--terse",
        ignored,
    ]
    done = subprocess.run([*command, "--no-summary", "-f", *map(str, files)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None)
    monkeypatch.setattr(kernel, "_sources", lambda: None)
    assert not kernel.is_kept()
    with pytest.raises(
        kernel.KernelError, match=r"apt install make gcc flex bison bc xz-utils linux-source$"
    ):
        kernel.kernel()
