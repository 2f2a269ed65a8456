"""The files for a design in SystemVerilog: types with the bits of the records. The package for a design in VHDL: GHDL
binds its component to an entity with the block's ports.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.deliver.block import VERILOG, VHDL, block_ports, check_name_in
from cdma.hdl.deliver.wrappers import sv_package, vhdl_package
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Status
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.shell import Port
from cdma.verif.simulator.toolchain import find_verilator
from tests.support.paths import DOCS
from tests.support.simulate import needs_icarus

_CODEC = CodecConfig(Format(8, 8, 1), lanes=2)

#: What the page says of a report.
_REPORT = {"words_in": (0, 32), "words_out": (32, 32), "literals": (64, 32), "error": (96, 8)}


def _places(record: tuple[object, ...]) -> dict[str, tuple[int, int]]:
    """The lowest bit and the bits of each field."""
    places, low = {}, 0
    for field in record:
        name = "interrupt_" if field.name == "interrupt" else field.name  # type: ignore[attr-defined]
        places[name] = low, field.bits  # type: ignore[attr-defined]
        low += field.bits  # type: ignore[attr-defined]
    return places


_RECORDS: Mapping[str, tuple[str, object, Mapping[str, tuple[int, int]]]] = {
    "descriptor_t": ("engine", EngineConfig(), _places(DESCRIPTOR)),
    "completion_t": ("engine", EngineConfig(), _places(COMPLETION)),
    "report_t": ("decompressor", _CODEC, _REPORT),
}


@needs_icarus
@pytest.mark.parametrize("kind", _RECORDS)
def test_a_structure_has_the_bits_of_the_record(kind: str, tmp_path: Path) -> None:
    """Each field alone is all ones, and the whole is printed."""
    block, config, places = _RECORDS[kind]
    (tmp_path / "types.sv").write_text(sv_package(block, config, "mine"))  # type: ignore[arg-type]
    width = sum(bits for _, bits in places.values())
    rows = "".join(
        f"bits = {width}'d0; bits[{low} +: {size}] = ~{size}'d0; whole = bits; "
        f'$display("{name} %b", &whole.{name}); bits = ~bits; whole = bits; $display("{name} %b", |whole.{name});\n'
        for name, (low, size) in places.items()
    )
    (tmp_path / "bench.sv").write_text(
        f"module bench; import mine_pkg::*; {kind} whole; logic [{width - 1}:0] bits; initial begin\n{rows}"
        f'$display("bits %0d", $bits({kind})); end endmodule\n'
    )
    command = ["iverilog", "-g2012", "-o", "bench", "types.sv", "bench.sv"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    said = subprocess.run(["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    expected = [line for name in places for line in (f"{name} 1", f"{name} 0")]
    assert said.splitlines() == [*expected, f"bits {width}"]


def test_values_have_their_names() -> None:
    text = sv_package("engine", EngineConfig(), "mine")
    assert all(f"STATUS_{status.name} = 8'd{status.value}" in text for status in Status)
    assert "package mine_pkg;" in text
    assert sv_package("dequantiser", StageConfig(), "mine") == ""
    assert "count;" in sv_package("quantiser", StageConfig(), "mine")


@pytest.mark.verilator
def test_the_page_fills_a_descriptor(tmp_path: Path) -> None:
    example = (DOCS / "integration.md").read_text().partition("```systemverilog\n")[2].partition("```")[0]
    head, _, body = example.partition("// ...\n")
    ports = "input logic [63:0] from, to, output logic [511:0] whole"
    text = f"module page ({ports});\n{head}{body}assign whole = descriptor;\nendmodule\n"
    (tmp_path / "page.sv").write_text(text)
    (tmp_path / "types.sv").write_text(sv_package("engine", EngineConfig(), "cdma_engine"))
    tool = find_verilator()
    without = [f"-Wno-{rule}" for rule in ("DECLFILENAME", "UNUSEDPARAM", "MULTITOP")]
    command = [*tool.command, "--lint-only", "-Wall", *without, "--quiet", "types.sv", "page.sv"]
    done = subprocess.run(
        command, cwd=tmp_path, env=tool.environment, stdout=-1, stderr=subprocess.STDOUT, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


_needs_ghdl = pytest.mark.skipif(
    shutil.which("ghdl") is None, reason="GHDL is not on PATH; on Debian or Ubuntu: apt install ghdl"
)

#: Tools of synthesis, too, take the entity of the name of a component.
_STANDARD = ("--std=93", "--syn-binding")

_BLOCKS = {
    "decompressor": CodecConfig(Format(8, 8, 1), lanes=2, runtime_values=True),
    "engine": EngineConfig(),
}


def _value(port: Port, number: int) -> str:
    """A value of a port's own, as a literal."""
    bits = f"{(37 * number + 1) % (1 << min(port.width, 16)):0{port.width}b}"
    return f"'{bits}'" if port.width == 1 else f'"{bits}"'


def _stand_in(name: str, ports: tuple[Port, ...]) -> str:
    """An entity in the place of the Verilog: it drives its outputs, and says what inputs are wrong."""
    declared = ";\n".join(
        f"{port.name} : {'in' if port.direction == 'input' else 'out'} "
        + ("std_logic" if port.width == 1 else f"std_logic_vector({port.width - 1} downto 0)")
        for port in ports
    )
    values = {port: _value(port, number) for number, port in enumerate(ports)}
    drives = "\n".join(f"{port.name} <= {values[port]};" for port in ports if port.direction == "output")
    checks = "\n".join(
        f'assert {port.name} = {values[port]} report "{port.name} is wrong" severity failure;'
        for port in ports
        if port.direction == "input"
    )
    return f"""library ieee; use ieee.std_logic_1164.all;
entity {name} is port ({declared}); end;
architecture stand_in of {name} is begin
{drives}
process begin wait for 1 ns; {checks} wait; end process;
end;
"""


def _bench(name: str, ports: tuple[Port, ...]) -> str:
    """Drives the inputs, and says what outputs are wrong."""
    declared = "\n".join(
        f"signal {port.name} : std_logic"
        + ("" if port.width == 1 else f"_vector({port.width - 1} downto 0)")
        + ";"
        for port in ports
    )
    pins = ", ".join(f"{port.name} => {port.name}" for port in ports)
    values = {port: _value(port, number) for number, port in enumerate(ports)}
    drives = "\n".join(f"{port.name} <= {values[port]};" for port in ports if port.direction == "input")
    checks = "\n".join(
        f'assert {port.name} = {values[port]} report "{port.name} is wrong" severity failure;'
        for port in ports
        if port.direction == "output"
    )
    return f"""library ieee; use ieee.std_logic_1164.all; use work.{name}_pkg.all;
entity bench is end;
architecture bench of bench is
{declared}
begin
dut : component {name} port map ({pins});
{drives}
process begin wait for 1 ns; {checks} report "all is right"; wait; end process;
end;
"""


def _simulated(folder: Path, texts: dict[str, str]) -> str:
    """What GHDL says of a simulation of the texts, in the order of their analysis."""
    for file, text in texts.items():
        (folder / file).write_text(text)
    done = None
    for command in (["-a", *_STANDARD, *texts], ["-e", *_STANDARD, "bench"], ["-r", *_STANDARD, "bench"]):
        done = subprocess.run(
            ["ghdl", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            break
    assert done is not None
    return done.stdout


@_needs_ghdl
@pytest.mark.parametrize("block", _BLOCKS)
def test_the_component_is_the_block(block: str, tmp_path: Path) -> None:
    ports = block_ports(block, _BLOCKS[block])
    package = vhdl_package("mine", ports)
    texts = {
        "stand_in.vhd": _stand_in("mine", ports),
        "mine_pkg.vhd": package,
        "bench.vhd": _bench("mine", ports),
    }
    assert "all is right" in _simulated(tmp_path, texts)
    # A port of another width.
    wide = next(f"({port.width - 1} downto 0)" for port in ports if port.width > 1)
    broken = package.replace(wide, "(1023 downto 0)", 1)
    assert broken != package
    assert "all is right" not in _simulated(tmp_path, {**texts, "mine_pkg.vhd": broken})


def test_a_name_that_vhdl_would_escape_is_refused() -> None:
    for name in ("two__dots", "end_"):
        check_name_in(VERILOG, name)
        with pytest.raises(ParameterError, match="in VHDL no name has two underscores in a row"):
            check_name_in(VHDL, name)
    check_name_in(VHDL, "my_dma_2")
