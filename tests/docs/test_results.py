"""The pages of results: no figure without its record, no record without a command that this version understands."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from cdma import app
from cdma.base.errors import CdmaError
from cdma.base.yosys import find_yosys, scratch
from cdma.study.recorded import DATA
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.ranges import load_ranges
from docs.results import files
from docs.results.__main__ import measure
from docs.results.page import DOCS, pages
from docs.results.peer import Peer
from docs.results.records import Record, Sources, kept, load, measured, store

RECORDS = load()

#: The header of the peer, as far as the wrapper reads it: the text of the real one is the user's.
_HEADER = """
module axi_dma #
(
    // Width of the data
    parameter AXI_DATA_WIDTH = 32,
    parameter AXI_STRB_WIDTH = (AXI_DATA_WIDTH/8),
    parameter AXI_MAX_BURST_LEN = 16
)
(
    input  wire                      clk,
    input  wire                      rst,
    input  wire [7:0]                s_axis_read_desc_id,
    output wire [AXI_DATA_WIDTH-1:0] m_axis_read_data_tdata,
    output wire                      m_axis_read_data_tvalid,
    input  wire [AXI_DATA_WIDTH-1:0] s_axis_write_data_tdata,
    input  wire                      s_axis_write_data_tvalid,
    output wire                      m_axi_arlock,
    output wire [AXI_STRB_WIDTH-1:0] m_axi_wstrb,
    input  wire                      read_enable
);
endmodule
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "rtl").mkdir()
    for name, text in (("axi_dma.v", _HEADER), ("axi_dma_rd.v", ""), ("axi_dma_wr.v", "")):
        (tmp_path / "rtl" / name).write_text(text)
    return tmp_path


def test_the_rates_of_the_model_s_host_are_those_of_records() -> None:
    def rates(record: str, codec: str) -> list[float]:
        (bench,) = RECORDS[record].figures["benches"]
        (row,) = [row for row in bench["rows"] if row["codec"] == codec]
        ways = ("compress_bytes_per_second", "decompress_bytes_per_second")
        return [round(row[way] / 1e9, 1) for way in ways]

    cpu, ends = load_assumptions().cpu, [one for one in load_ranges() if one.section == "cpu"]
    assert [cpu.compress_GBps, cpu.decompress_GBps] == rates("software-host", "cDMA avx2")
    assert [one.least for one in ends] == rates("software-host", "cDMA scalar")
    assert [one.most for one in ends] == rates("software-zvc32", "cDMA avx512")


def test_the_pages_are_those_of_the_records() -> None:
    for name, text in pages(RECORDS).items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, name


def test_a_changed_figure_changes_the_page() -> None:
    record = RECORDS["compressor"]
    other = replace(record, figures=record.figures | {"kge": 99.99}, revision="0123abc")
    text = pages(RECORDS | {"compressor": other})["results.md"]
    assert "| compressor | 99.99 |" in text
    assert "| 0123abc |" in text


def test_a_record_says_how_it_was_measured() -> None:
    """One that was never measured says nothing, and stands on no page."""
    incomplete = [
        name
        for name, record in RECORDS.items()
        if record != Record(record.command)
        and not (
            re.fullmatch(r"[0-9a-f]{7}", record.revision)
            and re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
            and record.versions
            and record.figures
        )
    ]
    assert incomplete == []


def test_commands_are_those_of_this_version() -> None:
    parser = app.parser()
    for record in RECORDS.values():
        program, *words = shlex.split(record.command)
        if program == "cdma":
            parser.parse_args([*words, "--json"])
        else:
            assert words[0] == "-m"
            assert words[1] in (
                "docs.results.peer",
                "docs.results.files",
                "docs.results.memory_checks",
                "tests.designer_time",
            )


def test_several_units_are_as_the_study_has_them() -> None:
    study = json.loads((DATA / "unit_cycles.json").read_text(encoding="utf-8"))["units"]
    assert RECORDS["bench-units"].figures == kept(study)


def test_records_are_read_as_they_were_stored(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    store(RECORDS, path)
    assert load(path) == RECORDS


def test_a_measurement_is_stored_and_a_failure_leaves_its_record(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    before = {
        "good": Record("cdma formats"),
        "bad": Record("cdma formats --nothing", "0123abc", "2026-01-31", {"a": "1"}, {"kge": 1.0}),
        "other": Record("cdma area engine"),
    }
    store(before, path)
    assert measure(["good", "b*"], Sources(), path) == ["bad"]
    after = load(path)
    assert (after["bad"], after["other"]) == (before["bad"], before["other"])
    assert {row["word_bits"] for row in after["good"].figures} == {8, 16, 32}
    assert "python" in after["good"].versions
    assert re.match(r"[0-9a-f]{7}", after["good"].revision)


@pytest.mark.parametrize(
    ("word", "option"), [("--liberty nangate45_typ.lib.gz", "--libraries"), ("--peer CHECKOUT", "--peer")]
)
def test_folders_outside_the_repository_are_asked_for(word: str, option: str) -> None:
    with pytest.raises(CdmaError, match=f"^this measurement needs {option}$"):
        measured(Record(f"cdma area compressor {word}"), Sources())


@pytest.mark.slow
@pytest.mark.parametrize("loop", [False, True])
def test_the_wrapper_around_a_peer_is_verilog(checkout: Path, loop: bool) -> None:
    text, ports = Peer(checkout, burst=128).verilog("top", loop=loop)
    with scratch() as folder:
        (folder / "peer.v").write_text(text)
        log = find_yosys().run(
            "read_verilog peer.v\nhierarchy -check -top top\nwrite_json top.json\n", folder
        )
        top = json.loads((folder / "top.json").read_text())["modules"]["top"]
    assert "Warning: Identifier" not in log
    assert list(top["ports"]) == ports
    assert ("s_axis_write_data_tdata" in ports) != loop
    assert "m_axi_arlock" not in ports
    assert len(top["ports"]["m_axi_wstrb"]["bits"]) == 32
    assert "parameter AXI_MAX_BURST_LEN = 128" in text


def test_a_folder_without_the_peer(tmp_path: Path) -> None:
    with pytest.raises(
        CdmaError, match=r"^cannot read .*axi_dma\.v: .*; --peer takes a checkout of verilog-axi$"
    ):
        Peer(tmp_path).verilog("top")


def test_the_files_of_the_codec_in_software(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_ROUNDS", 1)
    compressed, decompressed = files.measured(1000)
    assert [compressed["command"], decompressed["command"]] == ["compress", "decompress"]
    for row in (compressed, decompressed):
        assert row["raw_bytes"] == 4000
        assert 0 < row["file_seconds"] < row["seconds"]
