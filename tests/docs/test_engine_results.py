"""The script of the table of engines: its wrapper around a peer, what it refuses, and where it puts the table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cdma.base.errors import CdmaError
from cdma.synth.yosys import find_yosys, scratch
from docs import engine_results
from docs.engines.peer import Peer

#: A peer with the ports that the wrapper connects, and nothing inside: the text of the real one is the user's.
_PARAMETERS = (
    *(
        "AXI_DATA_WIDTH",
        "AXI_ADDR_WIDTH",
        "AXI_ID_WIDTH",
        "AXI_MAX_BURST_LEN",
        "AXIS_USER_ENABLE",
        "LEN_WIDTH",
    ),
    *("TAG_WIDTH", "ENABLE_UNALIGNED"),
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a stand-in for the peer, made from the wrapper's own connections."""
    (tmp_path / "rtl").mkdir()
    for name in ("axi_dma.v", "axi_dma_rd.v", "axi_dma_wr.v"):
        (tmp_path / "rtl" / name).write_text("")
    wrapper = Peer(tmp_path).circuit().verilog
    inner = wrapper[wrapper.index(") dma (") :]
    names = [line.strip().split("(")[0][1:] for line in inner.splitlines() if line.strip().startswith(".")]
    parameters = ", ".join(f"parameter {name} = 1" for name in _PARAMETERS)
    ports = ", ".join(f"input wire [255:0] {name}" for name in names)
    (tmp_path / "rtl" / "axi_dma.v").write_text(f"module axi_dma #({parameters}) ({ports});\nendmodule\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("loop", [False, True])
def test_the_wrapper_is_verilog(checkout: Path, loop: bool) -> None:
    peer = Peer(checkout, unaligned=True)
    circuit = peer.circuit()
    assert circuit.config["ENABLE_UNALIGNED"] == 1
    text, top = peer.loop() if loop else (circuit.verilog, circuit.top)
    with scratch() as folder:
        (folder / "peer.v").write_text(text)
        log = find_yosys().run(f"read_verilog peer.v\nhierarchy -check -top {top}\n", folder)
    assert "Warning: Identifier" not in log
    for port in peer.loop_ports():
        assert f" {port}" in text
    assert ("(s_axis_write_data_tdata)" in text) != loop


def test_a_folder_without_the_peer(tmp_path: Path) -> None:
    with pytest.raises(
        CdmaError, match=r"^cannot read .*axi_dma\.v: .*; --peer takes a checkout of verilog-axi$"
    ):
        Peer(tmp_path).circuit()
    assert Peer(tmp_path).commit == "unknown"


def test_the_table_is_put_in_place_of_the_one_before() -> None:
    area = "<!-- area: begin -->\n\nareas\n<!-- area: end -->\n"
    once = engine_results.put("one", f"# Results\n\ntext\n\n{area}")
    assert once.index("text") < once.index("one") < once.index("areas")
    twice = engine_results.put("two", once)
    assert twice == once.replace("one", "two")
    assert engine_results.put("one", "# Results\n").endswith(f"{engine_results.END}\n")


def test_rows_that_are_not_measured_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    document = tmp_path / "docs" / "results.md"
    document.write_text("# Results\n")
    monkeypatch.setattr(engine_results, "ROOT", tmp_path)
    monkeypatch.setattr(engine_results, "load_libraries", lambda files: SimpleNamespace(name="a library"))

    def measure(only: str, figure: str) -> list[list[str]]:
        """The lines of the document once that row is measured, and has the figure in each cell."""
        more = len(engine_results._TITLES) - 1
        monkeypatch.setattr(engine_results, "cells", lambda row, *_: [row.name, *[figure] * more])
        given = ["engine_results", "--peer", str(tmp_path), "--liberty", "a.lib", "--only", only]
        monkeypatch.setattr("sys.argv", given)
        engine_results.main()
        return [line[:2] for line in list(engine_results.written(document.read_text()).values())[1:]]

    assert measure("engine", "1") == [["this engine", "1"]]
    # In the order of the script, whatever was measured first.
    both = [["verilog-axi `axi_dma`", "2"], ["this engine", "1"]]
    assert measure("peer", "2") == both
    assert measure("engine", "3") == [both[0], ["this engine", "3"]]


def test_every_row_has_a_cell_for_every_title() -> None:
    lines = [["cell"] * len(engine_results._TITLES)]
    heads, rule, line = engine_results.table(lines).splitlines()
    assert heads.count("|") == rule.count("|") == line.count("|")
    text = engine_results.section("abc", Peer(Path()).parameters, "library", 1.0, lines)
    assert "`AXI_DATA_WIDTH` 256" in text
    assert "commit abc" in text


def test_a_row_says_with_how_many_seeds_unless_it_is_three():
    assert engine_results.clocks(125.4, None, 3) == "125 / -"
    assert engine_results.clocks(125.4, 160.6, 1) == "125 / 161 (1 seed)"
    assert engine_results.clocks(None, 160.6, 2) == "- / 161 (2 seeds)"
