"""Whether a mutant of a codec keeps the rules of streams at its ports, as a proof on its Verilog says."""

from __future__ import annotations

from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.proofs.ports import short_ports_proof
from cdma.verif.proofs.result import FAILED
from cdma.verif.proofs.runner import run_proof
from cdma.verif.simulator.design import Design

from .mutants import Mutant, read_netlist

__all__ = ["broken_rules"]


def broken_rules(design: Design, mutant: Mutant, seconds: int = 60) -> str:
    """The assertions that some input breaks; none if the rules hold, or that does not come out in the time, or for a design
    without such a proof."""
    if design.block not in BLOCKS:
        return ""
    text = _alone(design, mutant)
    proof = short_ports_proof(design.block, design.config, "a mutant", verilog=lambda: text)
    result = run_proof(proof, timeout=seconds, use_cache=False)
    return result.detail if result.status == FAILED else ""


def _alone(design: Design, mutant: Mutant) -> str:
    """The Verilog of the design with this fault."""
    script = f"{mutant.command}\nopt_clean\nwrite_verilog -noattr mutated.v\n"
    return read_netlist(design.verilog(), design.top, script, "mutated.v")
