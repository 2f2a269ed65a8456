"""What the block takes: cycles, area, clock, memories, power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cdma.hdl.deliver.document import Drawing, Paragraph, Part, Table, memory_row, memory_table
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.hdl.spec.stage import STAGES

from .line import RECORD, Line
from .runs import throughput_load
from .stored import Stored
from .subject import Subject

__all__ = ["area", "fpga", "latency", "memories", "power", "throughput", "waveform"]

#: What is said of an engine that no bench measures.
_NO_RINGS = "An engine with streams in the place of registers is not measured."


def _rings(subject: Subject) -> bool:
    """Whether an engine has what the benches drive."""
    return bool(subject.design.config.registers)


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
    title, key = "Latency", "latency"
    intake = subject.command("intake", "--run speed")
    if subject.is_engine:
        if subject.ran.speed is None:
            answer = (
                "From the doorbell to the first word, and for each descriptor."
                if _rings(subject)
                else _NO_RINGS
            )
            return Line(key, title, [intake], answer)
        rows = subject.ran.speed.latency
        parts = _latency_parts(rows, several=subject.design.config.clocks != NO_CLOCKS)
        return subject.shown(key, title, [intake], _engine_latency(rows), *parts, data=rows)
    commands = [_bench(subject)]
    contract = _facts(subject)
    if subject.ran.speed is None:
        kept = _kept_rates(subject)
        if kept is None:
            return Line(key, title, commands, "From the first beat in to the first beat out.", contract)
        return _of_record([kept], key, title, _stream_latency(kept.figures), *contract, data=kept.figures)
    rows = subject.ran.speed.latency
    return subject.shown(key, title, commands, _stream_latency(rows), *contract, data=rows)


def _facts(subject: Subject) -> list[Part]:
    return [Paragraph(f"{name}: {text}") for name, text in subject.made.block.facts.items()]


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
    command = subject.command("wave", "--scenarios descriptor --only svg")
    title = "Waveform of one descriptor"
    if subject.ran.speed is None:
        answer = "From the doorbell to the interrupt, at all ports." if _rings(subject) else _NO_RINGS
        return Line("waveform", title, [command], answer)
    caption = "One descriptor from the doorbell to the interrupt."
    drawing = Drawing(f"{subject.made.block.name}_descriptor.svg", caption, subject.ran.speed.waveform)
    return subject.shown(
        "waveform", title, [command], "From the doorbell to the interrupt, at all ports.", drawing
    )


def throughput(subject: Subject) -> Line:
    """Bytes per cycle, and how busy the ports are."""
    title, key = "Throughput", "throughput"
    speed, kept = subject.ran.speed, _kept_rates(subject)
    if subject.is_engine:
        load = throughput_load(subject.design.config)
        options = (
            f"--densities {_list(load['densities'])} --bytes {_list(load['sizes'])}",
            f"--memory-latencies {_list(load['latencies'])}",
        )
        command = subject.command("bench engine", *options)
        make: Any = _engine_rates
    else:
        command, make = _bench(subject), _stream_rates
    if speed is not None:
        answer, table = make(speed.throughput)
        return subject.shown(key, title, [command], answer, table, data=speed.throughput)
    if kept is not None:
        answer, table = make(kept.figures)
        return _of_record([kept], key, title, answer, table, data=kept.figures)
    return Line(
        key,
        title,
        [command],
        f"Designed for {subject.made.characteristics.bytes_per_cycle:g} bytes of raw data per cycle.",
    )


def _list(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _kept_rates(subject: Subject) -> Stored | None:
    """What is on record of an engine or of this codec; the rows of a bench of several codecs that are of this one."""
    kind = "bench engine" if subject.is_engine else "bench codec"
    kept = next((each for each in subject.stored if each.kind == kind), None)
    if kept is None or subject.is_engine:
        return kept
    config, direction = subject.design.config, subject.block.removesuffix("or")
    shape = {"direction": direction, "word_bits": config.format.word_bits, "lanes": config.lanes}
    rows = [row for row in kept.figures if shape.items() <= row.items()]
    return Stored(kept.command, kept.date, kept.revision, rows)


def _of_record(stored: Sequence[Stored], key: str, title: str, answer: str, *parts: Part, data: Any) -> Line:
    """A line of measurements on record, of which the first gives it its day and its revision."""
    commands, first = [each.command for each in stored], stored[0]
    return Line(key, title, commands, answer, parts, RECORD, first.date, first.revision, data=data)


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


def area(subject: Subject) -> Line:
    """Area and clock on each library that it was measured on."""
    title, key = "Area and clock by library", "area"
    measured = subject.ran.area
    stored = [each for each in subject.stored if each.kind == "area"]
    rows = list(_area_rows(stored))
    command = subject.command("area", "--clock-gating --no-breakdown")
    note = Paragraph(
        "Synthesised, before placement. Memories are apart; the clock is from register to register."
    )
    if measured is not None:
        from cdma.synth.asic.library.liberty import NAME

        figures = measured.as_json()
        library = _OWN if measured.library == NAME else measured.library
        name = f"{library}, sized for {measured.options.target_ns:g} ns"
        mine = (name, *_figures(figures), subject.date, subject.revision)
        return subject.shown(
            key,
            title,
            [command],
            _area_answer(name, figures),
            note,
            Table(_AREA, [mine, *rows]),
            data=figures,
        )
    if not stored:
        return Line(key, title, [command], "Nothing was synthesised for these parameters.")
    data = [{"command": each.command, **each.figures} for each in stored]
    answer = _area_answer(rows[0][0], stored[0].figures)
    return _of_record(stored, key, title, answer, note, Table(_AREA, rows), data=data)


#: What stands in the place of a library where none is given.
_OWN = "the project's table of gates"
_AREA = ("library", "kGE", "kGE, gated clocks", "flip-flops", "period, ns", "date", "revision")


def _area_rows(stored: Sequence[Stored]) -> Iterator[tuple[str, ...]]:
    for each in stored:
        words = each.command.split()
        file = next((word for word in words if word.endswith((".lib", ".lib.gz"))), "")
        name = file.partition(".lib")[0] or _OWN
        if "--period" in words:
            name += f", sized for {words[words.index('--period') + 1]} ns"
        yield name, *_figures(each.figures), each.date, each.revision


def _figures(figures: dict[str, Any]) -> tuple[str, ...]:
    gated = figures.get("clock_gated") or {}
    return (
        f"{figures['kge']:.1f}",
        f"{gated['kge']:.1f}" if "kge" in gated else "",
        f"{figures['flip_flops']:,}",
        f"{figures['period_ns']:.2f}" if figures.get("period_ns") else "",
    )


def _area_answer(library: str, figures: dict[str, Any]) -> str:
    period = figures.get("period_ns")
    clock = f", {period:.2f} ns = {1000 / period:,.0f} MHz" if period else ""
    return f"{figures['kge']:.1f} kGE{clock} on {library}."


def fpga(subject: Subject) -> Line | None:
    """What it takes of FPGAs by the tools, none of which ran on a board."""
    if subject.block in STAGES:
        return None
    title = "FPGA"
    stored = [each for each in subject.stored if each.kind == "fpga"]
    note = Paragraph("Figures of Yosys and nextpnr; nothing here has run on a board.")
    if not stored:
        return Line(
            "fpga",
            title,
            [subject.command("fpga", "--target ecp5")],
            "Nothing was placed for these parameters.",
            [note],
        )
    titles = ("target", "look-up tables", "flip-flops", "block RAMs", "MHz", "date", "revision")
    rows = [
        (
            " ".join(each.command.split()[3:]),
            *(f"{each.figures[name]:,}" if each.figures.get(name) is not None else "" for name in _FPGA),
            each.date,
            each.revision,
        )
        for each in stored
    ]
    best = max((each.figures.get("fmax_mhz") or 0 for each in stored), default=0)
    answer = f"Up to {best:g} MHz after routing." if best else "Look-up tables are counted, and no clock."
    data = [{"command": each.command, **each.figures} for each in stored]
    return _of_record(stored, "fpga", title, answer, note, Table(titles, rows), data=data)


_FPGA = ("luts", "flip_flops", "ram_blocks", "fmax_mhz")


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
    measured = [each for each in subject.stored if each.kind == "power"]
    if measured:
        rows = [row for each in measured for row in _power_rows(each)]
        data = [{"command": each.command, **each.figures} for each in measured]
        note = Paragraph(
            "Gates with the loads of the library's tables, before placement; memories are left out."
        )
        energies = [float(row[3]) for row in rows]
        answer = f"At work {min(energies):.3f} to {max(energies):.3f} pJ per byte."
        return _of_record(measured, "power", "Power", answer, note, Table(_POWER, rows), data=data)
    stored = [each for each in subject.stored if each.kind == "area" and each.figures.get("clock_gated")]
    said: list[Part] = [
        Paragraph(
            f"With gated clocks in the place of enable multiplexers it takes {each.figures['clock_gated']['kge']:.1f} kGE "
            f"instead of {each.figures['kge']:.1f} (`{each.command}`, {each.date}, revision {each.revision})."
        )
        for each in stored[:1]
    ]
    command = subject.command("area", "--clock-gating --no-breakdown")
    answer = "No measurement is on record; of codecs and engines, `cdma power` makes one on your library."
    return Line("power", "Power", [command], answer, said, nearest=True)


_POWER = ("move", "density", "mW", "pJ per byte", "clocks", "date", "revision")


def _power_rows(stored: Stored) -> Iterator[tuple[str, ...]]:
    """The rows of moves, without those at rest."""
    for row in stored.figures["rows"]:
        if "pj_per_byte" in row:
            clocks = "gated by synthesis" if row["gated"] else "as generated"
            mw, energy = f"{row['total_mw']:.2f}", f"{row['pj_per_byte']:.3f}"
            yield row["move"], f"{row['density']:g}", mw, energy, clocks, stored.date, stored.revision
