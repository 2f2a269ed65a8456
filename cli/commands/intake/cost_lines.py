"""What the block takes: cycles, area, clock, memories, power. Each line has what this run measured, and else what is on
record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cdma.base.document import Drawing, Paragraph, Part, Table
from cdma.hdl.deliver.datasheet import memory_row, memory_table
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.hdl.spec.stage import STAGES

from .parts import throughput_load
from .record import Stored
from .subject import RECORD, SHOWN, Line, Subject

#: What is said of an engine that no bench measures.
_NO_RINGS = "An engine with streams in the place of registers is not measured."


def _measured(subject: Subject, kind: str, part: str = "", what: str = "") -> list[Stored]:
    """What a ``part`` of this run found, or ``what`` of that, before what is on record of a kind."""
    stored = [each for each in subject.stored if each.kind == kind]
    if (result := subject.ran.get(part)) is not None:
        figures = result.data[what] if what else result.data
        stored.insert(0, Stored("", subject.date, subject.revision, figures))
    return stored


def _line(
    key: str, title: str, command: str, found: Sequence[Stored], answer: str, *parts: Part, data: Any
) -> Line:
    """A line of measurements, the first of which gives it its day and its revision; those of this run have no command."""
    first = found[0]
    commands = [each.command for each in found] if first.command else [command]
    status = RECORD if first.command else SHOWN
    return Line(key, title, commands, answer, parts, status, first.date, first.revision, data=data)


def _rates(subject: Subject, what: str) -> list[Stored]:
    """The rows of latency or throughput; of a bench of several codecs those that are of this one."""
    if subject.is_engine:
        # Of latency a bench of engines says nothing.
        return _measured(subject, "bench engine" if what == "throughput" else "", "speed", what)[:1]
    found = _measured(subject, "bench codec", "speed", what)[:1]
    if not found or not found[0].command:
        return found
    config, direction = subject.design.config, subject.block.removesuffix("or")
    shape = {"direction": direction, "word_bits": config.format.word_bits, "lanes": config.lanes}
    rows = [row for row in found[0].figures if shape.items() <= row.items()]
    return [Stored(found[0].command, found[0].date, found[0].revision, rows)]


def _bench(subject: Subject) -> str:
    """The command that measures a block with streams alone."""
    if not subject.is_codec:
        return subject.command("bench stage")
    # Without an option it would measure standard shapes.
    return subject.command(
        "bench codec", "" if subject.design.options() else f"--lanes {subject.design.config.lanes}"
    )


def latency(subject: Subject) -> Line:
    """The cycles to the first word, and those of a descriptor."""
    key, title, found = "latency", "Latency", _rates(subject, "latency")
    rows = found[0].figures if found else []
    if not subject.is_engine:
        contract = [Paragraph(f"{name}: {text}") for name, text in subject.made.block.facts.items()]
        if found:
            return _line(key, title, _bench(subject), found, _stream_latency(rows), *contract, data=rows)
        return Line(key, title, [_bench(subject)], "From the first beat in to the first beat out.", contract)
    command = subject.command("intake", "--run speed")
    if found:
        parts = _latency_parts(rows, several=subject.design.config.clocks != NO_CLOCKS)
        return _line(key, title, command, found, _engine_latency(rows), *parts, data=rows)
    answer = "From the doorbell to the first word, and for each descriptor."
    return Line(key, title, [command], answer if subject.design.config.registers else _NO_RINGS)


def _stream_latency(rows: Sequence[dict[str, Any]]) -> str:
    cycles = [row["latency"] for row in rows]
    dense = next((f", {row['latency']} of dense data" for row in rows if row.get("density") == 1.0), "")
    return f"First beat in to first beat out: {min(cycles)} to {max(cycles)} cycles{dense}."


def _engine_latency(rows: Sequence[dict[str, Any]]) -> str:
    """The latency of an engine in a sentence: with the nearest memory, of the shortest tensors."""
    said = []
    for row in rows:
        if row["bytes"] == rows[0]["bytes"] and row["memory_latency"] == rows[0]["memory_latency"]:
            said.append(
                f"{row['direction'].capitalize()}: first word out {row['first_out']} cycles after the doorbell, which is "
                f"{row['first_out'] - row['first_in']} after the first word in; completed after {row['completed']}; "
                f"{row['each']:g} per descriptor back to back."
            )
    load = f"(Tensors of {rows[0]['bytes']} bytes, memories of {rows[0]['memory_latency']} cycles.)"
    return " ".join([*said, load])


def _latency_parts(rows: Sequence[dict[str, Any]], *, several: bool) -> list[Part]:
    """All steps of a descriptor as a table, of an engine that may have several clocks."""
    from cdma.verif.engine.measure import BACK_TO_BACK, STEPS

    titles = (
        "cycles from the doorbell to the",
        *(f"{row['direction']}, {row['bytes']:,} bytes, {row['memory_latency']}" for row in rows),
    )
    cells = [(words, *(str(row[step]) for row in rows)) for step, words in STEPS.items()]
    each = (f"cycles per descriptor of {BACK_TO_BACK} back to back", *(f"{row['each']:g}" for row in rows))
    note = (
        "One descriptor by itself, dense data, through rings; the last number of a column is the latency of the memories in "
        "cycles, which each of four accesses in a row waits for: descriptor, data, their write, completion."
        + " All clocks have one period."
        * several
    )
    return [Paragraph(note), Table(titles, [*cells, each])]


def waveform(subject: Subject) -> Line | None:
    """One descriptor at the ports."""
    if not subject.is_engine:
        return None
    commands = [subject.command("wave", "--scenarios descriptor --only svg")]
    key, title = "waveform", "Waveform of one descriptor"
    answer = "From the doorbell to the interrupt, at all ports."
    if (speed := subject.ran.get("speed")) is None:
        return Line(key, title, commands, answer if subject.design.config.registers else _NO_RINGS)
    file, caption = (
        f"{subject.made.block.name}_descriptor.svg",
        "One descriptor from the doorbell to the interrupt.",
    )
    return subject.shown(key, title, commands, answer, Drawing(file, caption, speed.data["waveform"]))


def throughput(subject: Subject) -> Line:
    """Bytes per cycle, and how busy the ports are."""
    key, title, found = "throughput", "Throughput", _rates(subject, "throughput")
    command = _bench(subject)
    if subject.is_engine:
        load = throughput_load(subject.design.config)
        options = {"--densities": "densities", "--bytes": "sizes", "--memory-latencies": "latencies"}
        words = (f"{option} {_list(load[name])}" for option, name in options.items())
        command = subject.command("bench engine", *words)
    if found:
        rows = found[0].figures
        answer, table = (_engine_rates if subject.is_engine else _stream_rates)(rows)
        return _line(key, title, command, found, answer, table, data=rows)
    rate = f"{subject.made.characteristics.bytes_per_cycle:g} bytes of raw data per cycle"
    return Line(key, title, [command], f"Designed for {rate}.")


def _list(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _engine_rates(rows: Sequence[dict[str, Any]]) -> tuple[str, Table]:
    titles = ("direction", "mode", "density", "bytes", "cycles", "bytes per cycle", "use of the busier port")
    cells = [
        (
            row["direction"] + (" (both at once)" if row["concurrent"] else ""),
            row["mode"],
            f"{row['density']:g}",
            f"{row['bytes']:,}",
            f"{row['cycles']:,}",
            f"{row['bytes_per_cycle']:g}",
            f"{row['utilisation']:.1%}",
        )
        for row in rows
    ]
    largest = max(row["bytes"] for row in rows)
    least = min(row["utilisation"] for row in rows if row["bytes"] == largest)
    answer = (
        f"With tensors of {largest:,} bytes the busier port moves data in {least:.1%} of the cycles or more."
    )
    return answer, Table(titles, cells)


def _stream_rates(rows: Sequence[dict[str, Any]]) -> tuple[str, Table]:
    names = [
        name
        for name in ("density", "coverage", "beats", "cycles", "bound", "latency", "bytes_per_cycle")
        if name in rows[0]
    ]
    rates = [row["bytes_per_cycle"] for row in rows]
    answer = f"{min(rates):g} to {max(rates):g} bytes of raw data per cycle."
    titles = [name.replace("_", " ") for name in names]
    return answer, Table(titles, [[f"{row[name]:g}" for name in names] for row in rows])


def _data(found: Sequence[Stored]) -> Any:
    """The figures of measurements for JSON: those of this run alone, or those on record, each with its command."""
    if not found[0].command:
        return found[0].figures
    return [{"command": each.command, **each.figures} for each in found]


def area(subject: Subject) -> Line:
    """Area and clock on each library that it was measured on."""
    key, title, found = "area", "Area and clock by library", _measured(subject, "area", "area")
    if not found:
        answer = "Nothing was synthesised for these parameters."
        return Line(key, title, [subject.area_command], answer)
    note = Paragraph(
        "Synthesised, before placement. Memories are apart; the clock is from register to register."
    )
    rows = [(_library(each), *_figures(each.figures), each.date, each.revision) for each in found]
    figures = found[0].figures
    period = figures.get("period_ns")
    clock = f", {period:.2f} ns = {1000 / period:,.0f} MHz" if period else ""
    answer = f"{figures['kge']:.1f} kGE{clock} on {rows[0][0]}."
    return _line(key, title, subject.area_command, found, answer, note, Table(_AREA, rows), data=_data(found))


#: What stands in the place of a library where none is given.
_OWN = "the project's table of gates"
_AREA = ("library", "kGE", "kGE, gated clocks", "flip-flops", "period, ns", "date", "revision")


def _library(found: Stored) -> str:
    """The library of a measurement, and the period that it was sized for."""
    from cdma.synth.asic.library.liberty import NAME

    if not found.command:
        library = found.figures["library"]
        return f"{_OWN if library == NAME else library}, sized for {found.figures['target_ns']:g} ns"
    words = found.command.split()
    file = next((word for word in words if word.endswith((".lib", ".lib.gz"))), "")
    sized = f", sized for {words[words.index('--period') + 1]} ns" if "--period" in words else ""
    return (file.partition(".lib")[0] or _OWN) + sized


def _figures(figures: dict[str, Any]) -> tuple[str, ...]:
    gated = figures.get("clock_gated") or {}
    return (
        f"{figures['kge']:.1f}",
        f"{gated['kge']:.1f}" if "kge" in gated else "",
        f"{figures['flip_flops']:,}",
        f"{figures['period_ns']:.2f}" if figures.get("period_ns") else "",
    )


def fpga(subject: Subject) -> Line | None:
    """What it takes of FPGAs by the tools, none of which ran on a board."""
    if subject.block in STAGES:
        return None
    key, title, found = "fpga", "FPGA", _measured(subject, "fpga")
    note = Paragraph("Figures of Yosys and nextpnr; nothing here has run on a board.")
    if not found:
        command = subject.command("fpga", "--target ecp5")
        return Line(key, title, [command], "Nothing was placed for these parameters.", [note])
    titles = ("target", "look-up tables", "flip-flops", "block RAMs", "MHz", "date", "revision")
    names = ("luts", "flip_flops", "ram_blocks", "fmax_mhz")
    rows = [
        (
            " ".join(each.command.split()[3:]),
            *(f"{each.figures[name]:,}" if each.figures.get(name) is not None else "" for name in names),
            each.date,
            each.revision,
        )
        for each in found
    ]
    best = max(each.figures.get("fmax_mhz") or 0 for each in found)
    answer = f"Up to {best:g} MHz after routing." if best else "Look-up tables are counted, and no clock."
    return _line(key, title, "", found, answer, note, Table(titles, rows), data=_data(found))


def memories(subject: Subject) -> Line:
    """What macros would have to hold."""
    found = subject.made.block.design.memories
    command, title = subject.command("generate", "--json"), "Memories"
    if not found:
        return subject.shown(
            "memories", title, [command], "None: all that is stored is in flip-flops.", data=[]
        )
    answer = f"{len(found)} memories, {sum(memory.bits for memory in found):,} bits."
    rows = [memory_row(memory) for memory in found]
    return subject.shown("memories", title, [command], answer, memory_table(found), data=rows)


def power(subject: Subject) -> Line:
    """What is on record of it; otherwise what gated clocks save is the nearest."""
    key, title, found = "power", "Power", _measured(subject, "power")
    if found:
        rows = [row for each in found for row in _power_rows(each)]
        note = Paragraph(
            "Gates with the loads of the library's tables, before placement; memories are left out."
        )
        energies = [float(row[3]) for row in rows]
        answer = f"At work {min(energies):.3f} to {max(energies):.3f} pJ per byte."
        return _line(key, title, "", found, answer, note, Table(_POWER, rows), data=_data(found))
    stored = [each for each in subject.stored if each.kind == "area" and each.figures.get("clock_gated")]
    said: list[Part] = [
        Paragraph(
            f"With gated clocks in the place of enable multiplexers it takes {each.figures['clock_gated']['kge']:.1f} kGE "
            f"instead of {each.figures['kge']:.1f} (`{each.command}`, {each.date}, revision {each.revision})."
        )
        for each in stored[:1]
    ]
    answer = "No measurement is on record; of codecs and engines, `cdma power` makes one on your library."
    return Line(key, title, [subject.area_command], answer, said, nearest=True)


_POWER = ("move", "density", "mW", "pJ per byte", "clocks", "date", "revision")


def _power_rows(stored: Stored) -> Iterator[tuple[str, ...]]:
    """The rows of moves, without those at rest."""
    for row in stored.figures["rows"]:
        if "pj_per_byte" in row:
            clocks = "gated by synthesis" if row["gated"] else "as generated"
            mw, energy = f"{row['total_mw']:.2f}", f"{row['pj_per_byte']:.3f}"
            yield row["move"], f"{row['density']:g}", mw, energy, clocks, stored.date, stored.revision
