"""How the first bench of an engine drives it: by its registers, or by descriptor streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdma.hdl.spec.options import USUAL_PROT
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BYTES, RegisterMap
from cdma.hdl.verilog.shell import Port

from .opening import TransferVectors

_CHANNELS = ("offload", "prefetch")
#: Registers that a descriptor or a completion takes.
_WORDS = RECORD_BYTES // REGISTER_BYTES
#: The request of the Q-channel, where there is one, while the engine is to run.
_RUNNING = {"qreqn": 1}


@dataclass(frozen=True)
class Control:
    """The text of the tasks ``start`` and ``submit``, and the inputs of the engine that they drive: the value with which
    each begins, by its port."""

    text: str
    driven: dict[str, int]


_REGISTERS = """
  // Registers: each channel has the same ones.
  localparam OFFLOAD = {offload}, PREFETCH = {prefetch};
{names}

  task write_register(input [{top}:0] address, input [31:0] value);
    reg address_waits, data_waits;
    begin
      s_axil_awaddr <= address;
      s_axil_awvalid <= 1;
      s_axil_wdata <= value;
      s_axil_wvalid <= 1;
      address_waits = 1;
      data_waits = 1;
      while (address_waits || data_waits) begin
        @(posedge aclk);
        if (s_axil_awready) begin
          s_axil_awvalid <= 0;
          address_waits = 0;
        end
        if (s_axil_wready) begin
          s_axil_wvalid <= 0;
          data_waits = 0;
        end
      end
      while (!s_axil_bvalid) @(posedge aclk);
      s_axil_bready <= 1;
      @(posedge aclk);
      s_axil_bready <= 0;
      if (s_axil_bresp !== 0) begin
        $display("the write to register %h is answered %b", address, s_axil_bresp);
        complain;
      end
      @(posedge aclk);
    end
  endtask

  task read_register(input [{top}:0] address, output [31:0] value);
    reg address_waits;
    begin
      s_axil_araddr <= address;
      s_axil_arvalid <= 1;
      address_waits = 1;
      while (address_waits) begin
        @(posedge aclk);
        address_waits = !s_axil_arready;
      end
      s_axil_arvalid <= 0;
      while (!s_axil_rvalid) @(posedge aclk);
      value = s_axil_rdata;
      s_axil_rready <= 1;
      @(posedge aclk);
      s_axil_rready <= 0;
      if (s_axil_rresp !== 0) begin
        $display("the read of register %h is answered %b", address, s_axil_rresp);
        complain;
      end
      @(posedge aclk);
    end
  endtask

  // Opens all addresses. Both channels take descriptors from registers, and leave completions there.
  task start;
    begin
{start}
    end
  endtask

  // Hands the descriptor to a channel, and waits for its completion. The reserved words have no registers.
  task submit(input [{top}:0] channel);
    integer word;
    reg [31:0] value;
    begin
      for (word = 0; word < {words}; word = word + 1)
        if (DESCRIPTOR_WORDS[word]) write_register(PUSH + 4 * word, descriptor[32 * word +: 32]);
      write_register(PUSH_SUBMIT, channel == OFFLOAD ? {to_offload} : {to_prefetch});
      value = 0;
      while (!(value & COMPLETION_WAITING)) read_register(channel + STATUS, value);
      completion = 0;
      for (word = 0; word < {words}; word = word + 1)
        if (COMPLETION_WORDS[word]) begin
          read_register(channel + COMPLETION + 4 * word, value);
          completion[32 * word +: 32] = value;
        end
      write_register(channel + COMMAND, POP_COMPLETION);
    end
  endtask
"""


def register_control(ports: Sequence[Port], registers: RegisterMap, vectors: TransferVectors) -> Control:
    """By registers, without rings."""
    channel, push = registers.block("channel"), registers.block("push")
    bases = dict(channel.instances)
    ((_, push_base),) = push.instances
    completion = channel.register("completion_tag").offset
    names = {
        "CONTROL": channel.register("control").offset,
        "COMMAND": channel.register("command").offset,
        "STATUS": channel.register("status").offset,
        "COMPLETION": completion,
        "PUSH": push_base,
        "PUSH_SUBMIT": push_base + push.register("submit").offset,
        "ENABLE": channel.field("control.enable").mask,
        "COMPLETION_WAITING": channel.field("status.completion_waiting").mask,
        "POP_COMPLETION": channel.field("command.pop_completion").mask,
    }
    lines = [f"  localparam {name} = {_hex(value)};" for name, value in names.items()]
    for name, base, block in (("DESCRIPTOR_WORDS", 0, push), ("COMPLETION_WORDS", completion, channel)):
        places = {(each.offset - base) // REGISTER_BYTES for each in block.registers}
        words = sum(1 << place for place in places if 0 <= place < _WORDS)
        lines.append(f"  localparam [{_WORDS - 1}:0] {name} = {_WORDS}'b{words:0{_WORDS}b};")
    writes = [
        f"      write_register({_hex(registers[f'{name}_window.{edge}_{half}'].address)}, {_hex(value)});"
        for name in ("dev", "host")
        for edge, value in (("base", 0), ("limit", 0xFFFFFFFF))
        for half in ("low", "high")
    ]
    for side in ("OFFLOAD", "PREFETCH"):
        if vectors.table:
            table = channel.register("table").offset
            writes += [
                f"      write_register({side} + {_hex(table + REGISTER_BYTES * index)}, {_hex(entry)});"
                for index, entry in enumerate(vectors.table)
            ]
        writes.append(f"      write_register({side} + CONTROL, ENABLE);")
    text = _REGISTERS.format(
        offload=_hex(bases["offload"]),
        prefetch=_hex(bases["prefetch"]),
        names="\n".join(lines),
        top=registers.address_bits - 1,
        start="\n".join(writes),
        words=_WORDS,
        to_offload=push.field("submit.offload").mask,
        to_prefetch=push.field("submit.prefetch").mask,
    )
    inputs = [
        port.name
        for port in ports
        if port.direction == "input" and port.name.startswith(("s_axil_", *_RUNNING)) and not port.times
    ]
    begins = {"wstrb": 0b1111, "prot": USUAL_PROT, **_RUNNING}
    return Control(
        text,
        {name: next((value for end, value in begins.items() if name.endswith(end)), 0) for name in inputs},
    )


_STREAMS = """
  localparam OFFLOAD = 0, PREFETCH = 1;

  task start;
    begin
      offload_enable <= 1;
      prefetch_enable <= 1;
    end
  endtask

  // Hands the descriptor to a channel, and waits for its completion.
  task submit(input channel);
    begin
      if (channel == OFFLOAD) begin
{offload}
      end else begin
{prefetch}
      end
    end
  endtask
"""

_SUBMIT = """\
        s_{channel}_descriptor_tdata <= descriptor;
        s_{channel}_descriptor_tvalid <= 1;
        m_{channel}_completion_tready <= 1;
        @(posedge aclk);
        while (!s_{channel}_descriptor_tready) @(posedge aclk);
        s_{channel}_descriptor_tvalid <= 0;
        while (!m_{channel}_completion_tvalid) @(posedge aclk);
        completion = m_{channel}_completion_tdata;
        m_{channel}_completion_tready <= 0;
        @(posedge aclk);"""


def stream_control(ports: Sequence[Port], vectors: TransferVectors) -> Control:
    """By streams of descriptors and completions; the windows are all addresses."""
    driven = dict(_idle(ports, vectors))
    offload, prefetch = (_SUBMIT.format(channel=channel) for channel in _CHANNELS)
    return Control(_STREAMS.format(offload=offload, prefetch=prefetch), driven)


def _idle(ports: Sequence[Port], vectors: TransferVectors) -> Iterator[tuple[str, int]]:
    for port in ports:
        if port.direction == "output" or port.times or port.name.startswith("m_axi_"):
            continue
        value = _RUNNING.get(port.name, 0)
        if port.name.endswith("_window_limit"):
            value = (1 << port.width) - 1
        elif port.name.endswith("_values") and vectors.table:
            bits = port.width // len(vectors.table)
            value = sum(entry << index * bits for index, entry in enumerate(vectors.table))
        yield port.name, value


def _hex(value: int) -> str:
    return f"'h{value:x}"
