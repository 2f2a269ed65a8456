"""How long an engine takes under Verilator: one descriptor step by step, its ports against density, a whole tensor.

Cases are dictionaries; :mod:`.measurement` runs them in the simulation. Cases of engines with several units take about
the same time each, and have the bound that link and device ports set.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import word_dtype, words_of, words_to_bytes
from cdma.sim.engine.transfer import DIRECTIONS, TransferRules
from cdma.verif.simulator.simulate import measure, run_test

from .design import EngineDesign

#: Where the literals are: anywhere; in every word of each second stripe; in every word of the stripes of one unit, in the
#: second half of the tensor of another one.
PATTERNS = ("scattered", "alternating", "one unit")


def pattern_density(pattern: str, units: int) -> float:
    """The share of literals of a pattern that does not leave it open."""
    return 1 / 2 if pattern == "alternating" else 1 / units


def literal_words(
    count: int,
    word_bits: int,
    density: float,
    *,
    pattern: str = "scattered",
    units: int = 1,
    stripe_words: int = 1024,
) -> NDArray[Any]:
    """``count`` words, 0 but for literals: scattered with ``density``, or by ``units`` and ``stripe_words`` in other
    patterns."""
    rng = np.random.default_rng(1)
    words = np.zeros(count, f"u{max(8, word_bits) // 8}")
    if pattern == "scattered":
        literal = rng.permutation(count)[: round(count * density)]
    else:
        literal = np.flatnonzero(_dense(count, pattern, units, stripe_words))
    words[literal] = rng.integers(1, 1 << word_bits, len(literal))
    return words


def _dense(count: int, pattern: str, units: int, stripe_words: int) -> NDArray[np.bool_]:
    """Which words lie in stripes that have nothing but literals."""
    place = np.arange(count)
    stripe = place // stripe_words
    if pattern == "alternating":
        return stripe % 2 == 0
    return stripe % units == np.where(place < count // 2, 0, units - 1)


#: What happens to a descriptor, in this order, and in words; the doorbell is cycle 0.
STEPS = {
    "fetch": "address of the descriptor's read",
    "fetched": "last beat of the descriptor",
    "read": "first read address of data",
    "first_in": "first beat of data in",
    "first_out": "first beat of data out",
    "last_in": "last beat of data in",
    "last_out": "last beat of data out",
    "answered": "last write response of data",
    "completion": "address of the completion's write",
    "completed": "response to the completion's write",
    "interrupt": "interrupt",
}

#: Descriptors back to back whose cycles are shared out, and the bytes of the longer tensor that is moved.
BACK_TO_BACK, _BYTES = 64, 1024


def latency_cases(design: EngineDesign) -> list[dict[str, Any]]:
    """Both directions, the shortest tensor that the engine takes at every address and a longer one, near and far memory."""
    config = design.config
    shortest = max(config.dev_data_bits, config.host_data_bits) // 8
    return [
        {
            "direction": direction,
            "mode": "zvc",
            "density": 1.0,
            "bytes": size,
            "descriptors": 1,
            "memory_latency": latency,
        }
        for direction in DIRECTIONS
        for size in (shortest, _BYTES)
        for latency in (10, 100)
    ]


def measure_latency(
    design: EngineDesign, wanted: Sequence[dict[str, Any]], report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row per case: the cycles from the doorbell to each of :data:`STEPS` of a lone descriptor, and ``each``, the
    cycles per descriptor of :data:`BACK_TO_BACK`, from the first read address of data to the last write response.

    ``report`` is called with the number of new rows. Data are compared in every case.
    """
    return measure(design, "cdma.verif.engine.measurement", "latency", report=report, cases=list(wanted))


DENSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (4096, 65536, 1 << 20)
LATENCIES = (10, 100, 300)

#: A row of small tensors is many of them, back to back: about so many beats of a port, and as many as its ring holds.
_BEATS_OF_A_ROW = 4096
MOST_DESCRIPTORS = 64
#: The most bytes of a tensor, or of its stream, that the bench has memory for.
MOST_BYTES = 7 << 20
#: Bytes from one row to the next of the stream, where these jump: all banks of a DRAM have one row each in them.
JUMP = 1 << 14


def cases(
    densities: Sequence[float] = DENSITIES,
    sizes: Sequence[int] = SIZES,
    latencies: Sequence[int] = LATENCIES,
    *,
    port_bytes: int = 32,
    descriptors: int | None = None,
    lossy: bool = False,
    rows: Sequence[int] = (0,),
    offsets: Sequence[int] = (0,),
    paged: Sequence[bool] = (False,),
    based: Sequence[bool] = (False,),
    jumps: bool = False,
) -> list[dict[str, Any]]:
    """Both directions apart and together, in mode zvc at every density, and raw copies; with ``lossy`` also integers of an
    error-bounded stage in mode zvc, where ``bytes`` are of the numbers.

    ``rows`` is the bytes of rows in device memory, with gaps between them, and in the order of addresses unless the stream
    ``jumps`` from row to row; 0 for one run. Data begin ``offsets`` bytes
    after the start of a page. ``paged`` host memory is a list of pages, none next to the one before. ``based`` tensors have
    a base in device memory.

    ``descriptors`` tensors are moved back to back; by default as many as keep ports of ``port_bytes`` busy for about
    the same time.
    """
    found = []
    for direction in ("offload", "prefetch", "both"):
        for mode, chosen in (("zvc", densities), *([("lossy", densities)] if lossy else []), ("raw", (1.0,))):
            for size, row, offset, pages, base, latency, density in itertools.product(
                sizes, rows, offsets, paged, based, latencies, chosen
            ):
                found.append(
                    {
                        "direction": direction,
                        "mode": mode,
                        "density": density,
                        "bytes": size,
                        "descriptors": descriptors or _back_to_back(size, port_bytes, row),
                        "memory_latency": latency,
                        **({"row": row} if row else {}),
                        **({"jumps": True} if jumps else {}),
                        **({"offset": offset} if len(offsets) > 1 or offset else {}),
                        **({"paged": pages} if len(paged) > 1 or pages else {}),
                        **({"based": base} if len(based) > 1 or base else {}),
                    }
                )
    return found


def _back_to_back(size: int, port_bytes: int, row: int) -> int:
    # One with a shape takes two entries of the ring.
    most = MOST_DESCRIPTORS // 2 if row else MOST_DESCRIPTORS
    return max(1, min(most, _BEATS_OF_A_ROW * port_bytes // size))


def measure_engine(
    design: EngineDesign,
    wanted: Sequence[dict[str, Any]],
    report: Callable[[int], None] | None = None,
    *,
    host_period: float = 1.0,
) -> list[dict[str, Any]]:
    """One row per case and direction, of which data are compared.

    A case has the fields of :func:`cases`, and may have ``pattern``, one of :data:`PATTERNS`. ``cycles`` counts from
    the first read address of the data to the last write response; ``utilisation`` is ``max(raw bytes / device width,
    compressed bytes / host width) / cycles``, that of the busier port. ``report`` is called with the number of new
    rows.

    A host clock of its own has ``host_period`` times the period of the core, whose cycles are counted, also as the
    latency of both memories.
    """
    module = "cdma.verif.engine.measurement"
    return measure(design, module, report=report, cases=list(wanted), host_period=host_period)


def rows_of(wanted: Sequence[dict[str, Any]]) -> int:
    return sum(2 if case["direction"] == "both" else 1 for case in wanted)


UNITS = (1, 2, 4, 6, 8)
#: From no literal to nothing else. In between lie those at which the ratio of the default format is 8, 6, 4, 2 and 1, where
#: as many units as that can just fill the link, and one between two of them each.
UNIT_DENSITIES = (0.0, 0.03125, 0.09375, 0.13542, 0.21875, 0.34375, 0.46875, 0.71875, 0.96875, 1.0)

#: Words whose stream says how long that of a tensor will be.
_SAMPLE_WORDS = 1 << 16


def unit_cases(
    config: EngineConfig,
    densities: Sequence[float] = UNIT_DENSITIES,
    *,
    directions: Sequence[str] = DIRECTIONS,
    patterns: Sequence[str] = PATTERNS,
    cycles: int = 16384,
    latency: int = 100,
) -> list[dict[str, Any]]:
    """One tensor each, whose bound is about ``cycles``. With one unit all stripes are its own, so literals are scattered
    only."""
    shares = [
        (pattern, density) for pattern in patterns for density in _densities(config, pattern, densities)
    ]
    return [
        {
            "direction": direction,
            "mode": Mode.ZVC.name.lower(),
            "pattern": pattern,
            "density": density,
            "bytes": _tensor_bytes(config, pattern, density, cycles),
            "descriptors": 1,
            "memory_latency": latency,
        }
        for direction in directions
        for pattern, density in shares
    ]


def _densities(config: EngineConfig, pattern: str, densities: Sequence[float]) -> Sequence[float]:
    if pattern == "scattered":
        return densities
    return [pattern_density(pattern, config.units)] if config.units > 1 else []


def _tensor_bytes(config: EngineConfig, pattern: str, density: float, cycles: int) -> int:
    """Bytes of the tensor: a multiple of two stripes of each unit, because patterns have two halves."""
    bits = config.format.word_bits
    unit = 2 * config.units * config.stripe_bytes
    words = literal_words(_SAMPLE_WORDS, bits, density)
    format = TransferRules(config, "offload").format(Mode.ZVC, ())
    stream = compress_words(words, format).nbytes
    raw = words.nbytes
    size = max(unit, round(cycles * raw / bound_cycles(config, raw, stream) / unit) * unit)
    if size > MOST_BYTES:
        raise ParameterError(
            f"cycles is {cycles}; {config.units} units read {size} bytes in them at density {density:g}, and the bench's "
            f"memory has {MOST_BYTES}"
        )
    return size


def bound_cycles(config: EngineConfig, raw: int, stream: int) -> int:
    """The cycles that the link needs for ``stream`` bytes, or all device ports for ``raw`` bytes, if more."""
    link = -(-stream * 8 // config.host_data_bits)
    device = -(-raw * 8 // (config.units * config.dev_data_bits))
    return max(link, device)


def unit_row(config: EngineConfig, measured: dict[str, Any]) -> dict[str, Any]:
    """A row of :func:`.measure_engine` with what it says of the link.

    ``bound``: The least cycles that link and device ports allow.
    ``share``: ``bound / cycles``.
    ``link_utilisation``: ``compressed_bytes / link width / cycles``.
    """
    raw, stream, cycles = measured["bytes"], measured["compressed_bytes"], measured["cycles"]
    bound = bound_cycles(config, raw, stream)
    return {
        "units": config.units,
        "stripe_bytes": config.stripe_bytes,
        **{name: measured[name] for name in ("direction", "pattern", "density")},
        "ratio": round(raw / stream, 3),
        **{name: measured[name] for name in ("bytes", "compressed_bytes", "memory_latency", "cycles")},
        "link_utilisation": round(stream * 8 / config.host_data_bits / cycles, 4),
        "bound": bound,
        "share": round(bound / cycles, 4),
    }


#: The largest tensor that the simulated memories can hold.
ROUND_TRIP_BYTES = 1 << 21
#: Bytes of the sparse tensor, and the share of its words that are not zero.
_SPARSE_BYTES, _SPARSE_DENSITY = 12 << 10, 0.3


def sparse_tensor(config: EngineConfig) -> tuple[bytes, bytes]:
    """A sparse tensor, and its stream in mode zvc of an engine, by the golden model."""
    form, rng = config.codec.format, np.random.default_rng(1)
    dtype = word_dtype(form)
    count = _SPARSE_BYTES // dtype.itemsize
    words = rng.integers(1, 1 << min(form.word_bits, 31), count, dtype=np.uint32).astype(dtype)
    words[rng.random(count) >= _SPARSE_DENSITY] = 0
    return words_to_bytes(words), words_to_bytes(compress_words(words, form))


@dataclass(frozen=True)
class RoundTrip:
    """An offload and a prefetch of one tensor, both compared with the model."""

    raw_bytes: int
    stream_bytes: int
    offload_cycles: int
    prefetch_cycles: int

    @property
    def ratio(self) -> float:
        """Raw bytes per byte in host memory."""
        return self.raw_bytes / self.stream_bytes


def round_trip(
    design: EngineDesign, array: ArrayLike, *, verilog: str | None = None, short: bool = False
) -> RoundTrip:
    """Offloads the tensor and prefetches it to another address; raises where a bit differs.

    ``short`` chooses the build that is ready sooner.
    """
    words = words_of(array, design.config.format)
    if not 0 < words.nbytes <= ROUND_TRIP_BYTES:
        raise ParameterError(f"the tensor has {words.nbytes} bytes; it must have 1 to {MOST_BYTES} here")
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        path = Path(directory) / "words.npy"
        np.save(path, words)
        module = "cdma.verif.engine.measurement"
        outcome = run_test(design, module, "round_trip", verilog=verilog, short=short, words=str(path))
    return RoundTrip(raw_bytes=words.nbytes, **outcome.notes)
