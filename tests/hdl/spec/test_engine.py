"""The parameters of an engine, and what follows from them."""

from __future__ import annotations

import re

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.sideband import Sideband


def test_buffer_follows_bandwidth_times_latency() -> None:
    assert EngineConfig().read_buffer == 512
    assert EngineConfig(latency=100).read_buffer == 128
    assert EngineConfig(latency=1).read_buffer == 64, "two bursts are the least"
    assert EngineConfig(read_buffer_beats=1024).read_buffer == 1024
    assert EngineConfig().write_buffer == 128


@pytest.mark.parametrize(("bits", "beats"), [(64, 256), (128, 256), (256, 128), (512, 64), (1024, 32)])
def test_a_burst_never_has_more_than_a_page(bits: int, beats: int) -> None:
    assert EngineConfig(burst_beats=256, dev_data_bits=bits).burst("dev") == beats


@pytest.mark.parametrize(("alignment", "bytes_"), [("beat", (32, 64)), ("word", (2, 2)), ("byte", (1, 1))])
def test_alignment_in_bytes(alignment: str, bytes_: tuple[int, int]) -> None:
    config = EngineConfig(format=Format(word_bits=16), host_data_bits=512, alignment=alignment)
    assert (config.align("dev"), config.align("host")) == bytes_


def test_ports_of_several_units() -> None:
    config = EngineConfig(units=6, stripe_bytes=512)
    assert config.dev_ports == ("dev0", "dev1", "dev2", "dev3", "dev4", "dev5")
    assert (config.align("dev"), config.align("host")) == (128, 32), "a window, and a beat"
    assert (config.burst("dev"), config.burst("host")) == (16, 32), "no burst leaves a stripe"
    assert EngineConfig(units=1).dev_ports == ("dev",)


#: Parameters, and the beginning of what is said of them: what was given and what is allowed.
_REFUSED = [
    ({"dev_data_bits": 96}, "dev_data_bits is 96; it must be one of 64, 128, 256, 512, 1024"),
    ({"host_address_bits": 65}, "host_address_bits is 65; it must be a whole number from 13 to 64"),
    ({"alignment": "half"}, "alignment is 'half'; it must be one of beat, word, byte"),
    ({"alignment": 4}, "alignment is 4"),
    ({"register_slices": "all"}, "register_slices is 'all'; it must be 'none', 'in', 'out' or 'in,out'"),
    ({"register_slices": True}, "register_slices is True"),
    ({"burst_beats": 7}, "burst_beats is 7"),
    ({"clock_gates": True, "pipelined": True}, "clock_gates is on with pipelined; it must be off, because"),
    ({"outstanding": 0}, "outstanding is 0; it must be a whole number from 1 to 256"),
    ({"outstanding": True}, "outstanding is True"),
    ({"latency": 0}, "latency is 0"),
    ({"read_buffer_beats": 32}, "read_buffer_beats is 32; it must be one of 64, 128,"),
    ({"write_buffer_beats": 100}, "write_buffer_beats is 100"),
    ({"write_buffer_beats": False}, "write_buffer_beats is False"),
    ({"descriptors": 3}, "descriptors is 3"),
    ({"ring_entries": 100}, "ring_entries is 100"),
    ({"lossy": "fp64"}, "lossy is 'fp64'; it must be one of none, fp32, bf16, fp16"),
    ({"lossy": "fp32"}, "word_bits is 32 with lossy fp32; a word is an integer then, and must have fewer bits"),
    ({"lossy": "bf16", "format": Format(8), "units": 2}, "lossy is bf16 with 2 units; it must be none"),
    ({"crc": True, "units": 2}, "crc is on with 2 units; it must be off"),
    ({"keep_nonzero": True}, "keep_nonzero is on without lossy"),
    ({"sideband": True}, "sideband is True; it must be a Sideband"),
    ({"sideband_registers": 1}, "sideband_registers is 1; it must be true or false"),
    ({"sideband_registers": True, "registers": False}, "sideband_registers is on without registers"),
    ({"sideband_registers": True, "sideband": Sideband(axuser_bits=17)}, "axuser_bits is 17 with sideband_registers"),
    ({"register_protection": "all"}, "register_protection is 'all'; it must be one of none, privileged, secure"),
    ({"msi": True, "registers": False}, "msi is on without registers; it must be off, because registers say where"),
    ({"register_protection": "secure", "registers": False}, "register_protection is 'secure' without registers"),
    ({"memories_protect": "ecc"}, "memories_protect is 'ecc'; it must be one of none, parity, secded"),
    ({"memories_protect": "parity", "registers": False}, "memories_protect is 'parity' without registers"),
    ({"clocks": "host,device"}, "clocks is 'host,device'; it must be 'none', or some of device,host,registers"),
    ({"clocks": "registers", "registers": False}, "clocks is 'registers' without registers"),
    ({"open_windows": 1}, "open_windows is 1; it must be true or false"),
    ({"open_windows": True, "registers": False}, "open_windows is on without registers"),
    ({"windows": False}, "windows is off with registers; it must be on, because there are registers which open"),
    ({"times": False}, "times is off with registers; it must be on, because there are registers which count"),
    ({"longest_bytes": 3 << 20, "registers": False}, "longest_bytes is 3145728; it must be one of 65536, 131072, "),
    ({"longest_bytes": 1 << 22}, "longest_bytes is 4194304, and registers is True; it must be 4294967296, because"),
    (
        {"longest_bytes": 1 << 22, "registers": False, "dimensions": 2},
        "longest_bytes is 4194304, and dimensions is 2; it must be 4294967296",
    ),
    ({"registers": 1}, "registers is 1; it must be true or false"),
    ({"pipelined": 1}, "pipelined is 1; it must be true or false"),
    ({"pipelined": True, "lanes": 16}, "lanes is 16 with a window of 32 words; a pipelined codec needs windows of at"),
    ({"lanes": 64}, "lanes is 64; it must not exceed the window of 32 words"),
    ({"format": Format.preset("bf16"), "lanes": 64}, "lanes is 64 with a field in words of 16 bits; a beat has at most 64"),
    ({"format": Format(32, field_bits=8), "pipelined": True}, "zero is false in a format with a field; pipelined codecs"),
    ({"format": Format(2, 4, align=2)}, "word_bits is 2; an engine needs words of 4, 8, 16 or 32 bits, as memory has bytes"),
    ({"format": Format(4)}, "align is 1 with word_bits 4; it must be 2, 4 or 8 in an engine, because memory has bytes"),
    ({"format": Format(4, align=4), "pipelined": True}, "pipelined is on with word_bits 4; it must be off in an engine"),
    ({"format": Format(4, align=4), "units": 2}, "word_bits is 4 with 2 units; it must be 8, 16 or 32"),
    ({"format": Format(4, align=2), "lanes": 1}, "lanes is 1, a beat of 0.5 bytes, with windows padded to more"),
    ({"format": 8}, "format is 8; it must be a Format"),
    ({"units": 3}, "units is 3; it must be one of 1, 2, 4, 6, 8"),
    ({"stripe_bytes": 128}, "stripe_bytes is 128; it must be one of 256, 512, 1024, 2048, 4096"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "message"), _REFUSED)
def test_an_engine_that_cannot_be_is_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{re.escape(message)}"):
        EngineConfig(**parameters)  # type: ignore[arg-type]
