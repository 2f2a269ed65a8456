"""What all first benches begin with: clock, reset, a check of idle outputs, and the line at the end."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from cdma.hdl.verilog.ports import Port

__all__ = ["opening", "watch"]

_TEXT = """\
//
//   iverilog {standard} -o {name}_tb {name}{end} {name}_tb.v && vvp -N {name}_tb
//
// The last line says PASS or FAIL. After a FAIL the simulation stops ($stop) where another one finishes, so that
// vvp -N, and a program that Verilator has made, end with an error.
//
// verilator lint_off WIDTH
module {name}_tb;
  reg aclk = 0;
  reg aresetn = 0;
  integer cycle = 0;
  integer wrong = 0;

  always #5 aclk = ~aclk;

  task complain;
    wrong = wrong + 1;
  endtask

  task finish;
    begin
      if (wrong == 0) $display("PASS: {name}, %0d cycles", cycle);
      else begin
        $display("FAIL: {name}, %0d errors", wrong);
        $stop;
      end
      $finish;
    end
  endtask
"""


_WATCH = """
  always @(posedge aclk) begin
    cycle <= cycle + 1;
    aresetn <= cycle >= 7;
    // Nothing has gone in so far: no output is unknown, and nothing is offered.
    if (cycle > 3 && cycle < 12) begin
      if ({{{offers}}} !== 0 || ^{{{known}}} === 1'bx) begin
        $display("cycle %0d: a control output is unknown, or something is offered", cycle);
        complain;
      end
    end
    if (cycle == {limit}) begin
      $display("cycle %0d: it has not come to its end", cycle);
      complain;
      finish;
    end
  end
"""


def opening(name: str, what: str, end: str) -> str:
    """The head of the bench of the module ``name``, whose file ends with ``end``; ``what`` says in sentences what the bench
    does."""
    about = f"A first bench for {name}, for any simulator. {what}"
    standard = "-g2005" if end == ".v" else "-g2012"
    text = _TEXT.format(name=name, end=end, standard=standard)
    return fill(about, 112, initial_indent="// ", subsequent_indent="// ") + "\n" + text


def watch(ports: Sequence[Port], limit: int) -> str:
    """The reset, a look at the outputs before anything goes in, at cycle 12, and the end of all patience after ``limit``
    cycles. It stands behind the declarations of the nets that have the names of the ports."""
    outputs = [port.name for port in ports if port.direction == "output"]
    offers = [port for port in outputs if port.endswith("valid") or port in ("irq", "alert")]
    ready = [port for port in outputs if port.endswith("ready")]
    return _WATCH.format(limit=limit, offers=", ".join(offers), known=", ".join([*offers, *ready]))
