"""A quantiser or a dequantiser as a design under test, and the test plan of both."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.stream.packet import StreamDesign, Streams

#: The fields of a quantiser's report; a dequantiser has none.
REPORT = ("out of range", "first of them")


@dataclass(frozen=True)
class StageDesign(StreamDesign):
    """A quantiser or a dequantiser as ``cdma generate`` writes it."""

    block: str
    config: StageConfig = StageConfig()
    init: bool = True

    @property
    def quantises(self) -> bool:
        return self.block == STAGES[0]

    @property
    def bits_in(self) -> int:
        form = self.config.form
        return form.number_type.bits if self.quantises else form.bits

    @property
    def bits_out(self) -> int:
        form = self.config.form
        return form.bits if self.quantises else form.number_type.bits

    @property
    def streams(self) -> Streams:
        report = REPORT if self.quantises else ()
        return Streams(self.bits_out, self.config.lanes, report, length=False, may_be_empty=True)

    @property
    def summary(self) -> str:
        form = self.config.form
        between = "to" if self.quantises else "from"
        kept = ", nonzero kept" if form.keep_nonzero else ""
        return f"{self.config.lanes} x {form.number} {between} {form.bits} bits{kept}"

    def _unsaid(self) -> list[str]:
        return []

    def _codec_sources(self) -> list[bytes]:
        return []


STAGE_PLAN = TestPlan(package="cdma.verif.stream.stage.tests", names=("words",), unit="packets", budget=1000)
