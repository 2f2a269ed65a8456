"""How little time an engine loses between two packets."""

from __future__ import annotations

from functools import partial
from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import PacedBench, engine_test
from cdma.verif.engine.measurement import Measurement
from cdma.verif.simulator.plan import planned

#: Beats of a packet of raw data at the narrower port.
_BEATS = 128
#: Two runs have so many packets; what a packet takes is their difference, so that beginning and end do not count.
_FEW, _MANY = 8, 40


def _least(config: EngineConfig, row: dict[str, Any]) -> float:
    """The cycles that a packet takes in the busiest of ports and codec, with the records of the rings."""
    return max(
        row["bytes"] * 8 / config.dev_data_bits,
        (row["compressed_bytes"] + RECORD_BYTES) * 8 / config.host_data_bits,
        _codec_cycles(config, row["bytes"] * 8 // config.format.word_bits),
    )


def _codec_cycles(config: EngineConfig, words: int) -> float:
    """The cycles of the codec: a beat each, and those that a header takes which is longer than a beat."""
    form = config.format
    return words / config.lanes + words / form.window * (-(-form.header_words // config.codec.units) - 1)


def _allowed(config: EngineConfig) -> int:
    """The cycles between two packets: none where nothing has to fill anew."""
    refills = (
        config.pipelined
        or config.crc
        or config.quantisation is not None
        or config.realign
        or config.dimensions > 0
        or config.burst_beats < 8
        or config.format.header_words >= config.lanes
    )
    return 3 if refills else 0


@planned(
    "packets of 128 beats one after the other, memories of two cycles that never wait, each direction and mode",
    "no cycle beside the beats of the busiest part; up to 3 between packets where something has to fill anew",
    needs=lambda design: (
        design.config.registers
        and design.config.ring_entries >= 64
        and design.config.outstanding >= 2
        and design.config.units == 1
        and design.config.clocks == "none"
    ),
    weight=2,
)
@partial(engine_test, kind=PacedBench)
async def pace(bench: PacedBench, budget: int) -> None:
    config = bench.config
    size = _BEATS * min(config.dev_data_bits, config.host_data_bits) // 8
    for direction in CHANNELS:
        for mode, density in (("zvc", 0.25), ("raw", 1.0)):
            case = {
                "direction": direction,
                "mode": mode,
                "density": density,
                "bytes": size,
                "memory_latency": 2,
            }
            few, many = [
                (await Measurement(bench, {**case, "descriptors": count}).run())[0] for count in (_FEW, _MANY)
            ]
            took = (many["cycles"] - few["cycles"]) / (_MANY - _FEW)
            least = _least(config, many)
            assert took <= least + _allowed(config), (
                f"{direction} {mode}: a packet takes {took} cycles where the busiest part needs {least}"
            )
            bench.checks += 1
