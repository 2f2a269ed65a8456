"""``cdma wave``: the three files are of one simulation, and the diagram is what the waveform holds."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from cdma.app import main
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import STAGES
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import words_from_bytes
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.view import engine_view
from cdma.verif.engine.wave import SCENARIOS, SCENARIOS_OF_UNITS
from cdma.verif.simulator.vcd_trace import read_trace
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.measure import wave
from cdma.verif.stream.stage.design import StageDesign
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
    moved = {
        name: [cycle for cycle in trace.cycles if cycle[f"{name}_tvalid"] and cycle[f"{name}_tready"]]
        for name in ("s_axis", "m_axis", "m_report")
    }
    assert len(moved["m_report"]) == 2
    stalled = [c for c in trace.cycles if c["m_axis_tvalid"] and not c["m_axis_tready"]]
    assert len(stalled) == 3

    # What went in and what came out in the waveform are one another's codec image.
    packets: dict[str, list[bytes]] = {}
    for name in ("s_axis", "m_axis"):
        parts = [b""]
        for cycle in moved[name]:
            parts[-1] += cycle[f"{name}_tdata"].to_bytes(32, "little")[: cycle[f"{name}_tkeep"].bit_length()]
            if cycle[f"{name}_tlast"]:
                parts.append(b"")
        packets[name] = parts[:-1]
    raw, stream = ("s_axis", "m_axis") if block == "compressor" else ("m_axis", "s_axis")
    form = design.config.format
    for one, other in zip(packets[raw], packets[stream], strict=True):
        words = words_from_bytes(one, form)
        assert compress_words(words, form).tolist() == words_from_bytes(other, form).tolist()

    # Every transfer of the waveform has its box in the diagram, spelt.
    svg = ElementTree.parse(tmp_path / f"{block}.svg")
    texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text")]
    spelt = [text for text in texts if re.fullmatch(r"[HL.-]{8}", text)]
    assert len(spelt) == len(moved["s_axis"]) + len(moved["m_axis"])
    reports = [c["m_report_tdata"] for c in moved["m_report"]]
    said = [text for text in texts if re.fullmatch(r"\d+ → \d+", text)]
    assert said == [f"{report & 0xFFFFFFFF} → {report >> 32 & 0xFFFFFFFF}" for report in reports]
    # A cycle has 80 pixels, of which the slants of a box take 6 at each end, and a character at most 6.
    assert max(map(len, said)) * 6 <= 80 - 2 * 6

    # Every signal of the save file is in the waveform.
    saved = (tmp_path / f"{block}.gtkw").read_text()
    assert f'[dumpfile] "{block}.vcd"' in saved
    assert str(tmp_path) not in saved
    assert_opens_on_the_whole_run(tmp_path / f"{block}.gtkw")
    names = set(re.findall(rf"^\+\{{[^}}]+\}} {design.top}\.(\w+)(?:\[\d+:0\])?$", saved, re.MULTILINE))
    assert {f"m_axis_{part}" for part in ("tdata", "tkeep", "tlast", "tvalid", "tready")} <= names
    assert names <= set(trace.top.signals)
    assert len(re.findall(r"^-inside ", saved, re.MULTILINE)) >= 2


def pixels_of_gtkwave(time: int, zoom: float) -> float:
    """How wide GTKWave draws a time in units of the dump, by the rule of its ``calczoom``: a frame of 200 pixels is 2 to the
    power of minus the zoom, and at least one unit."""
    return 200 * time / max(1.0, 2.0**-zoom)


def test_the_rule_of_gtkwave() -> None:
    """As GTKWave 3.3.118 has been seen: of a run of 3,780 ns a window of 1,140 pixels shows 18 ns at one zoom, and all of it
    at another."""
    assert pixels_of_gtkwave(18_900, -11.695) == pytest.approx(1140, rel=0.01)
    assert pixels_of_gtkwave(3_780_000, -19.34) == pytest.approx(1140, rel=0.01)


def assert_opens_on_the_whole_run(save: Path) -> None:
    """The run fills the window beside the names, and no end of it lies outside."""
    saved, dump = save.read_text(), save.with_suffix(".vcd").read_text()
    (zoom,) = re.findall(r"^\*(-[\d.]+) ", saved, re.MULTILINE)
    (width,) = re.findall(r"^\[size\] (\d+) ", saved, re.MULTILINE)
    (names,) = re.findall(r"^\[signals_width\] (\d+)$", saved, re.MULTILINE)
    # The units of the dump are whole powers of ten, or GTKWave would multiply every time.
    assert re.search(r"\$timescale\s+1\s*[munpf]?s\s+\$end", dump)
    times = re.findall(r"^#(\d+)$", dump, re.MULTILINE)
    room = int(width) - int(names)
    assert 0.93 * room < pixels_of_gtkwave(int(times[-1]), float(zoom)) <= room


@pytest.mark.parametrize("block", STAGES)
def test_stage(block: str, tmp_path: Path) -> None:
    """Every transfer is in the diagram, spelt as numbers; every step that a beat has is there."""
    assert main(["wave", block, "-o", str(tmp_path)]) == 0
    assert_documents_show(tmp_path)
    design = StageDesign(block)
    trace = read_trace(tmp_path / f"{block}.vcd", design.top, design.port_names)
    svg = ElementTree.parse(tmp_path / f"{block}.svg")
    texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text")]
    integers = "m_axis" if design.quantises else "s_axis"
    moved = [cycle for cycle in trace.cycles if cycle[f"{integers}_tvalid"] and cycle[f"{integers}_tready"]]
    for cycle in moved:
        words = [cycle[f"{integers}_tdata"] >> (8 * lane) & 0xFF for lane in range(8)]
        kept = words[: cycle[f"{integers}_tkeep"].bit_count()]
        assert " ".join(str(word - (word >> 7 << 8)) for word in kept) in texts
    assert {"2^0", "2^-2"} <= set(texts)
    assert sum("out of range" in text for text in texts) == (2 if design.quantises else 0)


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
    """Every transfer of the device port and every address of the host port's is drawn; idle stretches are not."""
    assert main(["wave", "engine", "-o", str(tmp_path)]) == 0
    names = [f"engine_{scenario}" for scenario in SCENARIOS]
    assert files_in(tmp_path) == sorted(f"{name}.{kind}" for name in names for kind in ("gtkw", "svg", "vcd"))
    assert_documents_show(tmp_path)
    design = EngineDesign(EngineConfig())
    for name in names:
        trace = read_trace(tmp_path / f"{name}.vcd", design.top, design.port_names)
        svg = ElementTree.parse(tmp_path / f"{name}.svg")
        texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text")]
        for port in ("dev", "host"):
            for channel in ("ar", "aw"):
                line = f"m_axi_{port}_{channel}"
                moved = [c for c in trace.cycles if c[f"{line}valid"] and c[f"{line}ready"]]
                for cycle in moved:
                    assert f"{cycle[f'{line}addr']:x}" in texts, (name, line)
        assert texts.count("irq") == 1
        # Every response that is an error says so.
        answers = [f"m_axi_{port}_{channel}" for port in ("dev", "host") for channel in ("r", "b")]
        errors = [
            {2: "SLVERR", 3: "DECERR"}[c[f"{line}resp"]]
            for line in answers
            for c in trace.cycles
            if c[f"{line}valid"] and c[f"{line}ready"] and c[f"{line}resp"]
        ]
        assert sorted(text for text in texts if text.endswith("ERR")) == sorted(errors)
        assert bool(errors) == (name == "engine_error")
        saved = (tmp_path / f"{name}.gtkw").read_text()
        signals = set(re.findall(rf"^\+\{{[^}}]+\}} {design.top}\.(\w+)(?:\[\d+:0\])?$", saved, re.MULTILINE))
        assert {"irq", "m_axi_dev_araddr", "m_axi_host_wdata", "s_axil_rdata"} <= signals
        assert signals <= set(trace.top.signals)


@pytest.mark.thorough
def test_pieces_of_several_units(tmp_path: Path, refused: Refused) -> None:
    """Every beat of a piece that the joiner takes is a box with its number, and every turn one with its unit."""
    parameters = ["--units", "4", "--stripe-bytes", "256", "--latency", "32"]
    assert main(["wave", "engine", *parameters, "--scenarios", "pieces", "-o", str(tmp_path)]) == 0
    assert_documents_show(tmp_path)
    design = EngineDesign(EngineConfig(units=4, stripe_bytes=256, latency=32))
    joiner = "engine.offload.path.joiner"
    ends = [f"{joiner}.pieces_{unit}_{end}" for unit in range(4) for end in ("valid", "ready", "last")]
    trace = read_trace(tmp_path / "engine_pieces.vcd", design.top, ["aclk", *ends])
    beats = [
        sum(
            cycle[f"{joiner}.pieces_{unit}_valid"] & cycle[f"{joiner}.pieces_{unit}_ready"]
            for cycle in trace.cycles
        )
        for unit in range(4)
    ]
    svg = ElementTree.parse(tmp_path / "engine_pieces.svg")
    texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("text")]
    assert min(beats) > 4
    assert str(max(beats) - 1) in texts
    assert [text for text in texts if text.startswith("unit ")] == [f"unit {unit}" for unit in range(4)]
    assert "an engine with 1 unit has descriptor, error, corrupt, abort" in refused(
        "wave", "engine", "--scenarios", "pieces", "-o", str(tmp_path)
    )
