"""The ports of a register file: what hardware sees of its registers, and how it reads and writes their memory.

The bundles between the register block and the engine, named from the register block's side.

``Out`` is driven by the register block, ``In`` by the engine. Pulses are high for one cycle. Both sides are
in one clock domain.
"""

from __future__ import annotations

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.engine.channel.interfaces import ChannelControl, ChannelStatus, OwnerLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import LEVEL_BITS, LIMIT_BITS, PERIOD_BITS, SIDEBAND_TARGETS
from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Block,
    Field,
    Register,
    RegisterMap,
)

#: The addresses that the engine may touch: ``base`` to ``limit``, both included, in units of 4 KiB. The low 12 bits
#: count as 0 in the base and as ones in the limit. Nothing is allowed where ``limit`` is below ``base``.
Window = data.StructLayout({"base": 64, "limit": 64})


class MessageSignature(wiring.Signature):
    """What concerns the messages of a channel. Bits are those of ``irq_status``.

    ``shown``: Those that are set and enabled.
    ``comes``: Pulses: one is set in the next cycle, maybe anew.
    ``pending``: A message is to be written, or its write is not answered yet.
    ``failed``: Pulse: one was answered with an error.
    """

    def __init__(self) -> None:
        super().__init__({"shown": Out(2), "comes": Out(2), "pending": In(1), "failed": In(1)})


class ChannelSignature(wiring.Signature):
    """Control and status of one channel."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                **ChannelControl(config).members,
                "ring_enable": Out(1),  # of the ring of descriptors, and ...
                "completions_enable": Out(1),  # ... that of completions
                "push": Out(1),  # a descriptor waits in the registers for this channel, until ...
                "push_taken": In(1),  # ... this pulse
                "completion_waiting": In(1),  # one is in the registers, until ...
                "pop": Out(1),  # ... this pulse
                "hold_counters": Out(1),  # readers of the counters see the values of one moment ...
                "counters_held": In(1),  # ... while this is high
                "completion_irq": In(1),  # pulse: sets the interrupt status bit
                "error_irq": In(1),  # pulse
                "status": In(ChannelStatus),
                "error_valid": In(1),  # the first error since the last error_clear is in the registers
                "error_clear": Out(1),  # pulse
                **_sideband(config),
                **optional(config.msi, message=Out(MessageSignature())),
                # Whose the rings are; it changes under no transaction.
                **optional(config.records.owner_bits, ring_owner=Out(OwnerLayout(config.records))),
            }
        )


def _of_memories(config: EngineConfig) -> dict[str, wiring.Member]:
    """What is found in coded memories: in those of the engine, as pulses; and while a register is lost."""
    if not config.coded_memories:
        return {}
    return {"word_corrected": In(1), "word_lost": In(1), "register_lost": Out(1)}


def _sideband(config: EngineConfig) -> dict[str, Out]:
    """What addresses say beside, for an engine whose registers have that; it changes under no transaction."""
    if not config.sideband_registers:
        return {}
    members = {}
    for target, layout in SidebandLayout(config).members.items():
        values = config.sideband.values(target)
        members[f"{target}_sideband"] = Out(layout, init={name: value for name, (_, value) in values.items()})
    return members


class SidebandLayout(data.StructLayout):
    """What addresses of a channel say beside, for each target."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                target: data.StructLayout(
                    {name: bits for name, (bits, _) in config.sideband.values(target).items()}
                )
                for target in SIDEBAND_TARGETS
            }
        )


class TermLayout(data.StructLayout):
    """What software says of a pair: the bytes of ``data`` that ``enable`` names in this cycle, of the weight of its turns
    or, at a ``row`` whose highest bit is set, of its limit."""

    def __init__(self, pairs: int) -> None:
        super().__init__({"row": (pairs - 1).bit_length() + 1, "data": LIMIT_BITS, "enable": LIMIT_BITS // 8})


class EntryLayout(data.StructLayout):
    """What software says of the tables of pairs: the bytes of ``data`` that ``enable`` names in this cycle, of the entry of
    that ``place``."""

    def __init__(self, config: EngineConfig) -> None:
        bits, size = config.format.entry_bits, config.codec.table_size
        super().__init__(
            {
                "pair": (config.channels - 1).bit_length(),
                "place": range(size),
                "data": bits,
                "enable": -(-bits // 8),
            }
        )


class SharesSignature(wiring.Signature):
    """What software says of a direction of all pairs: of each its level; the ``period`` of limits in cycles; and weights,
    limits and tables, as they are written and after a reset."""

    def __init__(self, config: EngineConfig) -> None:
        pairs = config.channels
        super().__init__(
            {
                **optional(config.codec.table_size, entry=Out(EntryLayout(config))),
                "levels": Out(data.ArrayLayout(LEVEL_BITS, pairs)),
                "period": Out(PERIOD_BITS),
                "term": Out(TermLayout(pairs)),
            }
        )


def _shares(config: EngineConfig) -> dict[str, Out]:
    """The shares, for an engine with several pairs."""
    names = ("offload_shares", "prefetch_shares") if config.channels > 1 else ()
    return {name: Out(SharesSignature(config)) for name in names}


class CounterPort(wiring.Signature):
    """Reads a counter of a channel, 32 bits at a time.

    ``request``, ``word``: Ask for a word, until ``done``: word 2n is the low and 2n + 1 the high half of counter n, in
        the order of :data:`~cdma.hdl.spec.options.COUNTERS`. Reading the low half latches the high half.
    ``done``, ``data``: The word, in the same cycle or a later one. ``data`` is 0 while nothing is asked for.
    """

    def __init__(self) -> None:
        super().__init__({"request": Out(1), "word": Out(5), "done": In(1), "data": In(32)})


class ControlSignature(wiring.Signature):
    """What the engine has of the registers of a pair."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "soft_reset": Out(1),  # pulse: abort both channels, then forget everything but the windows
                "resetting": In(1),  # high until that is done
                "watchdog_cycles": Out(32),  # 0 is off
                **optional(config.group_bursts, group_bursts=Out(9)),  # 0: no groups
                "clear_counters": Out(1),  # pulse
                **_of_memories(config),
                "offload": Out(ChannelSignature(config)),
                "prefetch": Out(ChannelSignature(config)),
                **_shares(config),
            }
        )


class ExternalSignature(wiring.Signature):
    """How the register file reads a block that others keep.

    ``request``, ``word``: Ask for a register, by its number in the block. They stay until ``done``.
    ``done``, ``data``: The register's value, in the same cycle or any later one. ``data`` is 0 while nothing is asked
        for.
    """

    def __init__(self, block: Block) -> None:
        words = block.span // REGISTER_BYTES
        super().__init__(
            {"request": Out(1), "word": Out(range(words)), "done": In(1), "data": In(REGISTER_BITS)},
        )


#: Bits of the index of a word in the memory of registers, which is that of :meth:`.RegisterMap.word`.
_INDEX_BITS = 8


class StoredSignature(wiring.Signature):
    """How hardware reads the memory of registers, seen from hardware.

    ``data`` is the word at the ``index`` of the ``pair`` of one cycle before.
    """

    def __init__(self, pair_bits: int = 0) -> None:
        super().__init__({"index": Out(_INDEX_BITS), "pair": Out(pair_bits), "data": In(REGISTER_BITS)})


class ReportLayout(data.StructLayout):
    """What hardware writes into the memory of registers, and at which ``index`` of which ``pair``."""

    def __init__(self, pair_bits: int = 0) -> None:
        super().__init__({"index": _INDEX_BITS, "pair": pair_bits, "data": REGISTER_BITS})


class ChangeLayout(data.StructLayout):
    """What is written into the memory of registers in a cycle: the bytes of ``data`` that ``enable`` names."""

    def __init__(self, pair_bits: int = 0) -> None:
        super().__init__(
            {"index": _INDEX_BITS, "pair": pair_bits, "data": REGISTER_BITS, "enable": REGISTER_BYTES}
        )


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


def blocks_signature(registers: RegisterMap, *, external: bool = False) -> wiring.Signature:
    """What hardware sees of the instances of all blocks that are ``external``, or of all others."""
    return wiring.Signature(
        {
            instance: Out(signature)
            for block in registers.blocks
            for instance, _ in block.instances
            if block.external == external and (signature := block_signature(block)).members
        }
    )


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
