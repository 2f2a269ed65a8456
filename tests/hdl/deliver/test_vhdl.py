"""The files for a design in VHDL: GHDL analyses them, and the wrapper connects every port."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.deliver.buses import AXI4, AXI_LITE, STREAM, buses_of
from cdma.hdl.deliver.designs import block_ports
from cdma.hdl.deliver.languages import VERILOG, VHDL, check_name_in
from cdma.hdl.deliver.vhdl import vhdl_files
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.ports import Port

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
    """Drives the wrapper's inputs, and says what outputs are wrong."""
    place = {port.name: port.name for port in ports}
    signals = {
        port.name: "std_logic" if port.width == 1 else f"std_logic_vector({port.width - 1} downto 0)"
        for port in ports
    }
    for bus in buses_of(ports)[0]:
        if bus.kind not in (AXI4, AXI_LITE, STREAM):
            continue
        for field, port in bus.signals.items():
            side = f"{bus.name}_{port.direction[0]}"
            place[port.name] = f"{side}.{field}"
            del signals[port.name]
            signals[side] = f"{name}_{side}"
    declared = "\n".join(f"signal {signal} : {kind};" for signal, kind in signals.items())
    pins = ", ".join(f"{signal} => {signal}" for signal in signals)
    values = {port: _value(port, number) for number, port in enumerate(ports)}
    drives = "\n".join(
        f"{place[port.name]} <= {values[port]};" for port in ports if port.direction == "input"
    )
    checks = "\n".join(
        f'assert {place[port.name]} = {values[port]} report "{port.name} is wrong" severity failure;'
        for port in ports
        if port.direction == "output"
    )
    return f"""library ieee; use ieee.std_logic_1164.all; use work.{name}_pkg.all;
entity bench is end;
architecture bench of bench is
{declared}
begin
dut : entity work.{name}_wrapper port map ({pins});
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
def test_the_wrapper_connects_every_port(block: str, tmp_path: Path) -> None:
    ports = block_ports(block, _BLOCKS[block])
    texts = {
        "stand_in.vhd": _stand_in("mine", ports),
        **vhdl_files("mine", ports),
        "bench.vhd": _bench("mine", ports),
    }
    said = _simulated(tmp_path, texts)
    assert "all is right" in said
    assert "wrong" not in said
    # Two ports of one width, exchanged.
    pins = {
        "engine": ("m_axi_host_o.araddr", "m_axi_host_o.awaddr"),
        "decompressor": ("m_axis_o.tvalid", "m_axis_o.tlast"),
    }
    first, second = pins[block]
    wrapper = texts["mine_wrapper.vhd"]
    swapped = wrapper.replace(first, "?").replace(second, first).replace("?", second)
    assert swapped != wrapper
    assert "wrong" in _simulated(tmp_path, {**texts, "mine_wrapper.vhd": swapped})


def test_a_name_that_vhdl_would_escape_is_refused() -> None:
    for name in ("two__dots", "end_"):
        check_name_in(VERILOG, name)
        with pytest.raises(ParameterError, match="in VHDL no name has two underscores in a row"):
            check_name_in(VHDL, name)
    check_name_in(VHDL, "my_dma_2")
