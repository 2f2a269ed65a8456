"""``cdma bench engine``: how busy the engine keeps its ports, under Verilator."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Option, flag, option
from cdma.commands.verify import design_from, with_rings
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import MOST_PAGED, PAGE_BYTES
from cdma.hdl.spec.stage import NUMBERS
from cdma.options import block_command, check_between, check_densities, engine_config_from
from cdma.result import Columns, Result, Row, column, rows_result

if TYPE_CHECKING:
    from cdma.verif.engine.design import EngineDesign


def case_options(densities: str, directions: Sequence[str]) -> tuple[Option, Option]:
    """``--densities``, whose help tells of the default, and ``--directions``."""
    some = f"some of {', '.join(directions)}"
    return (
        option("--densities D+", f"shares of literals{densities}", float),
        option("--directions D+", some, choices=directions),
    )


def check_latencies(name: str, latencies: Iterable[int]) -> None:
    """Refuses latencies that the memories do not have; ``name`` is that of the option, with its verb."""
    for latency in latencies:
        if not 0 <= latency <= 10000:
            raise ParameterError(f"{name} {latency}; it must be from 0 to 10000 cycles")


_DIRECTIONS = ("offload", "prefetch", "both")
_MODES = ("zvc", "lossy", "raw")

_COLUMNS: Columns = {
    "ports": lambda row: _ports(row),
    "direction": lambda row: _label(row),
    "mode": column("mode"),
    "density": column("density", ".2f"),
    "bytes": column("bytes", ","),
    "latency": column("memory_latency"),
    "descriptors": column("descriptors"),
    "cycles": column("cycles", ","),
    "bytes/cycle": column("bytes_per_cycle", ".2f"),
    "utilisation": column("utilisation", ".1%"),
}
#: Those that an option adds, by its name.
_MORE: dict[str, Columns] = {
    "rows": {"row": column("row"), "of the memory": column("of_memory", ".1%")},
    "memory": {"of the DRAM": column("of_dram", ".1%"), "of one run": column("of_run", ".1%")},
    "host": {"host": column("host"), "tags": column("tags"), "of the link": column("of_link", ".1%")},
    "host_periods": {"host period": column("host_period", "g")},
    "offsets": {"offset": column("offset")},
    "lists": {"pages": lambda row: "yes" if row["paged"] else "no"},
    "bases": {"base": lambda row: "yes" if row["based"] else "no"},
}


def _run(arguments: argparse.Namespace) -> Result:
    designs = list(_designs(arguments))

    from cdma.output import step_progress
    from cdma.verif.engine.dram import DRAMS, check_dram, measure_on_dram
    from cdma.verif.engine.measure import measure_engine, rows_of

    of_host = next((each for each in arguments.host or () if each in DRAMS), None)
    dram, port = arguments.memory or of_host, "host" if of_host else "dev"
    wanted = [_cases(arguments, design.config) for design in designs]
    if dram:
        for design in designs:
            check_dram(dram, design, port)
    rows: list[Row] = []
    periods = _host_periods(arguments.host_periods, designs)
    with step_progress("building and measuring", len(periods) * sum(map(rows_of, wanted))) as advance:
        for (design, cases), period in product(zip(designs, wanted, strict=True), periods):
            names = ("dev_data_bits", "host_data_bits", "lanes")
            shape = {name: getattr(design.config, name) for name in names}
            if dram:
                measured = measure_on_dram(dram, design, cases, advance, port)
            else:
                measured = measure_engine(design, cases, advance, host_period=period)
            rows += [shape | row for row in measured]
    shown = [name for name in _MORE if getattr(arguments, name)]
    if of_host:
        shown[shown.index("host")] = "memory"
    more = {title: cell for name in shown for title, cell in _MORE[name].items()}
    if dram:
        more.pop("of the memory", None)
    return rows_result(rows, {**_COLUMNS, **more}, 3, lambda row: (_ports(row), _label(row)))


def _designs(arguments: argparse.Namespace) -> Iterator[EngineDesign]:
    """The engine of the options, or one for each width of ``--port-bits``."""
    if arguments.port_bits is None:
        yield with_rings(design_from(arguments))
        return
    for name in ("dev_data_bits", "host_data_bits"):
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise ParameterError(
                f"{option} and port-bits are both given; port-bits is the width of both ports"
            )
    fill = arguments.lanes is None
    for bits in arguments.port_bits:
        arguments.dev_data_bits = arguments.host_data_bits = bits
        config = engine_config_from(arguments)
        if fill:
            arguments.lanes = bits // config.format.word_bits
        yield with_rings(design_from(arguments))


def _cases(arguments: argparse.Namespace, config: EngineConfig) -> list[dict[str, Any]]:
    """The cases that are asked for."""
    from cdma.verif.engine.measure import DENSITIES, LATENCIES, MOST_DESCRIPTORS, SIZES, cases

    word = NUMBERS[config.lossy].bits // 8 if config.quantisation else config.format.raw_bytes
    densities = arguments.densities or DENSITIES
    sizes = arguments.bytes or SIZES
    latencies = arguments.memory_latencies or LATENCIES
    count = arguments.tensors
    if count is not None:
        check_between("tensors", count, 1, MOST_DESCRIPTORS, ", which the bench's ring holds")
    check_densities(densities)
    for size in sizes:
        if size < word or size % word or size > 1 << 21:
            raise ParameterError(
                f"bytes has {size}; a tensor has whole words or numbers of {word} bytes, at most 2 MiB here"
            )
    check_latencies("memory-latencies has", latencies)
    _check_rows(arguments.rows, sizes, config, jumps=arguments.jumps)
    _check_offsets(arguments.offsets or (), config)
    if arguments.lists:
        _check_lists(sizes, config)
    if arguments.bases and (not config.delta or arguments.rows):
        raise ParameterError(
            "bases is given with rows; a shape has no base"
            if config.delta
            else "bases is given; the engine takes no bases (--delta)"
        )
    port_bytes = max(config.dev_data_bits, config.host_data_bits) // 8
    lossy = config.quantisation is not None
    if "lossy" in (arguments.modes or ()) and not lossy:
        raise ParameterError("modes has lossy; the engine has no error-bounded stage (--lossy)")
    found = cases(
        densities,
        sizes,
        latencies,
        port_bytes=port_bytes,
        descriptors=count,
        lossy=lossy,
        rows=arguments.rows or (0,),
        jumps=arguments.jumps,
        offsets=arguments.offsets or (0,),
        paged=(False, True) if arguments.lists else (False,),
        based=(False, True) if arguments.bases else (False,),
    )
    directions, modes = arguments.directions or _DIRECTIONS, arguments.modes or _MODES
    chosen = [case for case in found if case["direction"] in directions and case["mode"] in modes]
    hosts = _hosts(arguments)
    return [case | host for host in hosts for case in chosen]


def _hosts(arguments: argparse.Namespace) -> Sequence[dict[str, Any]]:
    """What cases have besides: each host with each number of tags, or nothing."""
    from cdma.verif.engine.dram import DRAMS
    from cdma.verif.engine.hosts import MOST_TAGS, TAGS

    if not arguments.host:
        if arguments.tags:
            raise ParameterError("tags are given; without --host there is no link")
        return [{}]
    for name, other in (("memory", arguments.memory), ("host-periods", arguments.host_periods)):
        if other:
            raise ParameterError(f"host is given with --{name}; it is measured by itself, with one clock")
    if any(host in DRAMS for host in arguments.host):
        if len(arguments.host) > 1 or arguments.tags:
            raise ParameterError("host has a DRAM and something else; a DRAM is alone, and has no tags")
        return [{}]
    for tags in arguments.tags or ():
        check_between("tags", tags, 1, MOST_TAGS)
    return [{"host": host, "tags": tags} for host, tags in product(arguments.host, arguments.tags or TAGS)]


def _check_rows(
    rows: Sequence[int] | None, sizes: Sequence[int], config: EngineConfig, *, jumps: bool
) -> None:
    """Refuses rows that are no shape of the engine, or none of a tensor."""
    from cdma.verif.engine.measure import JUMP

    fit = rows and not any(JUMP % (2 * row) for row in rows) and not any(size % JUMP for size in sizes)
    if jumps and (config.dimensions < 2 or not fit):
        raise ParameterError(
            f"jumps is given; it needs --dimensions 2, rows that divide {JUMP // 2}, and bytes in multiples of {JUMP}"
        )
    if rows and not config.dimensions:
        raise ParameterError("rows are given; the engine takes no shapes (--dimensions)")
    for row in rows or ():
        align = config.align("dev")
        if row < align or row % align:
            raise ParameterError(f"rows has {row}; a row is a multiple of {align} bytes (--alignment)")
        for size in sizes:
            if size % row:
                raise ParameterError(f"rows has {row}; a tensor of {size} bytes is not of whole rows")


def _host_periods(periods: Sequence[float] | None, designs: Sequence[EngineDesign]) -> Sequence[float]:
    """Refuses periods of a clock that an engine has not, or that nobody has."""
    if periods and not all(design.config.domains.host_crosses for design in designs):
        raise ParameterError("host-periods are given; host and device have one clock (--clocks)")
    for period in periods or ():
        if not 0.1 <= period <= 10:
            raise ParameterError(
                f"host-periods has {period:g}; it must be from 0.1 to 10 periods of the device's clock"
            )
    return periods or (1.0,)


def _check_offsets(offsets: Sequence[int], config: EngineConfig) -> None:
    """Refuses offsets at which no data may begin."""
    align = max(config.align("dev"), config.align("host"))
    for offset in offsets:
        if offset % align or not 0 <= offset < PAGE_BYTES:
            raise ParameterError(
                f"offsets has {offset}; it must be a multiple of {align} below {PAGE_BYTES}, because data begin at these "
                "(--alignment)"
            )


def _check_lists(sizes: Sequence[int], config: EngineConfig) -> None:
    """Refuses lists of an engine without them, and those that are longer than a page."""
    if not config.pages:
        raise ParameterError("lists is given; the engine takes no lists of pages (--pages)")
    for size in sizes:
        if size > MOST_PAGED // 2:
            raise ParameterError(
                f"bytes has {size} with lists; it must be {MOST_PAGED // 2} at most, because a list has pages of "
                f"{MOST_PAGED} bytes, and a stream may be longer than its tensor"
            )


def _ports(row: Row) -> str:
    dev, host = row["dev_data_bits"], row["host_data_bits"]
    return f"{dev}" if dev == host else f"{dev}, {host}"


def _label(row: Row) -> str:
    return row["direction"] + (" (both at once)" if row["concurrent"] else "")


COMMAND = block_command(
    "engine",
    "the engine's bytes per cycle and utilisation of its ports, under Verilator",
    "Move tensors through the engine, with registers and rings, between memories that take and give a beat per cycle after "
    "a fixed latency. Utilisation is max(raw bytes / device port width, compressed bytes / host port width) / cycles, from "
    "the first read address to the last write response.",
    _run,
    {
        "cases": (
            *case_options(" (default 0 0.25 0.5 0.75 1)", _DIRECTIONS),
            option("--bytes N+", "raw bytes of a tensor (default 4096 65536 1048576)", int),
            option("--memory NAME", "device memory is this DRAM behind a LiteDRAM controller: ddr3, ddr4 (default: one with "
                "--memory-latencies); shown is also the share of its peak rate, and of what one run of bursts gets",
                choices=("ddr3", "ddr4")),
            option("--host NAME+", "host memory is that of these machines behind a PCI Express link of 250 MHz: pcie, "
                "pcie-iommu, pcie-slow (default: one with --memory-latencies); shown is also the share of what the link "
                "carries; or as fast as a DRAM of --memory", choices=("pcie", "pcie-iommu", "pcie-slow", "ddr3", "ddr4")),
            option("--tags N+", "with --host: reads of 512 bytes in flight on the link (default 4 8 16 32 64)", int),
            option("--memory-latencies N+", "cycles (default 10 100 300); with --memory of the host's alone, with --host of "
                "the device's", int),
            option("--modes M+", "some of zvc, lossy, raw; lossy is zvc on the integers of an engine with --lossy",
                choices=_MODES),
            option("--tensors N", "how many to move back to back, a descriptor each, at most the 64 that the bench's ring "
                "holds (default: as many as keep a port busy for some 4096 beats)", int),
            option("--port-bits N+", "measure an engine for each of these widths of both ports, with as many lanes as fill "
                "them unless --lanes is given (default: the one engine of the other options)", int),
            option("--rows N+", "with --dimensions: tensors lie in device memory in rows of so many bytes, with gaps "
                "between them; shown is also the share of what the memory can give to so many bursts in flight (default: in "
                "one run of bytes)", int),
            flag("--jumps", "with --rows: rows that follow each other in the stream lie 16 KiB apart"),
            option("--host-periods P+", "with --clocks: periods of the host's clock, in those of the device's, of which the "
                "cycles are (default 1)", float),
            option("--offsets N+", "bytes of a page before the first one of a tensor and of its stream, which the engine's "
                "--alignment allows (default 0)", int),
            flag("--lists", "with --pages: each case also with host memory in a list of pages, none of which follows the "
                "one before it"),
            flag("--bases", "with --delta: each case also with a base in device memory, which changes the stream; an "
                "offload then reads twice its raw bytes, which its utilisation counts"),
        ),
        "": (ROWS,),
    },
    ["--densities 0 0.5 1 --bytes 65536"],
)  # fmt: skip
