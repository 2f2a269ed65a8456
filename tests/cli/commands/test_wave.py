"""``cdma wave``: its files, the diagrams that the documents show, and what GTKWave opens with."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cdma.app import main
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import STAGES
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.view import engine_view
from cdma.verif.engine.wave import SCENARIOS, SCENARIOS_OF_UNITS
from cdma.verif.simulator.vcd_trace import read_trace
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.measure import wave
from tests.support.commands import Printed, Refused, Shown
from tests.support.paths import DOCS, ROOT

pytestmark = pytest.mark.verilator


def files_in(folder: Path) -> list[str]:
    """The files in a folder, without those folders in it that have what values are called."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".names")


def assert_documents_show(drawn: Path) -> None:
    """The documents show the diagrams of today's design: if this fails, ``make waves`` draws them again."""
    for path in drawn.glob("*.svg"):
        assert path.read_bytes() == (DOCS / "waves" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("block", ["compressor", "decompressor"])
def test_files(block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wave", block, "-o", str(tmp_path)]) == 0
    assert files_in(tmp_path) == [f"{block}.{kind}" for kind in ("gtkw", "svg", "vcd")]
    said = capsys.readouterr().out
    assert f"{tmp_path}/{block}.svg" in said
    assert f"open with: gtkwave {tmp_path}/{block}.vcd {tmp_path}/{block}.gtkw" in said
    assert_documents_show(tmp_path)

    design = CodecDesign(block)
    trace = read_trace(tmp_path / f"{block}.vcd", design.top, design.port_names)
    # Every signal of the save file is in the waveform.
    saved = (tmp_path / f"{block}.gtkw").read_text()
    assert f'[dumpfile] "{block}.vcd"' in saved
    assert str(tmp_path) not in saved
    assert_opens_on_the_whole_run(tmp_path / f"{block}.gtkw")
    names = set(re.findall(rf"^\+\{{[^}}]+\}} {design.top}\.(\w+)(?:\[\d+:0\])?$", saved, re.MULTILINE))
    assert {f"m_axis_{part}" for part in ("tdata", "tkeep", "tlast", "tvalid", "tready")} <= names
    assert names <= set(trace.top.signals)
    assert len(re.findall(r"^-inside ", saved, re.MULTILINE)) >= 2


def assert_opens_on_the_whole_run(save: Path) -> None:
    """By the rule of GTKWave's ``calczoom``, where 200 pixels are 2 to the power of minus the zoom in units of the dump."""
    saved, dump = save.read_text(), save.with_suffix(".vcd").read_text()
    (zoom,) = re.findall(r"^\*(-[\d.]+) ", saved, re.MULTILINE)
    (width,) = re.findall(r"^\[size\] (\d+) ", saved, re.MULTILINE)
    (names,) = re.findall(r"^\[signals_width\] (\d+)$", saved, re.MULTILINE)
    # The units of the dump are whole powers of ten, or GTKWave would multiply every time.
    assert re.search(r"\$timescale\s+1\s*[munpf]?s\s+\$end", dump)
    times = re.findall(r"^#(\d+)$", dump, re.MULTILINE)
    pixels, room = 200 * int(times[-1]) / 2.0 ** -float(zoom), int(width) - int(names)
    assert 0.93 * room < pixels <= room


@pytest.mark.parametrize("block", STAGES)
def test_stage(block: str, tmp_path: Path) -> None:
    assert main(["wave", block, "-o", str(tmp_path)]) == 0
    assert_documents_show(tmp_path)


def test_a_page_and_how_to_open_it(tmp_path: Path, shown: Shown) -> None:
    said = shown("wave", "compressor", "--html", "-o", str(tmp_path))
    assert f"in a browser: file://{tmp_path}/compressor.html" in said
    assert '[dumpfile] "compressor.vcd"' in (tmp_path / "compressor.gtkw").read_text()


@pytest.mark.thorough
def test_a_tensor_takes_the_place_of_the_scenarios(
    tmp_path: Path, printed: Printed, refused: Refused
) -> None:
    """It goes out and back; its elements are the words of the engine."""
    np.save(tmp_path / "tensor.npy", np.arange(100, dtype=np.uint16) % 3)
    arguments = [
        "wave",
        "engine",
        "--input",
        str(tmp_path / "tensor.npy"),
        "--words",
        "70",
        "-o",
        str(tmp_path),
    ]
    assert "scenarios is given with input; a tensor is a run of its own" in refused(
        *arguments, "--scenarios", "error"
    )
    written = printed(*arguments, "--only", "vcd", "html")
    assert written == [str(tmp_path / f"engine_tensor.{kind}") for kind in ("vcd", "html")]
    config = EngineConfig(format=Format(word_bits=16))
    trace = read_trace(Path(written[0]), "cdma_engine", EngineDesign(config).port_names)
    tensors = engine_view(config, trace).tensors
    assert [tensor.values for tensor in tensors] == [[f"{number % 3:04x}" for number in range(70)]] * 2


def test_only_the_diagram(tmp_path: Path) -> None:
    wave(CodecDesign("compressor"), tmp_path, ("svg",))
    assert [path.name for path in tmp_path.iterdir()] == ["compressor.svg"]
    assert_documents_show(tmp_path)


def test_the_documents_show_what_make_waves_draws() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nwaves:")[2].partition("\n\n")[0]
    blocks = set(re.findall(r"cdma wave (\w+) .*--only svg -o docs/waves", recipe))
    drawn = {block: [block] for block in (*BLOCKS, *STAGES)}
    drawn["engine"] = [f"engine_{scenario}" for scenario in (*SCENARIOS, *SCENARIOS_OF_UNITS)]
    assert sorted(blocks) == sorted(drawn)
    names = sorted(f"{name}.svg" for block in blocks for name in drawn[block])
    assert sorted(path.name for path in (DOCS / "waves").iterdir()) == names
    text = "".join(path.read_text() for path in DOCS.glob("*.md"))
    assert sorted(set(re.findall(r"\]\(waves/(\w+\.svg)\)", text))) == names


def test_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wave", "engine", "-o", str(tmp_path)]) == 0
    names = [f"engine_{scenario}" for scenario in SCENARIOS]
    assert files_in(tmp_path) == sorted(f"{name}.{kind}" for name in names for kind in ("gtkw", "svg", "vcd"))
    assert_documents_show(tmp_path)
    design = EngineDesign(EngineConfig())
    for name in names:
        trace = read_trace(tmp_path / f"{name}.vcd", design.top, design.port_names)
        saved = (tmp_path / f"{name}.gtkw").read_text()
        signals = set(re.findall(rf"^\+\{{[^}}]+\}} {design.top}\.(\w+)(?:\[\d+:0\])?$", saved, re.MULTILINE))
        assert {"irq", "m_axi_dev_araddr", "m_axi_host_wdata", "s_axil_rdata"} <= signals
        assert signals <= set(trace.top.signals)


@pytest.mark.thorough
def test_pieces_of_several_units(tmp_path: Path, refused: Refused) -> None:
    parameters = ["--units", "4", "--stripe-bytes", "256", "--latency", "32"]
    assert main(["wave", "engine", *parameters, "--scenarios", "pieces", "-o", str(tmp_path)]) == 0
    assert_documents_show(tmp_path)
    assert "an engine with 1 unit has descriptor, error, corrupt, abort" in refused(
        "wave", "engine", "--scenarios", "pieces", "-o", str(tmp_path)
    )
