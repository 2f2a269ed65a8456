"""One measurement: a circuit's area, clock and blocks on a library, kept by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from cdma.base.cache import Cache, content_key
from cdma.base.spread import tool_threads
from cdma.base.yosys import Progress, Yosys, find_yosys
from cdma.synth.asic.library import liberty
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.paths import Circuit, Config, circuit_of

from .netlist import CellCount, breakdown, synthesise
from .recipe import Options, abc_constraints, abc_script, reset_map, yosys_script
from .timing import OpenSta, Timing, find_opensta

#: Part of every key: raise it when this package measures the same inputs differently.
_REVISION = 3


@dataclass(frozen=True)
class Figures:
    """The figures of one way to synthesise. Areas in µm² are None for a library without areas in µm².

    ``delay_ns`` is ABC's, of the logic alone. ``timing`` is OpenSTA's; it is None if OpenSTA is not installed or the
    library has no delays.
    """

    area_um2: float | None
    kge: float
    sequential_kge: float
    flip_flops: int
    clock_gates: int
    memory_bits: int
    delay_ns: float | None
    timing: Timing | None

    @property
    def sequential_share(self) -> float:
        return self.sequential_kge / self.kge if self.kge else 0.0

    @property
    def period_ns(self) -> float | None:
        return self.timing.period_ns if self.timing is not None else None

    def as_json(self) -> dict[str, Any]:
        timing = self.timing
        return {
            "area_um2": _rounded(self.area_um2),
            "kge": _rounded(self.kge),
            "flip_flops": self.flip_flops,
            "clock_gates": self.clock_gates,
            "sequential_share": _rounded(self.sequential_share),
            "memory_bits": self.memory_bits,
            "delay_ns": _rounded(self.delay_ns),
            "period_ns": _rounded(self.period_ns),
            "input_ns": _rounded(timing.input_ns) if timing else None,
            "output_ns": _rounded(timing.output_ns) if timing else None,
            "through_ns": _rounded(timing.through_ns) if timing else None,
            "worst_path": _path_json(timing, "period"),
            "input_path": _path_json(timing, "input"),
            "output_path": _path_json(timing, "output"),
            "through_path": _path_json(timing, "through"),
        }


@dataclass(frozen=True)
class Block:
    """The content of one instance, without the instances in it that have a row of their own."""

    name: str
    area_um2: float | None
    kge: float
    sequential_kge: float
    flip_flops: int

    def as_json(self, total_kge: float) -> dict[str, Any]:
        return {
            "block": self.name,
            "area_um2": _rounded(self.area_um2),
            "kge": _rounded(self.kge),
            "sequential_kge": _rounded(self.sequential_kge),
            "flip_flops": self.flip_flops,
            "share": _rounded(self.kge / total_kge if total_kge else 0.0),
        }


@dataclass(frozen=True)
class Measurement:
    """A circuit on a library: the plain figures, those with gated clocks if they were measured, and its blocks."""

    block: str
    config: dict[str, Any]
    library: str
    options: Options
    plain: Figures
    gated: Figures | None
    blocks: tuple[Block, ...]
    tools: dict[str, str]

    @property
    def blocks_kge(self) -> float:
        """The sum of the blocks, which is more than the flattened circuit: see :mod:`.netlist`."""
        return sum(block.kge for block in self.blocks)

    def as_json(self) -> dict[str, Any]:
        """The measurement as ``cdma area --json`` prints it."""
        return {
            "block": self.block,
            "config": self.config,
            "library": self.library,
            "target_ns": self.options.target_ns,
            **self.plain.as_json(),
            "clock_gated": self.gated.as_json() if self.gated is not None else None,
            "breakdown": [block.as_json(self.blocks_kge) for block in self.blocks],
            "tools": self.tools,
        }


def _timing(kept: dict[str, Any] | None) -> Timing | None:
    """The timing that is kept, whose pairs JSON made lists of."""
    if kept is None:
        return None
    return Timing(**kept | {"ends": {group: tuple(ends) for group, ends in kept["ends"].items()}})


def _path_json(timing: Timing | None, group: str) -> dict[str, str] | None:
    if timing is None or group not in timing.ends:
        return None
    start, end = timing.ends[group]
    return {"start": start, "end": end}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def measure(
    circuit: Circuit,
    library: Library,
    options: Options,
    *,
    block_depth: int = 0,
    cache: Cache | None = None,
    yosys: Yosys | None = None,
    opensta: OpenSta | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Measures ``circuit`` on ``library``; with ``options.clock_gating``, both with and without it.

    With a ``block_depth``, the blocks down to so many levels of instances are measured as well. ``opensta`` is by
    default the one on the PATH.

    The parts of a measurement run in parallel, two at a time, and each is kept by itself: to ask again with the
    breakdown runs the breakdown alone.
    """
    cache = cache or Cache()
    yosys = yosys or find_yosys()
    opensta = opensta or find_opensta()
    plain = replace(options, clock_gating=False)
    analyser = opensta if library.timed else None
    tools = {"yosys": str(yosys)} | ({"opensta": str(analyser)} if analyser else {})
    with tool_threads(2) as pool:
        kept = _Kept(circuit, library, yosys, cache)
        jobs: dict[str, Any] = {"plain": pool.submit(kept.figures, plain, analyser, progress)}
        if options.clock_gating:
            jobs["gated"] = pool.submit(kept.figures, options, analyser, progress)
        if block_depth:
            jobs["blocks"] = pool.submit(kept.blocks, plain, block_depth, progress)
        results = {name: job.result() for name, job in jobs.items()}
    return Measurement(
        circuit.block,
        circuit.config,
        library.name,
        options,
        results["plain"],
        results.get("gated"),
        results.get("blocks", ()),
        tools,
    )


def measure_block(
    block: str,
    config: Config,
    library: Library,
    options: Options,
    *,
    progress: Progress | None = None,
    **how: Any,
) -> Measurement:
    """Generates a block as for an ASIC, and measures it; ``how`` are the other arguments of :func:`measure`."""
    if progress is not None:
        progress(f"generating Verilog, {block}")
    return measure(circuit_of(block, config), library, options, progress=progress, **how)


class _NotKept(Exception):
    pass


class _OnlyKept(Cache):
    """A cache that must have every value."""

    def load(self, key: str) -> Any:
        value = super().load(key)
        if value is None:
            raise _NotKept
        return value


def kept_measurement(
    circuit: Circuit, library: Library, options: Options, cache: Cache
) -> Measurement | None:
    """Returns what :func:`measure` without blocks has in the cache; None if it would have to measure."""
    try:
        return measure(circuit, library, options, cache=_OnlyKept(cache.folder))
    except _NotKept:
        return None


@dataclass(frozen=True)
class _Kept:
    """The parts of a measurement, from the cache, or made and kept."""

    circuit: Circuit
    library: Library
    yosys: Yosys
    cache: Cache

    def figures(self, options: Options, opensta: OpenSta | None, progress: Progress | None) -> Figures:
        what = "gated clocks" if options.clock_gating else "area"

        def make() -> dict[str, Any]:
            netlist = synthesise(
                self.circuit, self.library, options, yosys=self.yosys, progress=_prefixed(progress, what)
            )
            timing = None
            if opensta is not None:
                _prefixed(progress, "timing")(f"OpenSTA, {what}")
                timing = asdict(opensta.analyse(netlist, self.library))
            return {
                "count": _count_json(netlist.count(self.library)),
                "memory_bits": netlist.memory_bits,
                "delay_ns": netlist.abc_delay_ns,
                "timing": timing,
            }

        kept = self._kept(make, "figures", str(opensta), self._recipe(options))
        count = kept["count"]
        return Figures(
            area_um2=self._um2(count["area"]),
            kge=count["area"] / self.library.kge,
            sequential_kge=count["sequential_area"] / self.library.kge,
            flip_flops=count["flip_flops"],
            clock_gates=count["clock_gates"],
            memory_bits=kept["memory_bits"],
            delay_ns=kept["delay_ns"],
            timing=_timing(kept["timing"]),
        )

    def blocks(self, options: Options, depth: int, progress: Progress | None) -> tuple[Block, ...]:
        def make() -> list[dict[str, Any]]:
            found = breakdown(
                self.circuit,
                self.library,
                options,
                depth=depth,
                yosys=self.yosys,
                progress=_prefixed(progress, "blocks"),
            )
            return [{"path": list(block.path), "count": _count_json(block.count)} for block in found]

        kept = self._kept(make, "blocks", str(depth), self._recipe(options))
        return tuple(
            Block(
                name=".".join(row["path"]) or "(top)",
                area_um2=self._um2(row["count"]["area"]),
                kge=row["count"]["area"] / self.library.kge,
                sequential_kge=row["count"]["sequential_area"] / self.library.kge,
                flip_flops=row["count"]["flip_flops"],
            )
            for row in kept
        )

    def _recipe(self, options: Options) -> str:
        return "\n".join(
            [
                yosys_script(self.circuit.top, self.library, ["library"], options),
                abc_script(options.target_ns, timed=self.library.timed),
                abc_constraints(self.library),
                reset_map(),
            ]
        )

    def _kept(self, make: Callable[[], Any], *parts: str) -> Any:
        key = content_key(str(_REVISION), str(self.yosys), self.library.digest, self.circuit.verilog, *parts)
        return self.cache.kept(key, make)

    def _um2(self, area: float) -> float | None:
        return None if self.library.name == liberty.NAME else area


def _count_json(count: CellCount) -> dict[str, Any]:
    return {
        "area": count.area,
        "sequential_area": count.sequential_area,
        "flip_flops": count.flip_flops,
        "clock_gates": count.clock_gates,
    }


def _prefixed(progress: Progress | None, what: str) -> Progress:
    if progress is None:
        return lambda step: None
    return lambda step: progress(f"{what}: {step}")
