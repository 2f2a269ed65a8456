"""Random designs: any block, with any parameters that go together."""

from __future__ import annotations

import random
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.clocks import NO_CLOCKS
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.hdl.spec.protection import MEMORY_CODES, PROTECTIONS
from cdma.hdl.spec.quantisation import NUMBERS
from cdma.hdl.spec.sideband import AXCACHE, SIDEBAND_TARGETS
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.blocks import design_of
from cdma.verif.simulator.design import Design

__all__ = ["any_design", "with_settings"]

#: How often a value that is not the default is drawn for what most users leave alone.
_SELDOM = 0.2

_SLICES = ("none", "in", "out", "in,out")
_CLOCKS = ("host", "registers", "host,registers", "device,host,registers")


def any_design(rng: random.Random) -> Design:
    """Some block with some parameters, small enough for a simulation of seconds."""
    # A quantiser and a dequantiser are drawn as often as each of the other blocks, together.
    block = rng.choice((*BLOCKS, "engine", rng.choice(STAGES)))
    while True:
        settings = _stage(rng) if block in STAGES else _format(rng) | _hardware(rng, block)
        try:
            return with_settings(block, settings, init=rng.random() < 0.7)
        except ParameterError:
            # These do not go together.
            continue


def with_settings(block: str, settings: dict[str, Any], *, init: bool) -> Design:
    """The design of a block with the ``settings``, of which those that are not given have their defaults."""
    kind = CodecConfig if block in BLOCKS else StageConfig if block in STAGES else EngineConfig
    return design_of(block, kind.from_settings(settings), init=init)


def _format(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.4:
        return dict(Format.preset(rng.choice(list(PRESETS))).settings())
    word_bits, code_bits = rng.choice((8, 16, 32)), rng.choice((1, 1, 2, 3, 4))
    field_bits = rng.choice((8, 16)) if word_bits > 8 and rng.random() < 0.3 else 0
    most = (1 << code_bits) - 1
    values = rng.sample(range(1 << (field_bits or word_bits)), rng.randint(0, most))
    return {
        "word_bits": word_bits,
        "window": rng.choice((8, 16, 32, 64)),
        "code_bits": code_bits,
        "values": values,
        "field_bits": field_bits,
        "rotate": rng.randrange(word_bits) if field_bits else 0,
        "zero": bool(field_bits) and rng.random() < 0.7,
        "align": rng.choice((1, 1, 1, 2, 4, 8)),
    }


def _stage(rng: random.Random) -> dict[str, Any]:
    return {
        "number": rng.choice(list(NUMBERS)),
        "bits": rng.choice((4, 8, 16)),
        "keep_nonzero": rng.random() < 0.5,
        "lanes": rng.choice((1, 2, 4, 8, 16, 32, 64)),
    }


def _hardware(rng: random.Random, block: str) -> dict[str, Any]:
    return _codec(rng) if block in BLOCKS else _engine(rng)


def _codec(rng: random.Random) -> dict[str, Any]:
    return {
        "lanes": rng.choice((1, 2, 4, 8, 16, 32)),
        "runtime_values": rng.random() < _SELDOM,
        "pipelined": rng.random() < 0.4,
        "queue": rng.choice((2, 2, 1, 0)),
        "register_slices": rng.choice(_SLICES) if rng.random() < _SELDOM else "none",
    }


def _engine(rng: random.Random) -> dict[str, Any]:
    user_bits = rng.choice((0, 1, 7, 16))
    return {
        "lanes": rng.choice((1, 2, 4, 8, 16)),
        "dev_data_bits": rng.choice((32, 64, 128, 256)),
        "host_data_bits": rng.choice((32, 64, 128, 256)),
        "dev_address_bits": rng.choice((32, 40, 64)),
        "host_address_bits": rng.choice((32, 48, 64)),
        "alignment": rng.choice(("beat", "beat", "word", "byte")),
        "burst_beats": rng.choice((2, 4, 8, 16, 32, 64)),
        "outstanding": rng.choice((1, 2, 4, 8, 16)),
        "latency": rng.choice((8, 32, 100)),
        "descriptors": rng.choice((1, 2, 4, 8)),
        "ring_entries": rng.choice((2, 4, 8, 16, 64)),
        "registers": rng.random() < 0.8,
        "pipelined": rng.random() < 0.4,
        "queue": rng.choice((2, 2, 2, 1, 0)),
        "units": rng.choice((1, 1, 1, 2, 4)),
        "stripe_bytes": rng.choice((256, 512, 4096)),
        "register_slices": rng.choice(_SLICES) if rng.random() < _SELDOM else "none",
        "smallest_memory": rng.choice((100, 1000)) if rng.random() < _SELDOM else 0,
        "crc": rng.random() < _SELDOM,
        "lossy": rng.choice(LOSSY) if rng.random() < _SELDOM else LOSSY[0],
        "keep_nonzero": rng.random() < _SELDOM,
        "pages": rng.random() < _SELDOM,
        "dimensions": rng.choice((1, 2, 3, 4)) if rng.random() < _SELDOM else 0,
        **{f"{target}_axcache": rng.choice(AXCACHE) for target in SIDEBAND_TARGETS},
        "axprot": rng.randrange(8),
        "axqos": rng.randrange(16),
        "axuser_bits": user_bits,
        "axuser": rng.randrange(1 << user_bits),
        "sideband_registers": rng.random() < _SELDOM,
        "open_windows": rng.random() < _SELDOM,
        "register_protection": rng.choice(PROTECTIONS) if rng.random() < _SELDOM else PROTECTIONS[0],
        "memories_protect": rng.choice(MEMORY_CODES) if rng.random() < _SELDOM else MEMORY_CODES[0],
        "clocks": rng.choice(_CLOCKS) if rng.random() < _SELDOM else NO_CLOCKS,
        "quiescence": rng.random() < _SELDOM,
        "clock_gates": rng.random() < _SELDOM,
        "stream_id_bits": rng.choice((1, 11)) if rng.random() < _SELDOM else 0,
    }
