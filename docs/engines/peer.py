"""A peer in a user's own checkout: ``axi_dma`` of verilog-axi, in a wrapper that gives it this engine's parameters.

Nothing of the peer is here: its files are read when something is measured.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.synth.circuits import Circuit

__all__ = ["Peer"]

_FILES = ("axi_dma.v", "axi_dma_rd.v", "axi_dma_wr.v")
_DATA, _ADDRESS, _ID, _LENGTH, _TAG = 256, 64, 1, 32, 8


@dataclass(frozen=True)
class Peer:
    """``axi_dma`` in the checkout ``folder``.

    ``unaligned``
        Its option for addresses at any byte.
    ``burst``
        Beats of its longest burst.
    """

    folder: Path
    unaligned: bool = False
    burst: int = 32

    @property
    def commit(self) -> str:
        """The commit that is checked out, or a word where the folder is no checkout."""
        command = ["git", "-C", str(self.folder), "rev-parse", "--short=7", "HEAD"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout.strip() if result.returncode == 0 else "unknown"

    @property
    def parameters(self) -> dict[str, int]:
        """What the wrapper sets; all else is the peer's default."""
        return {
            "AXI_DATA_WIDTH": _DATA,
            "AXI_ADDR_WIDTH": _ADDRESS,
            "AXI_ID_WIDTH": _ID,
            "AXI_MAX_BURST_LEN": self.burst,
            "AXIS_USER_ENABLE": 0,
            "LEN_WIDTH": _LENGTH,
            "TAG_WIDTH": _TAG,
            "ENABLE_UNALIGNED": int(self.unaligned),
        }

    def circuit(self) -> Circuit:
        """The peer with the streams of its data as ports."""
        top = "peer_axi_dma"
        return Circuit(top, dict(self.parameters), top, self._files() + self._wrapper(top, loop=False))

    def loop(self) -> tuple[str, str]:
        """Verilog whose data go from reading to writing, as in a copy, and the name of its top module."""
        return self._files() + self._wrapper("peer_loop", loop=True), "peer_loop"

    def loop_ports(self) -> tuple[str, ...]:
        """The names of the ports of :meth:`loop`."""
        ports = (*_descriptors("read"), *_descriptors("write"), *_axi())
        return ("aclk", "aresetn", *(name for _, _, name in ports))

    def _files(self) -> str:
        text = ""
        for name in _FILES:
            path = self.folder / "rtl" / name
            try:
                text += path.read_text()
            except OSError as error:
                raise CdmaError(
                    f"cannot read {path}: {error.strerror}; --peer takes a checkout of verilog-axi"
                ) from None
        # Yosys takes the index of a loop for a latch otherwise.
        return text.replace("\nmodule ", "\n(* nolatches *)\nmodule ")

    def _wrapper(self, top: str, *, loop: bool) -> str:
        """A module around the peer: what this engine has no counterpart of is tied off or left open."""
        ports = [*_descriptors("read"), *_descriptors("write"), *_axi()]
        wires = ""
        joined = []
        for prefix, out in (("m_axis_read_data", True), ("s_axis_write_data", False)):
            for name, bits in _STREAM.items():
                if loop:
                    joined.append(f".{prefix}_{name}({name})")
                else:
                    ports.append(((name == "tready") != out, bits, f"{prefix}_{name}"))
        if loop:
            wires = "".join(f"  wire {_range(bits)}{name};\n" for name, bits in _STREAM.items())
        connections = [
            *(
                ".clk(aclk)",
                ".rst(~aresetn)",
                ".read_enable(1'b1)",
                ".write_enable(1'b1)",
                ".write_abort(1'b0)",
            ),
            *(f".{name}({name})" for _, _, name in ports),
            *joined,
            *(f".s_axis_read_desc_{name}('d0)" for name in ("id", "dest", "user")),
            *(f".s_axis_write_data_{name}('d0)" for name in ("tid", "tdest", "tuser")),
        ]
        listed = ["input wire aclk", "input wire aresetn"]
        listed += [f"{'output' if out else 'input'} wire {_range(bits)}{name}" for out, bits, name in ports]
        parameters = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        between = ",\n    "
        return (
            f"\nmodule {top} (\n    {between.join(listed)}\n);\n{wires}"
            f"  axi_dma #({parameters}) dma (\n    {between.join(connections)}\n  );\nendmodule\n"
        )


#: A port: whether it is an output, its bits and its name.
_Port = tuple[bool, int, str]

#: The stream of the data.
_STREAM = {"tdata": _DATA, "tkeep": _DATA // 8, "tlast": 1, "tvalid": 1, "tready": 1}


def _descriptors(direction: str) -> list[_Port]:
    """The ports of the descriptors that say what to read, or to write."""
    descriptor, status = f"s_axis_{direction}_desc", f"m_axis_{direction}_desc_status"
    return [
        (False, _ADDRESS, f"{descriptor}_addr"),
        (False, _LENGTH, f"{descriptor}_len"),
        (False, _TAG, f"{descriptor}_tag"),
        (False, 1, f"{descriptor}_valid"),
        (True, 1, f"{descriptor}_ready"),
        (True, _TAG, f"{status}_tag"),
        (True, 4, f"{status}_error"),
        (True, 1, f"{status}_valid"),
    ]


def _axi() -> list[_Port]:
    """The ports of its AXI4 manager that this project's memories use."""
    address = {"id": _ID, "addr": _ADDRESS, "len": 8, "size": 3, "burst": 2, "valid": 1}
    channels: dict[str, tuple[bool, dict[str, int]]] = {
        "aw": (True, address),
        "w": (True, {"data": _DATA, "strb": _DATA // 8, "last": 1, "valid": 1}),
        "b": (False, {"id": _ID, "resp": 2, "valid": 1}),
        "ar": (True, address),
        "r": (False, {"id": _ID, "data": _DATA, "resp": 2, "last": 1, "valid": 1}),
    }
    ports = []
    for channel, (out, fields) in channels.items():
        ports += [(out, bits, f"m_axi_{channel}{name}") for name, bits in fields.items()]
        ports.append((not out, 1, f"m_axi_{channel}ready"))
    return ports


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""
