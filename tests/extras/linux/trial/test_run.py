"""The driver on the RTL, in a kernel that was built before."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma_linux.trial import kernel
from cdma_linux.trial import run as linux_run
from cdma_linux.trial.run import Trial, run
from tests.support.documents import blocks
from tests.support.paths import DOCS, MODULE
from tests.support.thorough import cases_of

_SHAPES = {
    "small": SMALL,
    "default": EngineConfig(),
    "units": EngineConfig(units=2, stripe_bytes=256, crc=False),
    "pages": dataclasses.replace(SMALL, pages=True),
    "pairs": dataclasses.replace(SMALL, channels=4),
}


def passed(design: EngineDesign, trial: Trial) -> list[str]:
    """What is said by a trial, which must pass."""
    if not kernel.is_kept():
        pytest.skip("the kernel is not built here: make linux builds it")
    said: list[str] = []
    assert run(design, trial, say=said.append), "\n".join(said)
    return said


@pytest.mark.verilator
@pytest.mark.parametrize("config", cases_of(_SHAPES, thorough=set(_SHAPES)))
def test_the_driver_passes_its_tests_on_the_engine(config: EngineConfig) -> None:
    passed(EngineDesign(config), Trial())


@pytest.mark.verilator
@pytest.mark.parametrize("calls", cases_of({"many": 100_000}, thorough={"many"}))
def test_a_hundred_thousand_calls_at_random_harm_nobody(calls: int) -> None:
    passed(EngineDesign(SMALL), Trial(calls=calls))


@pytest.mark.verilator
@pytest.mark.parametrize("language", cases_of({"c": "c", "python": "python"}, thorough={"c", "python"}))
def test_the_programs_of_the_document_run_on_the_engine(language: str, tmp_path: Path) -> None:
    (text,) = blocks(DOCS / "linux.md", language)
    source = tmp_path / f"first.{language}"
    source.write_text(text)
    program = [sys.executable, str(source)]
    if language == "c":
        program = [str(tmp_path / "first")]
        subprocess.run(["gcc", f"-I{MODULE}", "-o", *program, source], check=True)
    said = passed(EngineDesign(SMALL), Trial(program=program))
    assert any(" bytes became " in line for line in said)


@pytest.mark.verilator
@pytest.mark.parametrize("seed", cases_of({"one": 1}, thorough={"one"}))
def test_a_network_is_trained_through_driver_and_engine(seed: int) -> None:
    pytest.importorskip("torch")
    program = [sys.executable, "-m", "cdma.torch.swapping.driven_step"]
    said = passed(EngineDesign(SMALL), Trial(program=program, seed=seed))
    assert "6 of 6 gradients are those of plain PyTorch" in "\n".join(said)


_NUMBERS = """
import numpy as np

import cdma_linux
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.quantise import dequantise, quantise

form = EngineConfig(format=Format(word_bits=16), lossy="fp32").quantisation
bias = form.number_type.bias
rng = np.random.default_rng(3)
numbers = np.where(rng.random(6000) < 0.5, rng.normal(size=6000), 0).astype(np.float32)
with cdma_linux.Device() as device:
    for exponent in (-6, -9):
        exact, near = device.offload(numbers), device.offload(numbers, step=exponent + bias)
        assert near.nbytes < exact.nbytes
        assert (exact.prefetch() == numbers).all()
        made = quantise(numbers.view(np.uint32), exponent, form)
        assert (near.prefetch().view(np.uint32) == dequantise(made.integers, exponent, form)).all()
    try:
        device.offload(numbers, step=1).nbytes
    except cdma_linux.DeviceError as error:
        print(error)
"""


@pytest.mark.verilator
@pytest.mark.parametrize("crc", cases_of({"crc": True}, thorough={"crc"}))
def test_numbers_move_within_a_bound(crc: bool, tmp_path: Path) -> None:
    source = tmp_path / "bounded.py"
    source.write_text(_NUMBERS)
    design = EngineDesign(dataclasses.replace(SMALL, lossy="fp32", crc=crc))
    said = passed(design, Trial(program=[sys.executable, str(source)]))
    assert any("ended as LOSSY_RANGE" in line for line in said), "\n".join(said)


@pytest.mark.verilator
@pytest.mark.parametrize("transfers", cases_of({"few": 480, "many": 10_000}, thorough={"few", "many"}))
def test_measurements_are_printed(transfers: int) -> None:
    said = passed(EngineDesign(SMALL), Trial(measure=transfers))
    found = {
        what.rpartition(" ")[0]: int(what.rpartition(" ")[2])
        for what in said
        if what.startswith("# measured ")
    }
    assert len(found) == 6
    each, moderated = (
        found[f"# measured interrupts for 1000 completions, one for {how}"] for how in ("each", "25")
    )
    assert moderated == 40 <= each <= 1000
    assert any(f"{transfers} transfers of four processes" in line for line in said if line.startswith("ok "))


@pytest.mark.slow
def test_the_module_is_in_the_style_of_the_kernel() -> None:
    if not kernel.is_kept():
        pytest.skip("the kernel is not built here: make linux builds it")
    # Definitions of tracepoints look as they do, and so does what differs between kernels. The rest is no kernel's.
    left = {"libcdma.h", "cdma.h", "cdma_regs.h", "trace.h"}
    files = [path for path in sorted(MODULE.glob("*.[ch]")) if path.name not in left]
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


def test_a_process_with_many_transfers_of_one_buffer_is_no_complaint() -> None:
    begin, end = "---[ cut here ]---\nWARNING: CPU: 0\n", "Call Trace:\n---[ end trace 0 ]---\n"
    expected = f"{begin}DMA-API: exceeded 7 overlapping mappings of cacheline 0x1\n{end}"
    other = f"{begin}DMA-API: device driver frees DMA memory with wrong function\n{end}"
    left = linux_run._OVERLAPS.sub("", f"a\n{other}{expected}{other}b\n")
    assert left.count("WARNING") == left.count("wrong function") == 2


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None)
    monkeypatch.setattr(kernel, "_sources", lambda version: None)
    assert not kernel.is_kept()
    with pytest.raises(
        kernel.KernelError, match=r"apt install make gcc flex bison bc xz-utils linux-source$"
    ):
        kernel.kernel()
    with pytest.raises(kernel.KernelError, match=r" linux-source-6\.1$"):
        kernel.kernel(version="6.1")


def test_a_kernel_must_take_what_looks_for_faults(tmp_path: Path) -> None:
    lines = [line for line in kernel._CONFIGURATION.splitlines() if "PREEMPT" not in line]
    (tmp_path / ".config").write_text("\n".join(lines).replace("CONFIG_DEBUG_ATOMIC_SLEEP=y", ""))
    kernel._check_options(tmp_path / ".config")
    (tmp_path / ".config").write_text("\n".join(lines).replace("CONFIG_KASAN=y", ""))
    with pytest.raises(kernel.KernelError, match=r"do not take CONFIG_KASAN=y$"):
        kernel._check_options(tmp_path / ".config")
