"""The hardware writes byte for byte what AMD's NPUs write, and reads it."""

import hashlib

import numpy as np
import pytest

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.codec_bench import compress_packets, decompress_packets

#: SHA-256 of the output that mlir-aie publishes for its probe, by preset, and the lanes of the codec here.
PROBES = [
    ("aie-ml", 16, "f30dcae2d175d710e81d8410be5cc980bf06e364de359b6bc6f87194012ebc7d"),
    ("aie2p", 32, "f947e931d2e3c530be240f4e622d1c3757b2e1d5e23a05be5d21768332420bc5"),
]


@pytest.mark.parametrize(("preset", "lanes", "published"), PROBES)
def test_the_probe(preset: str, lanes: int, published: str) -> None:
    """1024 words pass raw; the other 3072 are one compressed stream."""
    words = np.arange(4096, dtype="<u4")
    raw = list(words[1024:].tobytes())
    config = CodecConfig(Format.preset(preset), lanes)
    _, (packed,) = compress_packets(config, [raw])
    assert hashlib.sha256(words[:1024].tobytes() + bytes(packed.words)).hexdigest() == published
    _, (unpacked,) = decompress_packets(config, [(packed.words, len(raw))])
    assert unpacked.words == raw
