"""Configurations of engines that several rooms of tests run, so that each is built once."""

from __future__ import annotations

import dataclasses

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.verif.engine.design import SMALL

#: Descriptors and completions as streams, with the owners of their memory.
STREAMING = dataclasses.replace(SMALL, registers=False, stream_id_bits=3, substream_id_bits=5)

#: Codes of a field with zero words and padded windows, between ports narrower and wider than a beat of the codec.
FIELDS = dataclasses.replace(
    SMALL,
    format=Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4),
    lanes=8,
    host_data_bits=256,
)

#: The same with any byte, a CRC, an error-bounded stage, and a pipeline.
FIELDS_TO_A_BYTE = dataclasses.replace(
    FIELDS, alignment="byte", crc=True, lossy="fp32", pages=True, pipelined=True
)

#: Sources and destinations at any word, with a port as wide as eight of the other and of the codec, wider than a record.
TO_A_WORD = dataclasses.replace(SMALL, alignment="word", host_data_bits=512)

#: Any byte, with the same ports, and words of 4 bytes.
TO_A_BYTE = dataclasses.replace(TO_A_WORD, format=Format(), alignment="byte")

#: Words of 4 bits, two to a byte of memory, which are integers where there is a step.
HALF_BYTES = dataclasses.replace(
    SMALL, format=Format(4, 32, 2, (0,), align=4), lanes=8, host_data_bits=128, crc=True, lossy="bf16"
)

#: Short queues and a short ring, with all that is delivered with an engine.
DELIVERED = EngineConfig(
    Format(16), lanes=4, dev_data_bits=64, host_data_bits=64, latency=16, descriptors=2, ring_entries=16
)

#: Several clocks, checked memories, register slices and IDs.
CHECKED_CROSSINGS = EngineConfig(
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    latency=32,
    burst_beats=8,
    clocks="device,host,registers",
    quiescence=True,
    sideband_registers=True,
    stream_id_bits=3,
    register_slices="in,out",
    memories_protect="parity",
)
