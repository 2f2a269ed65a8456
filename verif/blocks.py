"""What a regression runs on, by the name of the block: its class of designs, and its plan."""

from __future__ import annotations

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.plan import ENGINE_PLAN
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.plan import CODEC_PLAN
from cdma.verif.stream.stage.design import StageDesign
from cdma.verif.stream.stage.plan import STAGE_PLAN

__all__ = ["design_of", "plan_of"]


def design_of(block: str, config: CodecConfig | StageConfig | EngineConfig, *, init: bool = True) -> Design:
    """The design of a block with these parameters, with or without initial values."""
    if isinstance(config, EngineConfig):
        return EngineDesign(config, init)
    if isinstance(config, StageConfig):
        return StageDesign(block, config, init)
    return CodecDesign(block, config, init)


def plan_of(design: Design) -> TestPlan:
    """The plan of a codec, of an error-bounded stage or of an engine."""
    if design.block in BLOCKS:
        return CODEC_PLAN
    return STAGE_PLAN if design.block in STAGES else ENGINE_PLAN
