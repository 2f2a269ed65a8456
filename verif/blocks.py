"""The kinds of designs that a regression runs on, by the names of their blocks: their classes and their plans."""

from __future__ import annotations

from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.plan import ENGINE_PLAN
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.plan import CODEC_PLAN
from cdma.verif.stream.stage.design import StageDesign
from cdma.verif.stream.stage.plan import STAGE_PLAN

__all__ = ["design_from_json", "plan_of"]


def design_from_json(block: str, text: str) -> Design:
    """The design of a block that its ``to_json`` wrote."""
    kind: type[Design] = CodecDesign if block in BLOCKS else StageDesign if block in STAGES else EngineDesign
    return kind.from_json(text)


def plan_of(design: Design) -> TestPlan:
    """The plan of a codec, of an error-bounded stage or of an engine."""
    if design.block in BLOCKS:
        return CODEC_PLAN
    return STAGE_PLAN if design.block in STAGES else ENGINE_PLAN
