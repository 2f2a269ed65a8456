"""``cdma demo``: what it writes and says, with stand-ins for the simulations and with the simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cdma.hdl.spec.codec import BLOCKS
from cdma.sim.codec.model import ZVC, analyse
from cdma.sim.codec.stimuli import activations
from cdma.verif.engine import measure as engine_tensor
from cdma.verif.engine.measure import RoundTrip
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec import measure as codec_wave
from cdma.verif.stream.codec import stimulus as codec_tensor
from cdma.verif.stream.codec.stimulus import TensorRun
from tests.support.commands import Printed, Shown

TENSOR = activations(1, 0.4)
STREAM = 4 * analyse(TENSOR, ZVC).compressed_words
CYCLES = TENSOR.nbytes // 32 + 7


def assert_is_told(report: dict[str, Any]) -> None:
    assert report["tensor"]["bytes"] == TENSOR.nbytes
    assert [step["block"] for step in report["steps"]] == [*BLOCKS, "engine"]
    for step in report["steps"]:
        assert step["ratio"] == round(TENSOR.nbytes / step["compressed_bytes"], 3)
        assert step["compressed_bytes"] == STREAM
        assert step["bytes_per_cycle"] > 30
        assert Path(step["verilog"]).read_text().count("endmodule") > 1
        assert all(Path(path).stat().st_size for path in step["waveform"])


@pytest.mark.slow
def test_the_demo_says_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: Shown, printed: Printed
) -> None:
    def run(design: Design, array: NDArray[np.float32], **options: Any) -> TensorRun:
        assert (array == TENSOR).all()
        return TensorRun(design.block, TENSOR.nbytes, STREAM, CYCLES, 0, 0)

    def trip(design: Design, array: NDArray[np.float32], **options: Any) -> RoundTrip:
        assert (array == TENSOR).all()
        return RoundTrip(TENSOR.nbytes, STREAM, CYCLES, CYCLES + 1)

    def wave(design: Design, folder: Path, **options: Any) -> list[Path]:
        (folder / f"{design.block}.svg").write_text("<svg/>")
        return [folder / f"{design.block}.svg"]

    monkeypatch.setattr(codec_tensor, "run_tensor", run)
    monkeypatch.setattr(engine_tensor, "round_trip", trip)
    monkeypatch.setattr(codec_wave, "wave", wave)
    assert_is_told(printed("demo", "-o", str(tmp_path)))
    said = shown("demo", "-o", str(tmp_path))
    assert f"{STREAM:,} bytes, ratio {TENSOR.nbytes / STREAM:.2f}" in said
    assert f"offloaded in {CYCLES:,} cycles and prefetched again in {CYCLES + 1:,}" in said
    assert str(tmp_path / "compressor.svg") in said


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_with_the_simulations(tmp_path: Path, printed: Printed) -> None:
    assert_is_told(printed("demo", "-o", str(tmp_path)))
