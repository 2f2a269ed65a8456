"""Descriptors and completions through registers, without rings."""

from __future__ import annotations

from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    RecordOptions,
    completion_fields,
)
from cdma.hdl.spec.registers.push import push_words
from cdma.hdl.spec.registers.record_parts import record_parts
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
    extension = None if descriptor.shape is None else unpack(SHAPE_RECORD, raw[RECORD_BYTES:])
    for register, word in push_words(options, unpack(DESCRIPTOR, raw[:RECORD_BYTES]), extension).items():
        registers.write(register, word)
    registers.set("push.submit", **{channel: 1})


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
