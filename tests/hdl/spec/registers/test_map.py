"""A description of registers that cannot be built is refused with its reason. The engine's register map: the same
addresses for every engine, and capabilities that say which engine it is.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import Access, Block, Field, Register, RegisterMap
from cdma.hdl.spec.registers.map import register_map
from tests.support.register_model import CONFIGS, each_config

LOCK = Register("lock", 0x14, "Locks.", (Field("locked", 0, 1, Access.LOCK, "No more writes."),))


def field(**changes: object) -> Field:
    return replace(Field("value", 0, 8, Access.RW, "A value."), **changes)  # type: ignore[arg-type]


def register(**changes: object) -> Register:
    return replace(Register("item", 0, "An item.", (field(),)), **changes)  # type: ignore[arg-type]


def block(**changes: object) -> Block:
    return replace(Block("part", "A part.", (register(),), (("part", 0),)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: field(name="Value"), "a field is named 'Value'"),
        (lambda: field(name="a__b"), "single underscores"),
        (lambda: field(lsb=28), "field value has 8 bits from bit 28; it must lie within bits 0 to 31"),
        (lambda: field(reset=256), "field value resets to 256, which 8 bits do not hold"),
        (lambda: field(access=Access.RO, reset=1), "field value is ro and resets to 1"),
        (lambda: field(choices=(("big", 256),)), "field value offers big = 256"),
        (lambda: field().put(256), "value is 256; the field has 8 bits, so 0 to 255"),
        (lambda: field(access=Access.W1C, in_memory=True), "field value is w1c and in memory"),
        (lambda: register(offset=2), "register item is at 0x2"),
        (lambda: register(count=-1), "register item has count -1"),
        (lambda: register(fields=()), "register item has no fields"),
        (lambda: register(fields=(field(), field(name="other", lsb=7))), "field other overlaps"),
        (lambda: register(fields=(field(), field(lsb=8))), "value, value; a name may occur once"),
        (
            lambda: register(fields=(field(), field(name="other", lsb=8, access=Access.RO, in_memory=True))),
            "fields that software writes and fields that hardware does",
        ),
        (lambda: register().field("none"), "register item has no field 'none'; it has value"),
        (lambda: block(registers=()), "block part needs at least one register"),
        (lambda: block(registers=(register(), register(name="other"))), "register other at 0x0 overlaps"),
        (lambda: block(registers=(register(), register(offset=4))), "item, item; a name may occur once"),
        (lambda: block(registers=(register(locked_by="item.value"),)), "not one bit of access lock"),
        (lambda: block(external=True), "block part is external"),
        (lambda: block(registers=(register(count=3),), instances=(("part", 8),)), "part spans 0x10 bytes"),
        (
            lambda: RegisterMap("map", "", (block(), block(name="more")), 4),
            "part, part; a name may occur once",
        ),
        (
            lambda: RegisterMap("map", "", (block(instances=(("a", 0), ("b", 0))),), 4),
            "b at 0x0 overlaps a, which ends at 0x4",
        ),
        (lambda: RegisterMap("map", "", (block(instances=(("a", 16),)),), 4), "a ends at 0x14, past the 4"),
    ],
)
def test_a_wrong_description_is_refused(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)


def test_offsets_and_fields_are_the_same_for_every_engine():
    """An engine has all registers and fields, but for those of parts that it is made without."""

    def shape(registers: RegisterMap) -> dict[str, dict[str, tuple[int, Access]]]:
        return {
            placed.name.partition("[")[0]: {f.name: (f.lsb, f.access) for f in placed.register.fields}
            for placed in registers.placed()
            if placed.index == 0 and not placed.name.endswith("_high")
        }

    def addresses(registers: RegisterMap) -> dict[str, int]:
        first = [placed for placed in registers.placed() if not placed.index]
        return {placed.name.partition("[")[0]: placed.address for placed in first}

    whole = register_map(EngineConfig(), every=True)
    named = {
        (name, field)
        for config in CONFIGS.values()
        for name, fields in shape(register_map(config)).items()
        for field in fields
    }
    assert named == {(name, field) for name, fields in shape(whole).items() for field in fields}
    for config in CONFIGS.values():
        registers = register_map(config)
        assert addresses(registers).items() <= addresses(whole).items()
        for name, fields in shape(registers).items():
            assert fields.items() <= shape(whole)[name].items(), name
    without = [register_map(config) for config in CONFIGS.values() if not config.crc]
    assert all(shape(registers) == shape(without[0]) for registers in without)
    assert shape(without[0]) != shape(whole)


@each_config
def test_capabilities_say_what_the_configuration_is(config):
    registers = register_map(config)

    def capability(register: str) -> dict[str, int]:
        item = registers[f"engine.{register}"].register
        assert all(f.access is Access.CONSTANT for f in item.fields)
        return {f.name: f.get(item.reset) for f in item.fields}

    assert capability("ident")["value"].to_bytes(4, "little") == b"cDMA"
    assert capability("stream_format") == {
        "word_bits": config.format.word_bits,
        "window": config.format.window,
        "code_bits": config.format.code_bits,
        "table_size": 2**config.format.code_bits - 1,
        "lanes": config.lanes,
    }
    for port in ("dev", "host"):
        data_bits = getattr(config, f"{port}_data_bits")
        assert capability(f"{port}_port") == {
            "data_bits": data_bits,
            "address_bits": getattr(config, f"{port}_address_bits"),
            "align_log2": 0
            if config.alignment == "byte"
            else {64: 3, 128: 4, 256: 5, 512: 6, 1024: 7}[data_bits],
            "user_bits": config.sideband.axuser_bits if config.sideband_registers else 0,
            "sideband": config.sideband_registers,
            "guarded": config.register_protection != "none" or config.memories_protect != "none",
            **({"dimensions": config.dimensions} if port == "dev" and config.dimensions else {}),
            **({"pages": 1} if port == "host" and config.pages else {}),
            **({"messages": 1} if port == "host" and config.msi else {}),
        }
    assert capability("bursts") == {
        "beats": config.burst_beats,
        "outstanding": config.outstanding,
        "ring_reads": config.ring_reads,
        "ring_writes": config.ring_writes,
    }
    assert 2 ** capability("limits")["ring_log2"] == config.ring_entries
