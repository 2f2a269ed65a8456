"""Which proofs say something about a design: those of its own configuration, and those of its blocks in smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.lossy.shell import StageShell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.shell import Shell
from cdma.options import ENGINE
from cdma.verif.proofs.about import codec_in, is_about, kinds_in
from cdma.verif.proofs.equivalence import Equivalence
from cdma.verif.proofs.ports import short_ports_proof
from cdma.verif.proofs.proof import Proof
from cdma.verif.proofs.quantised import bound_proof, exact_proof
from cdma.verif.proofs.registry import PROOFS
from cdma.verif.proofs.source import codec_source, module_source, stage_source
from cdma.verif.simulator.design import Design

__all__ = ["own_proofs", "smaller_proofs"]

#: Names the configuration of a design's own proofs.
OWN = "this configuration"


def own_proofs(design: Design) -> list[Proof | Equivalence]:
    """The proofs of exactly this configuration: its butterflies where they have a proof, the arithmetic of its error-bounded
    stage, its Verilog against its source, and for a codec the rules at its ports."""
    config = design.config
    codec = codec_in(config)
    found: list[Proof | Equivalence] = []
    if codec is not None:
        lanes = f"{codec.units} lanes"
        found += [proof for proof in PROOFS if proof.name in _butterflies(design) and proof.config == lanes]
    if isinstance(config, CodecConfig):
        found.append(short_ports_proof(design.block, config, OWN))
        if not config.pipelined:
            return [*found, codec_source(design.block, config, OWN)]
    found += [make(form, OWN) for make, form in _arithmetic(design)]
    if isinstance(config, StageConfig):
        return [*found, stage_source(design.block, config, OWN)]
    return [*found, module_source(design.block, partial(_shell, design), OWN)]


def smaller_proofs(design: Design) -> list[Proof | Equivalence]:
    """The proofs of the design's blocks in other configurations, mostly smaller ones."""
    kinds = kinds_in(_shell(design))
    own = {(proof.name, proof.config) for proof in own_proofs(design)}
    return [
        proof
        for proof in PROOFS
        if (proof.name, proof.config) not in own and is_about(proof, design.config, kinds)
    ]


def _shell(design: Design) -> Shell:
    """The module that a design is printed from."""
    config = design.config
    if isinstance(config, EngineConfig):
        return engine_shell(config)
    if isinstance(config, StageConfig):
        return StageShell(design.block, config)
    return codec_shell(design.block, config)


def _butterflies(design: Design) -> list[str]:
    names = {"compressor": "butterfly_concentrate", "decompressor": "butterfly_expand"}
    return [name for block, name in names.items() if design.block in (block, ENGINE)]


def _arithmetic(design: Design) -> Iterator[tuple[Callable[[Quantisation, str], Proof], Quantisation]]:
    """What makes the proofs of the arithmetic in a design, and of which numbers and integers."""
    config = design.config
    form = config.form if isinstance(config, StageConfig) else getattr(config, "quantisation", None)
    if form is not None:
        if design.block != STAGES[1]:
            yield bound_proof, form
        if design.block != STAGES[0]:
            yield exact_proof, form
