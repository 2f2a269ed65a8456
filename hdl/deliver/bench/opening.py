"""The beginning of a bench: its declarations, its vectors and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from cdma.hdl.verilog.shell import Port

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


@dataclass(frozen=True)
class StreamVectors:
    """Packets for a block with streams.

    ``what``: Says in a phrase what moves.
    ``levels``: The values of inputs that are no streams, by their ports.
    ``streams``: What moves on each stream, in order: the values of its signals, such as ``tdata``, by their names.
    """

    what: str
    levels: Mapping[str, int]
    streams: Mapping[str, Sequence[Mapping[str, int]]]


@dataclass(frozen=True)
class MemoryArea:
    """The addresses of a memory: ``size`` bytes from ``base`` on."""

    base: int
    size: int


@dataclass(frozen=True)
class Transfer:
    """One descriptor for an engine.

    ``what``: Says in a sentence what it does.
    ``channel``: ``offload`` or ``prefetch``.
    ``descriptor``: Its fields, without those that are 0.
    ``source``: The name of the bytes that lie at its source; only those of an offload have to be put there.
    ``written``: The name of the bytes that must lie at its destination afterwards.
    ``completion``: The fields that its completion must have.
    """

    what: str
    channel: str
    descriptor: Mapping[str, int]
    source: str
    written: str
    completion: Mapping[str, int]


@dataclass(frozen=True)
class TransferVectors:
    """Transfers for an engine, one after the other.

    ``device``, ``host``: Its memories.
    ``units``, ``stripe_bytes``: How many ports device memory has, and the bytes that lie at one before the next one's.
    ``table``: The table of frequent values of both channels, to be written first; empty where none need be.
    ``data``: The bytes that the transfers name.
    """

    device: MemoryArea
    host: MemoryArea
    units: int
    stripe_bytes: int
    table: Sequence[int]
    data: Mapping[str, bytes]
    transfers: Sequence[Transfer]


Vectors = StreamVectors | TransferVectors


_MEMORY_TEXT = """
// A memory of BYTES bytes from BASE on, with an AXI4 port. It serves a burst of reads and a burst of writes at a time,
// and holds back now and then. What it finds wrong with a burst it says, and counts in wrong.
module {name}_tb_memory #(
  parameter DATA_BITS = 64,
  parameter ADDRESS_BITS = 64,
  parameter ID_BITS = 1,
  parameter BASE = 0,
  parameter BYTES = 4096
) (
  input aclk,
  input aresetn,
  input [ID_BITS-1:0] awid,
  input [ADDRESS_BITS-1:0] awaddr,
  input [7:0] awlen,
  input [2:0] awsize,
  input [1:0] awburst,
  input awvalid,
  output reg awready,
  input [DATA_BITS-1:0] wdata,
  input [DATA_BITS/8-1:0] wstrb,
  input wlast,
  input wvalid,
  output reg wready,
  output reg [ID_BITS-1:0] bid,
  output [1:0] bresp,
  output reg bvalid,
  input bready,
  input [ID_BITS-1:0] arid,
  input [ADDRESS_BITS-1:0] araddr,
  input [7:0] arlen,
  input [2:0] arsize,
  input [1:0] arburst,
  input arvalid,
  output reg arready,
  output reg [ID_BITS-1:0] rid,
  output reg [DATA_BITS-1:0] rdata,
  output [1:0] rresp,
  output reg rlast,
  output reg rvalid,
  input rready
);
  localparam BEAT = DATA_BITS / 8;

  reg [7:0] data [0:BYTES-1];
  integer wrong = 0;
  integer byte_lane;

  // Its bits say which channel goes on in a cycle.
  reg [15:0] random = 16'hace1;

  // The burst that is read, and the one that is written: where its next beat lies, and the beats after that one.
  reg reading, writing;
  integer read_at, read_left, write_at, write_left;

  assign bresp = 0;
  assign rresp = 0;

  // Looks at an address as it is taken.
  task look(input [63:0] address, input [7:0] len, input [2:0] size, input [1:0] burst);
    begin
      if (address < BASE || address / BEAT * BEAT + (len + 1) * BEAT > BASE + BYTES) begin
        wrong = wrong + 1;
        $display("%m: the burst at %h is not inside the memory", address);
      end
      if (address / 4096 != (address / BEAT * BEAT + len * BEAT) / 4096) begin
        wrong = wrong + 1;
        $display("%m: the burst at %h crosses a boundary of 4 KiB", address);
      end
      if ((1 << size) != BEAT || burst != 1) begin
        wrong = wrong + 1;
        $display("%m: the burst at %h is not of whole beats at rising addresses", address);
      end
    end
  endtask

  always @(posedge aclk) begin
    random <= {{random[14:0], ^(random & 16'hb400)}};
    if (!aresetn) begin
      {{reading, writing, awready, wready, bvalid, arready, rvalid}} <= 0;
    end else begin
      // Read address, then read data.
      arready <= random[0] && !reading && !arready;
      if (arvalid && arready) begin
        look(araddr, arlen, arsize, arburst);
        reading <= 1;
        rid <= arid;
        read_at <= (araddr - BASE) / BEAT * BEAT;
        read_left <= arlen;
      end
      if (!rvalid || rready) begin
        rvalid <= reading && random[3];
        if (reading && random[3]) begin
          for (byte_lane = 0; byte_lane < BEAT; byte_lane = byte_lane + 1)
            rdata[8 * byte_lane +: 8] <= data[read_at + byte_lane];
          rlast <= read_left == 0;
          reading <= read_left != 0;
          read_at <= read_at + BEAT;
          read_left <= read_left - 1;
        end
      end

      // Write address, then write data, then the response.
      awready <= random[6] && !writing && !awready && !bvalid;
      if (awvalid && awready) begin
        look(awaddr, awlen, awsize, awburst);
        writing <= 1;
        bid <= awid;
        write_at <= (awaddr - BASE) / BEAT * BEAT;
        write_left <= awlen;
      end
      wready <= random[9] && writing && !(wvalid && wready && wlast);
      if (wvalid && wready) begin
        for (byte_lane = 0; byte_lane < BEAT; byte_lane = byte_lane + 1)
          if (wstrb[byte_lane]) data[write_at + byte_lane] = wdata[8 * byte_lane +: 8];
        if (wlast != (write_left == 0)) begin
          wrong = wrong + 1;
          $display("%m: WLAST is %b, and %0d beats are left of the burst", wlast, write_left);
        end
        write_at <= write_at + BEAT;
        write_left <= write_left - 1;
        if (wlast) begin
          writing <= 0;
          bvalid <= 1;
        end
      end
      if (bvalid && bready) bvalid <= 0;
    end
  end
endmodule
"""


def memory_module(name: str) -> str:
    """The module ``NAME_tb_memory``."""
    return _MEMORY_TEXT.format(name=name)
