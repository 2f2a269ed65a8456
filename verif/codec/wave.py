"""A short, telling run of a codec as pictures: a VCD, a GTKWave save file for it, and a timing diagram."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vcd.gtkw import GTKWColor, GTKWSave

from cdma.sim.codec.codec_model import model_of
from cdma.sim.codec.words import Words, as_words, words_from_bytes
from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import SimulationError, simulate
from cdma.verif.simulator.timing_diagram import timing_diagram
from cdma.verif.simulator.vcd_trace import Scope, Trace, read_trace

from .design import CodecDesign

__all__ = ["KINDS", "wave"]

KINDS = ("vcd", "gtkw", "svg")
#: Lanes up to which the diagram shows each word of a beat.
_SPELT_LANES = 8

Cycle = dict[str, int]


def wave(
    design: CodecDesign, directory: Path, kinds: tuple[str, ...] = KINDS, *, verilog: str | None = None
) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``.

    ``verilog`` is the design's text, for those who have it already.
    """
    directory.mkdir(parents=True, exist_ok=True)
    text = design.verilog() if verilog is None else verilog
    executable = build(text, design.top, design.ports, trace=True)
    settings = {"design": design.to_json(), "packets": 1, "seed": 1}
    targets = {kind: directory / f"{design.block}.{kind}" for kind in kinds}
    with tempfile.TemporaryDirectory(dir=directory, prefix=".wave-") as temporary:
        place = Path(temporary)
        vcd = place / f"{design.block}.vcd"
        (outcome,) = simulate(
            executable, design.top, "cdma.verif.codec.scenario_tests", ["scenario"], settings, waves=vcd
        )
        if outcome.failure is not None:
            raise SimulationError(f"the run of the {design} failed: {outcome.failure}")
        trace = read_trace(vcd, design.top, design.ports)
        if "gtkw" in kinds:
            _write_gtkw(place / f"{design.block}.gtkw", design, trace.top)
        if "svg" in kinds:
            (place / f"{design.block}.svg").write_text(_svg(design, trace))
        for kind, target in targets.items():
            os.replace(place / f"{design.block}.{kind}", target)
    return list(targets.values())


def _write_gtkw(path: Path, design: CodecDesign, top: Scope) -> None:
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(f"{design.block}.vcd", abspath=False)
        save.treeopen(f"{design.top}.")
        save.signals_width(260)
        save.sst_expanded(False)

        def trace(signal: str, color: GTKWColor, fmt: str = "hex", scope: str = design.top) -> None:
            width = top.signals[signal] if scope == design.top else widths[signal]
            suffix = f"[{width - 1}:0]" if width > 1 else ""
            save.trace(f"{scope}.{signal}{suffix}", color=color, datafmt=fmt)

        for signal in ("aclk", "aresetn"):
            trace(signal, GTKWColor.normal)
        into, out = "raw words in", "stream out"
        if design.block == "decompressor":
            into, out = "stream in", "raw words out"
        groups = [(into, "s_axis", GTKWColor.green)]
        if design.block == "decompressor":
            groups.append(("words asked for", "s_length", GTKWColor.yellow))
        groups += [(out, "m_axis", GTKWColor.blue), ("report", "m_report", GTKWColor.orange)]
        for title, prefix, color in groups:
            with save.group(title):
                for field in ("tvalid", "tready", "tlast", "tkeep", "tdata"):
                    signal = f"{prefix}_{field}"
                    if signal in top.signals:
                        trace(signal, color, "dec" if signal == "s_length_tdata" else "hex")
        if "values" in top.signals:
            trace("values", GTKWColor.yellow)
        for scope_path, scope in _inside(top, design.top):
            widths = scope.signals
            with save.group(f"inside {scope_path.removeprefix(design.top + '.')}", closed=True):
                for signal in sorted(widths):
                    if signal not in ("aclk", "rst"):
                        trace(signal, GTKWColor.violet, scope=scope_path)


def _inside(scope: Scope, path: str) -> Iterator[tuple[str, Scope]]:
    for inner in scope.scopes:
        yield f"{path}.{inner.name}", inner
        yield from _inside(inner, f"{path}.{inner.name}")


class _Speller:
    """Spells the words of beats: ``H`` header word, ``L`` literal, ``.`` frequent value, ``-`` not there."""

    def __init__(self, design: CodecDesign, raw: bool) -> None:
        self._config = design.config
        self._raw = raw
        self._header: list[int] = []
        self._literals = 0

    def beat(self, data: int, keep: int, last: bool) -> str:
        """The label of one transfer."""
        form, lanes = self._config.format, self._config.lanes
        size = form.word_bits // 8
        words = words_from_bytes(data.to_bytes(lanes * size, "little"), form)[: keep.bit_length() // size]
        letters = self._raw_letters(words) if self._raw else self._stream_letters(words)
        if last:
            self._header, self._literals = [], 0
        if lanes <= _SPELT_LANES:
            return letters.ljust(lanes, "-")
        counts = [(letter, letters.count(letter)) for letter in "HL."]
        return " ".join(f"{count}{letter}" for letter, count in counts if count) or "-"

    def _raw_letters(self, words: Words) -> str:
        form = self._config.format
        return "".join("L" if stored else "." for stored in model_of(form).stored(words, form))

    def _stream_letters(self, words: Words) -> str:
        return "".join(map(self._stream_letter, words.tolist()))

    def _stream_letter(self, word: int) -> str:
        form = self._config.format
        if self._literals or not form.header_words:
            self._literals -= 1
            return "L"
        self._header.append(word)
        if len(self._header) == form.header_words:
            self._literals = model_of(form).literals_after(as_words(self._header, form), form)
            self._header = []
        return "H"


def _svg(design: CodecDesign, trace: Trace) -> str:
    starts = ("s_axis_tvalid", "s_length_tvalid")
    ends = ("m_axis_tvalid", "m_report_tvalid")
    first = next(index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in starts))
    final = max(index for index, cycle in enumerate(trace.cycles) if any(cycle[name] for name in ends))
    cycles = trace.cycles[first - 2 : final + 2]
    compresses = design.block == "compressor"
    signal: list[object] = [{"name": "aclk", "wave": "p" + "." * (len(cycles) - 1)}, {}]
    signal.append(["s_axis", *_stream(cycles, "s_axis", _Speller(design, raw=compresses))])
    if not compresses:
        signal += [{}, ["s_length", *_numbers(cycles, "s_length", str)]]
    signal += [{}, ["m_axis", *_stream(cycles, "m_axis", _Speller(design, raw=not compresses))]]

    def report(data: int) -> str:
        return f"{data & 0xFFFFFFFF} in, {data >> 32 & 0xFFFFFFFF} out"

    signal += [{}, ["m_report", *_numbers(cycles, "m_report", report)]]
    text = f"{design}: H header word, L literal, . frequent value, - no word; cycle numbers below"
    source = {
        "signal": signal,
        "config": {"hscale": 2},
        "head": {"text": text},
        "foot": {"tick": 0},
    }
    return timing_diagram(source)


def _bit(name: str, values: list[int]) -> dict[str, str]:
    wave, previous = "", None
    for value in values:
        wave += "." if value == previous else str(value)
        previous = value
    return {"name": name, "wave": wave}


def _handshake(cycles: Sequence[Cycle], prefix: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    return [_bit(field, [cycle[f"{prefix}_{field}"] for cycle in cycles]) for field in fields]


def _payload(cycles: Sequence[Cycle], prefix: str, label: Callable[[Cycle], str]) -> dict[str, object]:
    """One lane of the diagram with a box per transfer, which lasts as long as it waits for ready."""
    wave, labels, waiting = "", [], False
    for cycle in cycles:
        if not cycle[f"{prefix}_tvalid"]:
            wave += "." if wave and wave.rstrip(".")[-1:] == "x" else "x"
            waiting = False
            continue
        if waiting:
            wave += "."
        else:
            wave += "="
            labels.append(label(cycle))
        waiting = not cycle[f"{prefix}_tready"]
    return {"name": "tdata", "wave": wave, "data": labels}


def _stream(cycles: Sequence[Cycle], prefix: str, speller: _Speller) -> list[object]:
    def label(cycle: Cycle) -> str:
        data, keep, last = (cycle[f"{prefix}_{field}"] for field in ("tdata", "tkeep", "tlast"))
        return speller.beat(data, keep, bool(last))

    handshake = _handshake(cycles, prefix, ("tvalid", "tready"))
    return [*handshake, _payload(cycles, prefix, label), *_last(cycles, prefix)]


def _last(cycles: Sequence[Cycle], prefix: str) -> list[dict[str, str]]:
    return [_bit("tlast", [cycle[f"{prefix}_tlast"] & cycle[f"{prefix}_tvalid"] for cycle in cycles])]


def _numbers(cycles: Sequence[Cycle], prefix: str, spell: Callable[[int], str]) -> list[object]:
    def label(cycle: Cycle) -> str:
        return spell(cycle[f"{prefix}_tdata"])

    return [*_handshake(cycles, prefix, ("tvalid", "tready")), _payload(cycles, prefix, label)]
