"""The first bench of a block with streams: packets in, packets out, in plain Verilog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent

from cdma.hdl.deliver.block import pin_lines
from cdma.hdl.deliver.wrappers import STREAM, Bus, buses_of
from cdma.hdl.verilog.shell import SCAN_ENABLE, Port

from .opening import StreamVectors, opening, watch

_WHAT = (
    "It sends {what}, and compares what comes out with the golden model, which made the vectors at the end when "
    "the block was generated. Both ends hold back now and then."
)

_PAUSES = """
  // Its bits say who holds back in a cycle.
  reg [15:0] random = 16'hace1;
  always @(posedge aclk) random <= {random[14:0], ^(random & 16'hb400)};
"""

_SOURCE = """
  // {name}: {count} go in. One that has been offered stays until it is taken.
{declarations}
  reg [{top}:0] {name}_vector [0:{last}];
  integer {name}_count = 0;

  always @(posedge aclk) begin
    if (cycle < 12) {name}_tvalid <= 0;
    else if (!{name}_tvalid || {name}_tready) begin
      {name}_tvalid <= {name}_count < {count} && random[{bit}];
      if ({name}_count < {count} && random[{bit}]) begin
        {fields} <= {name}_vector[{name}_count];
        {name}_count <= {name}_count + 1;
      end
    end
  end
"""

_SINK = """
  // {name}: {count} must come out.
{declarations}
  reg [{top}:0] {name}_vector [0:{last}];
{wanted}
  integer {name}_count = 0;

  always @(posedge aclk) begin : {name}_check
    integer part;
    {name}_tready <= cycle >= 12 && random[{bit}];
    if ({name}_tvalid && {name}_tready) begin
      {name}_count <= {name}_count + 1;
      {wants} = {name}_vector[{name}_count];
      if ({name}_count >= {count}) begin
        $display("{name}: one more than the {count} that should come");
        complain;
      end
{checks}
    end
  end
"""

_CONTROL = """\
      if ({{{found}}} !== {{{expected}}}) begin
        $display("{name}[%0d]: {names} are {formats}, expected {formats}", {name}_count,
            {found}, {expected});
        complain;
      end
"""

_DATA = """\
      for (part = 0; part < {parts}; part = part + 1)
        if ({keep}{name}_tdata[{bits} * part +: {bits}] !== {name}_data[{bits} * part +: {bits}]) begin
          $display("{name}[%0d]: {part} %0d is %h, expected %h", {name}_count, part,
              {name}_tdata[{bits} * part +: {bits}], {name}_data[{bits} * part +: {bits}]);
          complain;
        end
"""

_END = """
  // All is through: a little later, nothing more may have come.
  integer quiet = 0;
  always @(posedge aclk) begin
    if ({complete}) quiet <= quiet + 1;
    if (quiet == 100) finish;
  end

  {name} dut (
{pins}
  );

  initial begin
{vectors}
  end
endmodule
"""


def stream_testbench(name: str, ports: Sequence[Port], vectors: StreamVectors, end: str = ".v") -> str:
    """The bench of the module ``name``, whose file ends with ``end``: a module called ``NAME_tb``."""
    buses, _ = buses_of(ports)
    streams = [bus for bus in buses if bus.kind == STREAM]
    moved = sum(len(vectors.streams[bus.name]) for bus in streams)
    widths = {port.name: port.width for port in ports}
    levels = {SCAN_ENABLE.name: "1'h0"}
    levels |= {port: f"{widths[port]}'h{value:x}" for port, value in vectors.levels.items()}
    parts = [opening(name, _WHAT.format(what=vectors.what), end), _PAUSES]
    for place, bus in enumerate(streams):
        one = _Stream(bus, vectors.streams[bus.name], 3 * place)
        parts.append(one.sink() if bus.drives else one.source())
    parts.append(watch(ports, 2000 + 100 * moved))
    complete = " && ".join(f"{bus.name}_count >= {len(vectors.streams[bus.name])}" for bus in streams)
    lines = [line for bus in streams for line in _Stream(bus, vectors.streams[bus.name], 0).lines()]
    parts.append(
        _END.format(
            name=name,
            complete=complete,
            pins=indent(pin_lines(ports, levels), "  "),
            vectors="\n".join(f"    {line}" for line in lines),
        )
    )
    return "".join(parts)


class _Stream:
    """One stream of the bench: its ``values`` in order, and the ``bit`` of the random numbers that lets it go on."""

    def __init__(self, bus: Bus, values: Sequence[Mapping[str, int]], bit: int) -> None:
        self.bus, self.values = bus, values
        self.signals = [signal for signal in ("tlast", "tkeep", "tdata") if signal in bus.signals]
        self.said = {
            "name": bus.name,
            "count": len(values),
            "last": max(0, len(values) - 1),
            "bit": bit,
            "top": sum(bus.signals[signal].width for signal in self.signals) - 1,
        }

    def source(self) -> str:
        """What drives an input of the block."""
        ports = [self.bus.signals[signal] for signal in self.signals]
        lines = [f"  reg {port.range}{port.name};" for port in ports]
        lines += [f"  reg {self.bus.name}_tvalid = 0;", f"  wire {self.bus.name}_tready;"]
        fields = "{" + ", ".join(port.name for port in ports) + "}"
        return _SOURCE.format(**self.said, declarations="\n".join(lines), fields=fields)

    def sink(self) -> str:
        """What takes an output of the block and compares it."""
        name, signals = self.bus.name, self.bus.signals
        lines = [f"  wire {signals[each].range}{name}_{each};" for each in (*self.signals, "tvalid")]
        lines.append(f"  reg {name}_tready = 0;")
        wanted = [f"  reg [{signals[each].width - 1}:0] {self._wanted(each)};" for each in self.signals]
        return _SINK.format(
            **self.said,
            declarations="\n".join(lines),
            wanted="\n".join(wanted),
            wants="{" + ", ".join(map(self._wanted, self.signals)) + "}",
            checks=self._checks(),
        )

    def _wanted(self, signal: str) -> str:
        return f"{self.bus.name}_{signal.removeprefix('t')}"

    def _checks(self) -> str:
        """Beats are compared byte by byte, as far as they keep bytes; what has no keep is compared as a whole."""
        name, signals = self.bus.name, self.bus.signals
        bits = signals["tdata"].width
        if "tkeep" not in signals:
            return _DATA.format(name=name, keep="", parts=1, bits=bits, part="word").rstrip()
        parts = signals["tkeep"].width
        control = [each for each in self.signals if each != "tdata"]
        compared = _CONTROL.format(
            name=name,
            names=" and ".join(control),
            formats=" and ".join("%h" for _ in control),
            found=", ".join(f"{name}_{each}" for each in control),
            expected=", ".join(map(self._wanted, control)),
        )
        part = "byte" if bits == 8 * parts else "word"
        keep = f"{name}_keep[part] && "
        data = _DATA.format(name=name, keep=keep, parts=parts, bits=bits // parts, part=part)
        return (compared + data).rstrip()

    def lines(self) -> list[str]:
        """The assignments of the vectors."""
        return [
            f"{self.bus.name}_vector[{index}] = {self._literal(values)};"
            for index, values in enumerate(self.values)
        ]

    def _literal(self, values: Mapping[str, int]) -> str:
        parts = []
        for signal in self.signals:
            width = self.bus.signals[signal].width
            parts.append(f"{width}'h{values[signal]:0{-(-width // 4)}x}")
        return "{" + ", ".join(parts) + "}" if len(parts) > 1 else parts[0]
