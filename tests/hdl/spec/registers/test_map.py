"""The engine's register map: the same addresses for every engine, and capabilities that say which engine it is."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import Access
from cdma.hdl.spec.registers.map import register_map
from tests.support.register_configs import CONFIGS, each_config


def test_offsets_and_fields_are_the_same_for_every_engine():
    def shape(config: EngineConfig) -> dict[str, dict[str, tuple[int, Access]]]:
        return {
            placed.name.partition("[")[0]: {f.name: (f.lsb, f.access) for f in placed.register.fields}
            for placed in register_map(config).placed()
            if placed.index == 0 and not placed.name.endswith("_high")
        }

    shapes = [shape(config) for config in CONFIGS.values()]
    assert all(other == shapes[0] for other in shapes)
    addresses = [
        {
            placed.name.partition("[")[0]: placed.address
            for placed in register_map(config).placed()
            if not placed.index
        }
        for config in CONFIGS.values()
    ]
    assert all(other == addresses[0] for other in addresses)


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
            # In "odd" a word of 2 bytes is enough.
            "align_log2": 1
            if config.alignment == "word"
            else {64: 3, 128: 4, 256: 5, 512: 6, 1024: 7}[data_bits],
        }
    assert capability("bursts") == {
        "beats": config.burst_beats,
        "outstanding": config.outstanding,
        "ring_reads": config.ring_reads,
        "ring_writes": config.ring_writes,
    }
    assert 2 ** capability("limits")["ring_log2"] == config.ring_entries
