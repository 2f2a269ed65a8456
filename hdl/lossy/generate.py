"""The stages as designs of their own, and their Verilog."""

from __future__ import annotations

from amaranth.hdl import Cat, Module

from cdma.hdl.spec.settings import check_choice
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.names import VERILOG_2005, Dialect, kept_words
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell, axis_ports

from .stages import Dequantiser, OutOfRange, Quantiser


def _beat(bits: int, lanes: int) -> dict[str, int]:
    """Widths of the signals of a stream; an integer of 4 bits has a bit of ``tkeep`` of its own."""
    return {"data": bits * lanes, "keep": max(1, bits // 8) * lanes, "last": 1}


def stage_ports(kind: str, config: StageConfig) -> tuple[Port, ...]:
    """The ports of a quantiser or a dequantiser."""
    number = config.form.number_type
    numbers, integers = _beat(number.bits, config.lanes), _beat(config.form.bits, config.lanes)
    to_integers = kind == STAGES[0]
    return (
        *CLOCK_AND_RESET,
        Port("step", "input", number.exponent_bits),
        *axis_ports("s_axis", "input", **(numbers if to_integers else integers)),
        *axis_ports("m_axis", "output", **(integers if to_integers else numbers)),
        *(axis_ports("m_report", "output", data=OutOfRange().size) if to_integers else ()),
    )


class StageShell(Shell):
    """AXI-Stream around a ``quantiser``, which has the port ``m_report``, or a ``dequantiser``.

    The port ``step`` is as the block has it. A beat that keeps only a part of a number, or a number above one that it does
    not keep, keeps none.
    """

    def __init__(self, kind: str, config: StageConfig) -> None:
        self.kind = kind
        self.config = config
        super().__init__(stage_ports(kind, config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        form, lanes = self.config.form, self.config.lanes
        core = Quantiser(form, lanes) if self.kind == STAGES[0] else Dequantiser(form, lanes)
        m.submodules.core = core
        beat, result = core.input.payload, core.output.payload
        keep_in, keep_out = self.port("s_axis_tkeep"), self.port("m_axis_tkeep")
        m.d.comb += [
            core.step.eq(self.port("step")),
            beat.data.eq(self.port("s_axis_tdata")),
            beat.keep.eq(kept_words(m, keep_in, len(keep_in) // lanes)),
            beat.last.eq(self.port("s_axis_tlast")),
            self.port("m_axis_tdata").eq(result.data),
            keep_out.eq(Cat(word.replicate(len(keep_out) // lanes) for word in result.keep)),
            self.port("m_axis_tlast").eq(result.last),
        ]
        self.accept(m, "s_axis", core.input)
        self.offer(m, "m_axis", core.output)
        if isinstance(core, Quantiser):
            m.d.comb += self.port("m_report_tdata").eq(core.report.payload)
            self.offer(m, "m_report", core.report)
        return m


def stage_design(
    kind: str,
    config: StageConfig,
    *,
    name: str | None = None,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    dialect: Dialect = VERILOG_2005,
) -> Verilog:
    """The Verilog of a ``quantiser`` or ``dequantiser``, called ``cdma_KIND`` by default."""
    check_choice("kind", kind, STAGES)
    name = f"cdma_{kind}" if name is None else name
    module_prefix(name, prefix)
    return emit(
        StageShell(kind, config),
        name,
        prefix=prefix,
        init=init,
        memories=memories,
        dialect=dialect,
        title=f"error-bounded {kind} with AXI-Stream ports",
        parameters=config.describe(),
    )
