"""Descriptors and completions through registers, without rings."""

from __future__ import annotations

from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    RecordOptions,
    completion_fields,
    descriptor_fields,
)
from cdma.hdl.spec.registers.record_parts import RecordPart, record_parts
from cdma.hdl.spec.registers.shape import shape_parts
from cdma.hdl.spec.shape_record import SHAPE_RECORD
from cdma.sim.engine.descriptors import Completion, Descriptor, pack, unpack

from .registers import Registers

__all__ = ["push_pending", "read_completion", "write_descriptor"]


def push_pending(registers: Registers) -> bool:
    """Whether the descriptor in the registers still waits for its channel, either one."""
    return bool(registers.fields("push.status")["pending"])


def write_descriptor(
    registers: Registers, channel: str, descriptor: Descriptor, options: RecordOptions
) -> None:
    """Hands a descriptor over to an engine with ``options``; none may be pending."""
    raw = descriptor.pack()
    parts = [(f"push.{part.register}", part) for part in record_parts(descriptor_fields(options), "flags")]
    _write(registers, parts, unpack(DESCRIPTOR, raw[:RECORD_BYTES]))
    if descriptor.shape is not None:
        parts = [(f"shape.{name}", part) for name, part in shape_parts()]
        _write(registers, parts, unpack(SHAPE_RECORD, raw[RECORD_BYTES:]))
    registers.set("push.submit", **{channel: 1})


def _write(registers: Registers, parts: list[tuple[str, RecordPart]], values: dict[str, int]) -> None:
    """Writes a record into the registers that have its parts."""
    words: dict[str, int] = {}
    for register, part in parts:
        bits = values[part.record.name] >> part.start & (1 << part.bits) - 1
        words[register] = words.get(register, 0) | bits << part.lsb
    for register, word in words.items():
        registers.write(register, word)


def read_completion(registers: Registers, channel: str, options: RecordOptions) -> Completion | None:
    """Takes the completion that waits in the registers of a channel; None if there is none."""
    if not registers.fields(f"{channel}.status")["completion_waiting"]:
        return None
    values: dict[str, int] = {}
    for part in record_parts(completion_fields(options), "result"):
        word = registers.read(f"{channel}.completion_{part.register}")
        bits = word >> part.lsb & (1 << part.bits) - 1
        values[part.record.name] = values.get(part.record.name, 0) | bits << part.start
    registers.set(f"{channel}.command", pop_completion=1)
    return Completion.unpack(pack(COMPLETION, values))
