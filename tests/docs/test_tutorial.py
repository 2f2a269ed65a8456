"""The tutorial's tensor, what it prints of it, and its waveform."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.app import main
from tests.support.commands import Refused
from tests.support.documents import blocks, browser, shown
from tests.support.paths import DOCS

TUTORIAL = DOCS / "tutorial.md"


@pytest.fixture
def tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (script,) = blocks(TUTORIAL, "python")
    exec(compile(script, "tensor.py", "exec"), {})
    return tmp_path / "activations.npy"


def test_the_ratio_is_the_one_that_it_prints(tensor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compress", tensor.name, "activations.cdma"]) == 0
    (printed,) = blocks(TUTORIAL, "text")
    assert capsys.readouterr().out.startswith(printed.strip())


@pytest.mark.verilator
def test_the_waveform_is_of_the_tensor(tensor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cdma.verif.simulator.vcd_trace import read_trace
    from cdma.verif.stream.codec.design import CodecDesign

    assert main(["wave", "compressor", "--input", tensor.name, "--words", "40", "-o", "waves"]) == 0
    design = CodecDesign("compressor")
    cycles = read_trace(Path("waves/compressor.vcd"), design.top, design.port_names).cycles
    beats = [each for each in cycles if each["s_axis_tvalid"] and each["s_axis_tready"]]
    went_in = b"".join(beat["s_axis_tdata"].to_bytes(32, "little") for beat in beats)
    assert went_in == np.load(tensor).tobytes()[:160]
    # Three cycles after the fourth beat the first one of the stream leaves, with a header and seven words.
    came = next(number for number, each in enumerate(cycles) if each["m_axis_tvalid"])
    assert came - cycles.index(beats[3]) == 3
    words = np.load(tensor).view("<u4").ravel()[:32]
    header = int(np.packbits(words != 0, bitorder="little").view("<u4")[0])
    stored = [header, *words[words != 0][:7].tolist()]
    assert cycles[came]["m_axis_tdata"] == int.from_bytes(np.array(stored, "<u4").tobytes(), "little")


@pytest.mark.verilator
def test_the_page_says_what_it_prints(tensor: Path) -> None:
    with browser() as running:
        assert main(["wave", "compressor", "--input", tensor.name, "--only", "html", "-o", "waves"]) == 0
        with shown(running, Path("waves/compressor.html")) as page:
            assert f"`{page.inner_text('#flight')}`" in TUTORIAL.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--words", "3"], "words is given without input; it says how much of a tensor is shown"),
        (["--input", "activations.npy", "--words", "0"], "words is 0; it must be 1 or more"),
        (["--input", "broken.npy"], "cannot show broken.npy: it is not a .npy file: "),
        (["--input", "short.npy"], "cannot show short.npy: it has 1 bytes of data, and its shape (64, 28, 28)"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_tensor_is_refused(
    tensor: Path, words: list[str], said: str, refused: Refused
) -> None:
    Path("broken.npy").write_text("no tensor")
    Path("short.npy").write_bytes(tensor.read_bytes()[:129])
    assert refused("wave", "compressor", *words).startswith(f"cdma: {said}")
