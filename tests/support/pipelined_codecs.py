"""Pipelined codecs whose blocks are tested one by one."""

from __future__ import annotations

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

__all__ = ["CONFIGS"]

#: One lane to sixteen, tables that are full or not, headers of a part of a beat to several beats.
CONFIGS = [
    CodecConfig(lanes=8, pipelined=True),
    CodecConfig(Format(8, 32, 4, (0, 1, 2)), 4, pipelined=True),
    CodecConfig(Format(8, 32, 2, (0, 1)), 1, pipelined=True),
    CodecConfig(Format(16, 64, 2, (0, 1, 2)), 16, pipelined=True),
    CodecConfig(Format(8, 64, 4, (5,)), 2, runtime_values=True, pipelined=True),
]
