"""Descriptors of 4 GiB from end to end: every address, every beat, and the numbers of the completions.

The codecs are stand-ins that cost nothing to simulate (``tests/support/padding_codec.py``); everything else is the
engine. The main program is C++ (``tests/support/largest.cpp``), which follows both channels at once at a million cycles
a second.
"""

from __future__ import annotations

import subprocess

import pytest

from cdma.hdl.engine.generate import engine_verilog
from cdma.hdl.spec.codec import CODECS, DEFAULT
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, LENGTH_BITS, MAX_BYTES, Status
from cdma.sim.engine.memory import unpack
from cdma.verif.simulator.build import build_with_main
from tests.support.padding_codec import WINDOW_BEATS
from tests.support.paths import SUPPORT

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

_CONFIG = EngineConfig(
    lanes=32,
    dev_data_bits=1024,
    host_data_bits=1024,
    outstanding=2,
    latency=1,
    descriptors=2,
    registers=False,
)
_BEAT = 128


@pytest.fixture(scope="module")
def verilog() -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CODECS, DEFAULT, "tests.support.padding_codec:CODEC")
        return engine_verilog(_CONFIG)


def _compressed(raw: int) -> int:
    beats = -(-raw // _BEAT)
    return raw + (-(-beats // WINDOW_BEATS) - 1) * _BEAT


def _run(verilog: str, offload: int, prefetch: int) -> tuple[list[str], dict[str, tuple[int, int, dict]]]:
    """Moves so many raw bytes; what went wrong, and per channel the beats in and out and the completion."""
    main = (SUPPORT / "largest.cpp").read_text()
    executable = build_with_main(verilog, "cdma_engine", main)
    # A beat below 4 KiB and below 4 GiB: addresses carry into the upper half, bursts end on every page.
    places = (2**32 - _BEAT, 2**36 - 4096 - _BEAT), (2**33 + 4096 - _BEAT, 2**40)
    arguments = [
        number
        for raw, (source, destination) in zip((offload, prefetch), places, strict=True)
        for number in (raw, _compressed(raw), source, destination)
    ]
    done = subprocess.run([executable, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    channels = {}
    for line in said[-2:]:
        name, *numbers = line.split()
        read, written, *words = map(int, numbers)
        data = b"".join(word.to_bytes(4, "little") for word in words)
        channels[name] = (read, written, unpack(COMPLETION, data))
    return said[:-3], channels


def _check(verilog: str, offload: int, prefetch: int) -> None:
    wrong, channels = _run(verilog, offload, prefetch)
    assert not wrong
    for name, raw in (("offload", offload), ("prefetch", prefetch)):
        sizes = (raw, _compressed(raw)) if name == "offload" else (_compressed(raw), raw)
        read, written, completion = channels[name]
        assert (read, written) == tuple(-(-size // _BEAT) for size in sizes)
        assert completion["status"] == Status.OK, name
        assert (completion["bytes_read"], completion["bytes_written"]) == sizes
        assert completion["address"] == 0


@pytest.mark.thorough
def test_the_largest_descriptors(verilog: str) -> None:
    """4 GiB and a word less, with streams beyond 4 GiB: every bit of every length is needed."""
    assert _compressed(MAX_BYTES) >> LENGTH_BITS - 1 == 1
    _check(verilog, MAX_BYTES, MAX_BYTES - 4)


@pytest.mark.parametrize("log2", range(7, 25, 3))
@pytest.mark.parametrize("step", [-4, 0, 4])
def test_around_powers_of_two(verilog: str, log2: int, step: int) -> None:
    _check(verilog, (1 << log2) + step, (1 << log2) - step)
