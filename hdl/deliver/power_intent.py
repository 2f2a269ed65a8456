"""The power intent of a block in UPF 2.1 (IEEE 1801-2013): a domain that may be off, its outputs then, what is retained."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig

from .block import Block

__all__ = ["power_intent"]

_SUPPLY = """\
create_supply_port {net}
create_supply_net {net}
connect_supply_net {net} -ports {{{net}}}
"""
_CONTROL = """\
create_logic_port {net} -direction in
create_logic_net {net}
connect_logic_net {net} -ports {{{net}}}
"""

_TEXT = """\
# Power intent of {name} in UPF 2.1 (IEEE 1801-2013): all of it is one domain, which may be off.
# Connect the supplies and the controls where the block is instantiated. VDD is switched outside, VDD_ON stays.
upf_version 2.1
set_design_top {name}
set_scope .
{supplies}create_supply_set SS_{name} -function {{power VDD}} -function {{ground VSS}}
create_supply_set SS_{name}_on -function {{power VDD_ON}} -function {{ground VSS}}
create_power_domain PD_{name} -elements {{.}} -supply {{primary SS_{name}}}
add_power_state SS_{name} -state {{ON -supply_expr {{power == FULL_ON && ground == FULL_ON}} -simstate NORMAL}} \\
  -state {{OFF -supply_expr {{power == OFF}} -simstate CORRUPT}}

# {off}
# Isolate before VDD goes, and until the reset has ended. Every output is 0 then: nothing is offered, and nothing is taken.
{isolate}set_isolation ISO_{name} -domain PD_{name} -isolation_supply_set SS_{name}_on -clamp_value 0 \\
  -isolation_signal isolate -isolation_sense high -location parent -elements {{
{outputs}
}}

# {lost}
# With the variable retain set to 1 all flip-flops keep what they hold, and no reset may come: isolate, stop the clock, save;
# on the way back restore, start the clock, and end isolation.
{kept}if {{![info exists retain]}} {{
  set retain 0
}}
if {{$retain}} {{
{controls}  set_retention RET_{name} -domain PD_{name} -retention_supply_set SS_{name}_on \\
    -save_signal {{save posedge}} -restore_signal {{restore posedge}}
}}
"""

_QUIET = "Switch it off when nothing is inside: no packet is begun and not ended, and its report is taken."
_ASKED = "Ask by the Q-channel first: while qacceptn is 0, it may be off."
_AT_REST = (
    "Switch it off when both channels are at rest; --quiescence gives it a Q-channel, by which one asks."
)
_LOST = "Nothing is retained, and a reset follows: {what}."

#: The memories whose words count while nothing is in flight.
_LASTING = ("registers.", "engine.windows.", "engine.rings.coalescer.", "engine.counters.")


def power_intent(block: Block) -> str:
    """The text of ``NAME.upf``."""
    config = block.config
    off, what, kept = _QUIET, "between packets there is nothing to keep", ""
    if isinstance(config, EngineConfig):
        off = _ASKED if config.quiescence else _AT_REST
        what = "software then begins as after any reset"
        if config.registers:
            what = "software writes registers, windows and tables anew, and rings begin at index 0"
            memories = [each.path for each in block.design.memories if each.path.startswith(_LASTING)]
            kept = "# These memories must keep their words then:\n"
            kept += "".join(f"#   {path}\n" for path in memories)
    controls = "".join(_CONTROL.format(net=net) for net in ("save", "restore"))
    return _TEXT.format(
        name=block.name,
        supplies="".join(_SUPPLY.format(net=net) for net in ("VDD", "VDD_ON", "VSS")),
        isolate=_CONTROL.format(net="isolate"),
        controls="".join(f"  {line}\n" for line in controls.splitlines()),
        outputs="\n".join(f"  {port.name}" for port in block.ports if port.direction == "output"),
        off=off,
        lost=_LOST.format(what=what),
        kept=kept,
    )
