"""The ports of a register file: what hardware sees of its registers, and how it reads and writes their memory."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Block,
    Field,
    Register,
)

__all__ = ["ChangeLayout", "ExternalSignature", "ReportLayout", "StoredSignature", "block_signature"]


class ExternalSignature(wiring.Signature):
    """How the register file reads a block that others keep.

    ``request``, ``word``
        Ask for a register, by its number in the block. They stay until ``done``.
    ``done``, ``data``
        The register's value, in the same cycle or any later one. ``data`` is 0 while nothing is asked for.
    """

    def __init__(self, block: Block) -> None:
        words = block.span // REGISTER_BYTES
        super().__init__(
            {"request": Out(1), "word": Out(range(words)), "done": In(1), "data": In(REGISTER_BITS)},
        )


class StoredSignature(wiring.Signature):
    """How hardware reads the memory of registers, seen from hardware.

    ``data`` is the word at the ``index`` of one cycle before.
    """

    def __init__(self, words: int) -> None:
        super().__init__({"index": Out(range(words)), "data": In(REGISTER_BITS)})


class ReportLayout(data.StructLayout):
    """What hardware writes into the memory of registers, and at which ``index``."""

    def __init__(self, words: int) -> None:
        super().__init__({"index": range(words), "data": REGISTER_BITS})


class ChangeLayout(data.StructLayout):
    """What is written into the memory of registers in a cycle: the bytes of ``data`` that ``enable`` names."""

    def __init__(self, words: int) -> None:
        super().__init__({"index": range(words), "data": REGISTER_BITS, "enable": REGISTER_BYTES})


def _field_member(field: Field) -> wiring.Member | None:
    match field.access:
        case Access.CONSTANT:
            return None
        case Access.RO:
            return In(field.bits)
        case Access.PULSE:
            return Out(field.bits)
        case Access.W1C:
            return Out(wiring.Signature({"set": In(field.bits), "value": Out(field.bits, init=field.reset)}))
        case _:
            return Out(field.bits, init=field.reset)


def _register_signature(register: Register) -> wiring.Signature:
    members = {field.name: _field_member(field) for field in register.fields if not field.in_memory}
    if register.count:
        members = {name: member and member.array(register.count) for name, member in members.items()}
    return wiring.Signature({name: member for name, member in members.items() if member is not None})


def block_signature(block: Block) -> wiring.Signature:
    """What hardware sees of one instance of ``block``: ``register.field``, or ``register.field[index]``.

    A read-only field is an input and any other an output, seen from the register file; a field of access
    ``W1C`` has ``set`` and ``value``. Constant fields have no port, nor have fields in memory.
    """
    if block.external:
        return ExternalSignature(block)
    signatures = {register.name: _register_signature(register) for register in block.registers}
    return wiring.Signature(
        {name: Out(signature) for name, signature in signatures.items() if signature.members}
    )
