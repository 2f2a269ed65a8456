"""The engine's register map: the same addresses for every engine, and capabilities that say which engine it is."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import Access, RegisterMap
from cdma.hdl.spec.registers.map import register_map
from tests.support.register_configs import CONFIGS, each_config


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
