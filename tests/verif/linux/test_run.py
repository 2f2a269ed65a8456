"""The driver on the RTL, in a kernel that was built before."""

from __future__ import annotations

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.linux import kernel
from cdma.verif.linux.run import run
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


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None)
    monkeypatch.setattr(kernel, "_sources", lambda: None)
    assert not kernel.is_kept()
    with pytest.raises(
        kernel.KernelError, match=r"apt install make gcc flex bison bc xz-utils linux-source$"
    ):
        kernel.kernel()
