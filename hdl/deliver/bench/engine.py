"""The first bench of an engine: a tensor to host memory and back, in plain Verilog."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from cdma.hdl.deliver.block import pin_lines
from cdma.hdl.deliver.wrappers import AXI4, AXI_LITE, STREAM, Bus, buses_of, clocks_of
from cdma.hdl.spec.options import reset_of
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, RecordField
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.verilog.shell import Port

from .control import register_control, stream_control
from .opening import Transfer, TransferVectors, memory_module, opening, watch

_WHAT = (
    "A tensor goes from device memory through the engine to host memory, and back to another place in device memory. "
    "After each transfer its completion, and every byte of both memories, are compared with the golden model, which made "
    "the vectors at the end when the engine was generated."
)

#: Bytes in a line of a vector.
_LINE = 32
#: Cycles after which the bench gives up, beside those for each byte that is moved.
_LIMIT = 20_000

_SCENE = """
  // The memories, and what they must have in them.
  localparam [63:0] DEVICE = 64'h{device.base:x}, HOST = 64'h{host.base:x};
  localparam DEVICE_BYTES = {device.size}, HOST_BYTES = {host.size};
  reg [7:0] device_expected [0:DEVICE_BYTES-1];
  reg [7:0] host_expected [0:HOST_BYTES-1];

{wires}

  {name} dut (
{pins}
  );
"""

_MEMORY = """
  {name}_tb_memory #(
    .DATA_BITS({bus.data_bits}), .ADDRESS_BITS({address_bits}), .ID_BITS({id_bits}),
    .BASE({place}), .BYTES({place}_BYTES)
  ) {instance} (
    .aclk({clock}), .aresetn({reset}),
{pins}
  );
"""

_ONE_DEVICE = """
  task put_device(input integer at, input [7:0] value);
    device.data[at] = value;
  endtask

  function [7:0] device_byte(input integer at);
    device_byte = device.data[at];
  endfunction
"""

_SEVERAL_DEVICES = """
  // The ports of device memory have {stripe} bytes each, in turn.
  task put_device(input integer at, input [7:0] value);
    case ((DEVICE + at) / {stripe} % {units})
{puts}
    endcase
  endtask

  function [7:0] device_byte(input integer at);
    case ((DEVICE + at) / {stripe} % {units})
{gets}
    endcase
  endfunction
"""

_CHECKS = """
  task check(input [8*16-1:0] what, input [63:0] found, input [63:0] expected);
    if (found !== expected) begin
      $display("completion: %0s is %0d, expected %0d", what, found, expected);
      complain;
    end
  endtask

  // Every byte of both memories: what had to be written, and all that had to stay.
  task check_memories;
    integer place;
    begin
      for (place = 0; place < DEVICE_BYTES; place = place + 1)
        check_byte("device", DEVICE + place, device_byte(place), device_expected[place]);
      for (place = 0; place < HOST_BYTES; place = place + 1)
        check_byte("host", HOST + place, host.data[place], host_expected[place]);
    end
  endtask

  task check_byte(input [8*6-1:0] memory, input [63:0] address, input [7:0] found, input [7:0] expected);
    if (found !== expected) begin
      if (wrong < 20) $display("%0s memory, address %h: found %h, expected %h", memory, address, found, expected);
      complain;
    end
  endtask
"""

_TEST = """
  integer at;

  // The test. It is an always block, which finish ends, because some simulators take no <= in an initial one.
  always begin
    for (at = 0; at < DEVICE_BYTES; at = at + 1) begin
      put_device(at, 8'h5a);
      device_expected[at] = 8'h5a;
    end
    for (at = 0; at < HOST_BYTES; at = at + 1) begin
      host.data[at] = 8'h5a;
      host_expected[at] = 8'h5a;
    end
    while (cycle < 20) @(posedge aclk);
    start;
{transfers}
    wrong = wrong{port_errors};
    finish;
  end
"""

_PUT = """\
    for (at = 0; at < {bytes}; at = at + 1) begin
      put_device({at} + at, {name}[at / {line}][8 * (at % {line}) +: 8]);
      device_expected[{at} + at] = {name}[at / {line}][8 * (at % {line}) +: 8];
    end
"""

_TRANSFER = """
    // {channel}: {transfer.what}
{put}    for (at = 0; at < {bytes}; at = at + 1)
      {target}_expected[{at} + at] = {transfer.written}[at / {line}][8 * (at % {line}) +: 8];
    descriptor = 0;
{fields}
    submit({channel});
{checks}
    check_memories;
    $display("{transfer.channel}: {read} bytes became {bytes}");
"""


def engine_testbench(
    name: str, ports: Sequence[Port], registers: RegisterMap | None, vectors: TransferVectors, end: str = ".v"
) -> str:
    """The bench of the engine ``name``, whose file ends with ``end``: a module called ``NAME_tb``, and its memories.

    ``registers`` is None for an engine that takes descriptors as streams.
    """
    if registers is None:
        control = stream_control(ports, vectors)
    else:
        control = register_control(ports, registers, vectors)
    buses = [bus for bus in buses_of(ports)[0] if bus.kind == AXI4]
    moved = sum(
        len(vectors.data[each.source]) + len(vectors.data[each.written]) for each in vectors.transfers
    )
    scene = _SCENE.format(
        name=name,
        device=vectors.device,
        host=vectors.host,
        wires="\n".join(_declared(port, control.driven) for port in ports if not port.times),
        pins=indent(pin_lines(ports), "  "),
    )
    test = _TEST.format(
        transfers="".join(_transfer(each, vectors) for each in vectors.transfers),
        port_errors="".join(f" + {_instance(bus)}.wrong" for bus in buses),
    )
    clock = next(each.clock for each in buses_of(ports)[0] if each.kind in (AXI_LITE, STREAM))
    others = (each for each in clocks_of(ports) if each != clock)
    parts = [
        _timed(opening(name, _WHAT, end), clock),
        *(_other_clock(index, each) for index, each in enumerate(others)),
        *(_declared_vector(each, data) for each, data in vectors.data.items()),
        scene,
        _timed(watch(ports, _LIMIT + 4 * moved), clock),
        *(_memory(name, bus) for bus in buses),
        _device_access(vectors),
        _record("descriptor", DESCRIPTOR, {name for each in vectors.transfers for name in each.descriptor}),
        _record("completion", COMPLETION, {name for each in vectors.transfers for name in each.completion}),
        _timed(control.text, clock),
        _CHECKS,
        _timed(test, clock),
        *(_vector(each, data) for each, data in vectors.data.items()),
        "endmodule\n",
        memory_module(name),
    ]
    return "".join(parts)


def _other_clock(index: int, clock: str) -> str:
    """A clock that is not the bench's own, and its reset."""
    reset = reset_of(clock)
    return (
        f"\n  reg {clock} = 0, {reset} = 0;\n  always #{3 + index} {clock} = ~{clock};\n"
        f"  always @(posedge {clock}) {reset} <= cycle >= 7;\n"
    )


def _timed(text: str, clock: str) -> str:
    """The text of a bench whose own clock is another one than ``aclk``."""
    text = re.sub(r"(?<!\.)\baclk\b", clock, text)
    return re.sub(r"(?<!\.)\baresetn\b", reset_of(clock), text)


def _declared(port: Port, driven: Mapping[str, int]) -> str:
    if port.name not in driven:
        return f"  wire {port.range}{port.name};"
    return f"  reg {port.range}{port.name} = {port.width}'h{driven[port.name]:x};"


def _instance(bus: Bus) -> str:
    """The memory at a port: ``device`` or ``host``, with the number of the unit."""
    return bus.name.removeprefix("m_axi_").replace("dev", "device")


def _memory(name: str, bus: Bus) -> str:
    asked = "awid awaddr awlen awsize awburst awvalid awready wdata wstrb wlast wvalid wready bid bresp bvalid bready"
    asked += " arid araddr arlen arsize arburst arvalid arready rid rdata rresp rlast rvalid rready"
    pins = ",\n".join(f"    .{signal}({bus.name}_{signal})" for signal in asked.split())
    return _MEMORY.format(
        name=name,
        bus=bus,
        clock=bus.clock,
        reset=reset_of(bus.clock),
        address_bits=bus.signals["awaddr"].width,
        id_bits=bus.signals["awid"].width,
        place="HOST" if _instance(bus) == "host" else "DEVICE",
        instance=_instance(bus),
        pins=pins,
    )


def _device_access(vectors: TransferVectors) -> str:
    """How the bench reads and writes a byte of device memory."""
    if vectors.units == 1:
        return _ONE_DEVICE
    units = range(vectors.units)
    return _SEVERAL_DEVICES.format(
        stripe=vectors.stripe_bytes,
        units=vectors.units,
        puts="\n".join(f"      {unit}: device{unit}.data[at] = value;" for unit in units),
        gets="\n".join(f"      {unit}: device_byte = device{unit}.data[at];" for unit in units),
    )


def _fields(record: Sequence[RecordField]) -> Iterator[tuple[RecordField, int]]:
    """Each field of a record and its lowest bit."""
    low = 0
    for field in record:
        yield field, low
        low += field.bits


def _record(what: str, record: Sequence[RecordField], used: set[str]) -> str:
    """A record as a vector of bits, and where those of its fields begin that are used."""
    lines = [
        f"  localparam {_constant(what, field.name)} = {low};  // {field.bits} bits"
        for field, low in _fields(record)
        if field.name in used
    ]
    return "\n".join(["", f"  reg [{8 * RECORD_BYTES - 1}:0] {what};", *lines, ""])


def _constant(what: str, field: str) -> str:
    """The name of a field's place. Descriptor and completion share the names of some fields."""
    return f"{'D' if what == 'descriptor' else 'C'}_{field}".upper()


def _transfer(transfer: Transfer, vectors: TransferVectors) -> str:
    offloads = transfer.channel == "offload"
    source, target = (vectors.device, vectors.host) if offloads else (vectors.host, vectors.device)
    put = ""
    if offloads:
        put = _PUT.format(
            bytes=len(vectors.data[transfer.source]),
            at=transfer.descriptor["source"] - source.base,
            name=transfer.source,
            line=_LINE,
        )
    bits = {field.name: field.bits for field in DESCRIPTOR}
    fields = [
        f"    descriptor[{_constant('descriptor', name)} +: {bits[name]}] = {bits[name]}'h{value:x};"
        for name, value in transfer.descriptor.items()
    ]
    bits = {field.name: field.bits for field in COMPLETION}
    checks = [
        f'    check("{name}", completion[{_constant("completion", name)} +: {bits[name]}], 64\'d{value});'
        for name, value in transfer.completion.items()
    ]
    return _TRANSFER.format(
        transfer=transfer,
        channel=transfer.channel.upper(),
        put=put,
        bytes=len(vectors.data[transfer.written]),
        read=len(vectors.data[transfer.source]),
        target="host" if offloads else "device",
        at=transfer.descriptor["destination"] - target.base,
        line=_LINE,
        fields="\n".join(fields),
        checks="\n".join(checks),
    )


def _lines(data: bytes) -> list[bytes]:
    return [data[start : start + _LINE] for start in range(0, len(data), _LINE)]


def _declared_vector(name: str, data: bytes) -> str:
    return (
        f"\n  // {len(data)} bytes, in each line the lowest address on the right.\n"
        f"  reg [{8 * _LINE - 1}:0] {name} [0:{len(_lines(data)) - 1}];\n"
    )


def _vector(name: str, data: bytes) -> str:
    """The assignments of what :func:`_declared_vector` declares."""
    assigned = "\n".join(
        f"    {name}[{index}] = {8 * _LINE}'h{int.from_bytes(line, 'little'):0{2 * _LINE}x};"
        for index, line in enumerate(_lines(data))
    )
    return f"\n  initial begin\n{assigned}\n  end\n"
