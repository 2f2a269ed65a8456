"""The register model for UVM, which PeakRDL makes from the SystemRDL; it comes with the extra ``verif``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cdma.hdl.verilog.names import legal_name

__all__ = ["uvm_file", "uvm_model"]


def uvm_file(name: str) -> str:
    """The file of the model."""
    return f"{name}_uvm.sv"


def uvm_model(rdl: str, name: str) -> str | None:
    """The package ``NAME_uvm`` in SystemVerilog; None where PeakRDL is not installed."""
    try:
        from peakrdl_uvm import UVMExporter
        from systemrdl import RDLCompiler
        from systemrdl.node import Node
    except ImportError:
        return None

    class Exporter(UVMExporter):
        """Registers and fields keep their names, but for those that are words of the language."""

        def _get_inst_name(self, node: Node) -> str:
            return legal_name(node.inst_name, ())

    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        source, target = Path(folder) / "registers.rdl", Path(folder) / uvm_file(name)
        source.write_text(rdl, encoding="utf-8")
        compiler = RDLCompiler()
        compiler.compile_file(str(source))
        Exporter().export(compiler.elaborate().top, str(target))
        return target.read_text(encoding="utf-8")
