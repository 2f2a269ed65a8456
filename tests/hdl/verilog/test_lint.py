"""Other people's tools read the Verilog without a complaint: Verilator, slang, Verible, Yosys, Icarus Verilog. Its names
say something, and its ports are those that are said."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from cdma.hdl.codec.generate import codec_verilog
from cdma.hdl.deliver.block import block_ports, ending
from cdma.hdl.deliver.flows import verilator_waivers
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.simulator.toolchain import find_verilator
from tests.support.simulate import needs_icarus
from tests.support.thorough import cases_of
from tests.support.verilog_designs import DESIGNS, THOROUGH, slang, verilog_of

#: Verible's rules that the text does not follow, and why.
_VERIBLE_WITHOUT = {
    "module-filename": "the file is one self-contained text: the top and all of its submodules",
    "one-module-per-file": "the same",
    "port-name-suffix": "ports have the names of the AXI standards, which have no _i and _o",
    "instance-shadowing": "it takes the port in .aclk(aclk) for a declaration",
}
_VERIBLE_VERILOG_WITHOUT = {
    "unpacked-dimensions-range-ordering": "reg x [N] is SystemVerilog; Verilog 2005 has reg x [0:N-1] alone",
    "always-comb": "always_comb is SystemVerilog",
    "explicit-parameter-storage-type": "localparam logic is SystemVerilog",
}
_VERIBLE_SV_WITHOUT = {"dff-name-style": "a register has the name of its source, which has no _q"}

#: slang's warnings that are not asked for, and why.
_SLANG_WITHOUT = {
    "unused-port": "AXI prescribes ports, such as AWPROT, that not every subordinate needs",
    "unused-but-set-net": "a word of a memory is read whole, also where a part of it is not used",
    "unused-but-set-variable": "the same",
    "empty-output-connection": "a module serves several instances, and not each has a use for every output",
}


_CASES = [
    pytest.param(
        *case.values, id=case.id, marks=[*case.marks, *([pytest.mark.slow] if "engine" in case.id else [])]
    )
    for case in cases_of({name: name for name in DESIGNS}, THOROUGH)
]


@pytest.fixture(scope="module", params=_CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def design(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lint") / f"{name.replace('-', '_')}{ending(DESIGNS[name].language)}"
    path.write_text(verilog_of(name).text)
    return path


@pytest.mark.slow
def test_ports_are_those_that_are_said(name: str) -> None:
    block, config, *_ = DESIGNS[name]
    header = verilog_of(name).text.partition(f"module {name.replace('-', '_')} (\n")[2].partition(");")[0]
    found = re.findall(
        r"^  (input|output) +(?:wire|reg|logic) +(?:\[(\d+):0\] )?(\w+)(?: = \S+)?,?$", header, re.MULTILINE
    )
    assert [(port.direction, port.width, port.name) for port in block_ports(block, config)] == [
        (direction, int(high or 0) + 1, port) for direction, high, port in found
    ]


def test_names_say_something(name: str) -> None:
    """None is a number, few are only a part of something else, and none is what Amaranth calls a signal that it finds no
    name for, such as the first of two that one line makes."""
    text = verilog_of(name).text
    assert "\\" not in text
    assert not re.findall(r"\b_\d+_\b", text)
    lines = text.splitlines()
    assert sum("_term" in line for line in lines) < 0.12 * len(lines)
    assert max(map(len, lines)) <= 100
    declared = re.findall(r"^ +(?:reg|wire|logic) +(?:\[\d+:\d+\] )?(\w+)", text, flags=re.MULTILINE)
    assert not [each for each in declared if re.fullmatch(r"signal(_\d+)?", each)]


def test_no_module_is_a_wrapper_of_another(name: str) -> None:
    """Each has something of its own beside one instance; the top, which has the names of the buses, may have none."""
    modules = re.findall(r"^module (\w+) \((.*?)^endmodule", verilog_of(name).text, re.MULTILINE | re.DOTALL)
    assert modules
    for module, text in modules[1:]:
        body = re.sub(r"//.*", "", text.partition(");\n")[2])
        statements = re.findall(r"^  (?:assign|always\w*)\b", body, re.MULTILINE)
        instances = re.findall(r"^  \w+ \w+ \($", body, re.MULTILINE)
        assert statements or len(instances) > 1, module


def _run(command: list[object], environment: dict[str, str] | None = None) -> tuple[int, str]:
    """The status of a tool, and what it says."""
    done = subprocess.run(
        list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.verilator
def test_verilator_has_no_complaint(design: Path) -> None:
    assert _lint(design) == (0, "")


def _lint(design: Path) -> tuple[int, str]:
    tool = find_verilator()
    waivers = design.with_suffix(".vlt")
    waivers.write_text(verilator_waivers(declared_values=_is_sv(design)))
    return _run([*tool.command, "--lint-only", "-Wall", "--quiet", waivers, design], tool.environment)


def _is_sv(design: Path) -> bool:
    return design.suffix == ".sv"


@pytest.mark.verilator
def test_verilator_builds_it_without_waivers(design: Path, tmp_path: Path) -> None:
    """``--cc`` schedules the design, so it sees what no lint sees: loops through the bits of a vector."""
    tool = find_verilator()
    assert _run([*tool.command, "--cc", "--quiet", "-Mdir", tmp_path, design], tool.environment) == (0, "")


@pytest.mark.verilator
@pytest.mark.thorough
def test_verilator_makes_a_program_of_it_without_waivers(tmp_path: Path) -> None:
    path = tmp_path / "compressor_tiny.v"
    path.write_text(verilog_of("compressor-tiny").text)
    tool = find_verilator()
    built = tmp_path / "built"
    status, said = _run([*tool.command, "--binary", "--quiet", "-Mdir", built, path], tool.environment)
    assert (status, re.findall(r"%(?:Warning|Error).*", said)) == (0, [])
    assert (built / "Vcompressor_tiny").is_file()


def test_slang_has_no_complaint(design: Path) -> None:
    without = [f"-Wno-{name}" for name in _SLANG_WITHOUT]
    standard = "1800-2017" if _is_sv(design) else "1364-2005"
    assert slang("--std", standard, "-Weverything", *without, design) == (0, "")


def test_verible_has_no_complaint(design: Path) -> None:
    try:
        files_of = distribution("verible").files or []
    except PackageNotFoundError:
        pytest.skip("the package verible is not installed")
    tool = next(file.locate() for file in files_of if file.name == "verible-verilog-lint")
    # Constants have capital letters, as in the standards of AXI.
    without = {*_VERIBLE_WITHOUT, *(_VERIBLE_SV_WITHOUT if _is_sv(design) else _VERIBLE_VERILOG_WITHOUT)}
    rules = [*(f"-{name}" for name in sorted(without)), "parameter-name-style=localparam_style:ALL_CAPS"]
    assert _run(
        [tool, "--ruleset=all", f"--rules={','.join(rules)}", "--rules_config_search=false", design]
    ) == (0, "")


@pytest.mark.verilator
def test_lint_would_notice(tmp_path: Path) -> None:
    path = tmp_path / "compressor_tiny.v"
    text = verilog_of("compressor-tiny").text
    path.write_text(text.replace("endmodule", "  wire [3:0] narrow = 8'd1;\nendmodule", 1))
    status, said = _lint(path)
    assert status != 0
    assert "WIDTHTRUNC" in said


def test_every_waiver_has_a_reason() -> None:
    lines = verilator_waivers(declared_values=True).splitlines()
    assert lines[0] == "`verilator_config"
    assert len(lines) > 1
    for reason, waiver in zip(lines[1::2], lines[2::2], strict=True):
        assert re.fullmatch(r"// [A-Z].{30,}\.", reason)
        assert re.fullmatch(r"lint_off -rule [A-Z]+", waiver)


@pytest.mark.slow
def test_yosys_reads_it(name: str, design: Path) -> None:
    if "wide" in name:
        pytest.skip("nothing in it that the others lack, and it takes long")
    libyosys = pytest.importorskip("pyosys.libyosys")
    yosys = libyosys.Design()
    libyosys.run_pass(f"tee -q read_verilog {'-sv' if _is_sv(design) else ''} {design}", yosys)
    libyosys.run_pass(f"tee -q hierarchy -check -top {design.stem}", yosys)
    libyosys.run_pass("tee -q proc", yosys)
    # No latch, no loop, no wire with two drivers or none.
    libyosys.run_pass("tee -q check -assert", yosys)
    libyosys.run_pass("tee -q select -assert-none t:$dlatch t:$adlatch", yosys)


@pytest.mark.slow
@needs_icarus
def test_icarus_reads_it(design: Path) -> None:
    assert _run(["iverilog", "-g2012" if _is_sv(design) else "-g2005", "-Wall", "-t", "null", design]) == (
        0,
        "",
    )


@pytest.mark.verilator
def test_two_engines_fit_in_one_design(tmp_path: Path) -> None:
    tool = find_verilator()
    tiny = CodecConfig(Format(2, 4, 1), lanes=2)
    texts = [
        codec_verilog("compressor", tiny, name="a"),
        codec_verilog("compressor", CodecConfig(Format(4, 8, 1), lanes=4), name="b"),
        codec_verilog("decompressor", tiny, name="c", prefix="other_"),
        "module both (input wire aclk, input wire aresetn);\n"
        + "".join(f"{name} {name}_0 (.aclk(aclk), .aresetn(aresetn));\n" for name in "abc")
        + "endmodule\n",
    ]
    path = tmp_path / "both.v"
    path.write_text("".join(texts))
    # What matters is that no two modules have the same name; nothing but clock and reset is connected.
    command = [*tool.command, "--lint-only", "-Wno-PINMISSING", "--top-module", "both", "--quiet", path]
    status, said = _run(command, tool.environment)
    assert status == 0, said
