"""Every memory with checks is counted once, with what is around it. Every block of an engine is counted once, in the
part that it belongs to. The pages of results: no figure without its record, no record without a command that this
version understands. Digests of what records are about: what is no change leaves them, and what is one does not.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.hdl._ir import Fragment, PortDirection, build_netlist

from cdma import app
from cdma.base.errors import CdmaError
from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape
from cdma.study.recorded import DATA
from cdma.study.system.headlines import load_ranges
from cdma.study.system.machine import load_assumptions
from cdma.synth.asic.measure import Block
from docs.results import files
from docs.results.__main__ import measure, stale
from docs.results.digests import changed, digest_of_netlist, digest_of_sources, digests, needs_card
from docs.results.memory_checks import KINDS, checks_by_kind
from docs.results.page import DOCS, pages
from docs.results.peer import Peer
from docs.results.records import Record, Sources, kept, load, measured, store


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("engine.offload.path.reader.store.memory", "read buffers"),
        ("engine.prefetch.path.writer.opened.memory", "bursts in flight"),
        ("engine.rings.writer.records", "rings"),
        ("registers.register_file.memory", "registers"),
    ],
)
def test_a_memory_is_of_one_kind_and_has_the_gates_of_its_checks(path: str, kind: str) -> None:
    shape = Shape(4, 26, (True,), 1, 13, None, "")
    names = (path, f"{path}.check_0_0", f"{path}.check_0_1", f"{path}_2", path.rpartition(".")[0])
    blocks = [Block(name, None, 0.5, 0.0, 0) for name in names]
    rows = checks_by_kind([PlacedMemory(f"{path}.coded_7", "", shape, checks=10)], blocks)
    assert [row["what"] for row in rows] == list(KINDS)
    assert [row for row in rows if row["memories"]] == [
        {"what": kind, "memories": 1, "memory_bits": 104, "check_bits": 40, "kge": 1.5}
    ]


RECORDS = load()


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


def test_the_share_of_dram_that_a_copy_has_is_that_of_records() -> None:
    def shares(group: str, *, concurrent: bool) -> list[float]:
        """Of the peak, by memory: in the worse case."""
        records = [RECORDS[f"dram-{memory}{group}"].figures for memory in ("ddr3", "ddr4")]
        ways = ("offload", "prefetch") if concurrent else ("offload",)
        return [
            min(
                row["of_dram"] for row in rows if row["concurrent"] == concurrent and row["direction"] in ways
            )
            for rows in records
        ]

    reads, apart, grouped = (
        shares("", concurrent=False),
        shares("", concurrent=True),
        shares("-groups", concurrent=True),
    )
    found = [
        round(min(one / read for one, read in zip(both, reads, strict=True)), 2) for both in (grouped, apart)
    ]
    span, arrives = (
        {one.key: one for one in load_ranges()}[key] for key in ("dram_share", "dram_efficiency")
    )
    assert [load_assumptions().kernels.dram_share, span.least] == found
    assert arrives.least <= min(grouped)
    assert max(reads) <= arrives.most
    page = (DOCS / "figures/paper_cdma.md").read_text(encoding="utf-8")
    alone, mixed, together = (
        f"{100 * min(each):.0f} to {100 * max(each):.0f} %" for each in (reads, apart, grouped)
    )
    takes = f"{221 / max(reads):.0f} to {221 / min(reads):.0f}"
    assert f"give {alone} of their peak to reads alone, so that 221 GB/s take {takes} of" in page
    assert f"with prefetch at once {mixed}, or {together} in groups of bursts" in page


def test_the_front_page_says_of_a_gpu_what_its_record_says() -> None:
    record, page = RECORDS["gpu-saved"], (DOCS.parent / "README.md").read_text(encoding="utf-8")
    found = {row["network"]: row for row in record.figures if row["way"] == "saved"}
    times = {name: f"{row['slower']:.2f} times" for name, row in found.items()}
    shares = {name: f"{row['after_share']:.2f}" for name, row in found.items()}
    assert f"revision {record.revision}" in page
    assert f"VGG-16 took {times['vgg16']} as long with {shares['vgg16']} of the memory after" in page
    assert f"of ResNet-50 {times['resnet50']} with {shares['resnet50']}" in page
    assert f"of GPT-2 {times['gpt2']} with {shares['gpt2']}" in page


def test_the_pages_are_those_of_the_records() -> None:
    for name, text in pages(RECORDS).items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, name


def test_a_changed_figure_changes_the_page() -> None:
    record = RECORDS["compressor"]
    other = replace(record, figures=record.figures | {"kge": 99.99}, revision="0123abc")
    text = pages(RECORDS | {"compressor": other})["results.md"]
    assert "| compressor | 99.99 |" in text
    assert "| 0123abc" in text


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
                "docs.results.dram_peer",
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


_PYTHON = '"""What it is."""\ndef sum_of(a: int, b: int) -> int:\n    """Adds."""\n    return a + b  # both\n'
_C = "#define STEP 2\nint f(int a) { /* next */ return a + STEP; }\n"


def _digest(
    *,
    name: str = "total",
    inside: bool = False,
    unread: bool = False,
    gate: Callable[[Value, Value], Value] = lambda a, b: a & b,
    init: int = 0,
) -> str:
    """Of a register that adds up what a gate of two inputs gives; the gate may stand in a module of its own."""
    a, b, out = Signal(4, name="a"), Signal(4, name=f"b_{name}"), Signal(8, name="out")
    both, total = Signal(4), Signal(8, name=name, init=init)
    top = Module()
    place = Module() if inside else top
    if inside:
        top.submodules.inner = place
    place.d.comb += both.eq(gate(a, b))
    top.d.sync += total.eq(total + both)
    top.d.comb += out.eq(total)
    if unread:
        top.d.sync += Signal(3).eq(a)
    ways = {
        "a": (a, PortDirection.Input),
        b.name: (b, PortDirection.Input),
        "out": (out, PortDirection.Output),
    }
    ports = [(port, *signal) for port, signal in ways.items()]
    return digest_of_netlist(build_netlist(Fragment.get(top, None), ports))


def test_a_name_a_move_and_what_nothing_reads_leave_the_digest_of_a_circuit() -> None:
    assert _digest() == _digest(name="sum") == _digest(inside=True) == _digest(unread=True)


def test_a_gate_and_a_value_after_reset_change_the_digest_of_a_circuit() -> None:
    gates: list[Callable[[Value, Value], Value]] = [
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a & b.rotate_left(1),
    ]
    assert len({*(_digest(gate=gate) for gate in gates), _digest(init=1)}) == 4


@pytest.mark.parametrize(
    ("suffix", "text", "same", "other"),
    [
        (
            ".py",
            _PYTHON,
            _PYTHON.replace("Adds", "Sum").replace("  # both", "\n\n"),
            _PYTHON.replace("+", "-"),
        ),
        (".c", _C, _C.replace("/* next */ ", "// so\n"), _C.replace("a + STEP", "a - STEP")),
        (".c", _C, "/* the step */\n" + _C, _C.replace("STEP 2", "STEP 3")),
    ],
)
def test_comments_leave_the_digest_of_sources_and_expressions_change_it(
    tmp_path: Path, suffix: str, text: str, same: str, other: str
) -> None:
    found = []
    for number, each in enumerate((text, same, other)):
        path = tmp_path / f"{number}{suffix}"
        path.write_text(each)
        found.append(digest_of_sources([path]))
    assert found[0] == found[1] != found[2]


def test_a_command_has_a_recipe_and_what_it_measures() -> None:
    quick = (
        "cdma bench software",
        "cdma bench saved",
        "cdma study bench lossy",
        "python -m docs.results.files",
        "python -m docs.results.peer",
        "python -m tests",
    )
    for record in load().values():
        if record.command.startswith(quick):
            assert "recipe" in digests(record.command)
    assert {*digests("cdma bench software --format zvc32 --rounds 6")} == {"sources", "recipe"}
    command = "cdma area compressor --lanes 2"
    assert {*digests(command)} == {"circuit", "recipe"}
    # The same circuit by another command has another recipe.
    assert digests(command)["circuit"] == digests(f"{command} --period 0.9")["circuit"]
    assert digests(command)["recipe"] != digests(f"{command} --period 0.9")["recipe"]
    assert digests(command)["circuit"] != digests("cdma area compressor --lanes 4")["circuit"]


def test_stale_records_are_told_and_only_a_card_excuses_them(capsys: pytest.CaptureFixture[str]) -> None:
    command, card = "cdma area compressor --lanes 2", Record("cdma bench saved --networks vgg16")
    fresh = Record(command, digests=digests(command))
    other = replace(fresh, digests=digests(command) | {"circuit": "0"})
    assert needs_card(card)
    assert changed(fresh) == []
    assert not stale({"fresh": fresh, "card": card})
    assert capsys.readouterr().out == "card: never compared, needs a card\n1 of 2 records are stale\n"
    assert stale({"fresh": fresh, "other": other})
    assert capsys.readouterr().out == "other: another circuit\n1 of 2 records are stale\n"


def test_a_page_marks_what_is_stale() -> None:
    records = load()
    for old in (False, True):
        record = replace(records["compressor"], revision="0123abc", stale=old)
        text = pages(records | {"compressor": record})["results.md"]
        assert ("| 0123abc† |" in text) == old
        assert ("| 0123abc |" in text) != old
