"""``cdma wave``: waveforms that explain a block: short runs of a codec or of the engine."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.command import Command, Option, flag, option
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE, block_command, codec_config_from, engine_config_from, word_bits_for
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.sim.codec.words import Words
    from cdma.verif.simulator.simulate import Design

#: Windows of a user's tensor that are shown, and the most words that they have.
_WINDOWS, _FIRST = 4, 256


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import making_directory, ready_directory
    from cdma.output import status
    from cdma.verif.engine.wave import engine_wave
    from cdma.verif.simulator.waveform import KINDS
    from cdma.verif.stream.codec.design import CodecDesign
    from cdma.verif.stream.codec.measure import wave
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import stage_wave

    from .verify import design_from, with_rings

    takes_words = arguments.block in (*BLOCKS, ENGINE)
    design, words, total = _with_words(arguments) if takes_words else (design_from(arguments), None, None)
    kinds = arguments.only or [*KINDS, *(["html"] if arguments.html else [])]
    ready_directory(arguments.output)
    with making_directory(arguments.output), status() as say:
        say(f"building and simulating the {arguments.block}")
        if isinstance(design, CodecDesign):
            paths = wave(design, arguments.output, kinds, words=words, total=total)
        elif isinstance(design, StageDesign):
            paths = stage_wave(design, arguments.output, kinds)
        else:
            paths = engine_wave(
                with_rings(design), arguments.output, kinds, arguments.scenarios, words, total
            )
    names = [str(path) for path in paths]
    # A codec has one run, and the kind of a file says which it is.
    kinds_of = {path.suffix[1:]: str(path) for path in paths}
    return Result(names if arguments.block == ENGINE else kinds_of, [*names, *_opening(paths)])


def _opening(paths: list[Path]) -> list[str]:
    """The commands that open the first run, with files in full: a save file alone finds its waveform only in the folder in
    which GTKWave starts."""
    first = {path.suffix[1:]: path.resolve() for path in reversed(paths)}
    lines = []
    if {"vcd", "gtkw"} <= {*first}:
        lines.append(f"open with: gtkwave {shlex.join(map(str, (first['vcd'], first['gtkw'])))}")
    if "html" in first:
        lines.append(f"in a browser: {first['html'].as_uri()}")
    return lines


def _with_words(arguments: argparse.Namespace) -> tuple[Design, Words | None, int | None]:
    """The block, whose words are as long as the elements of the user's tensor, the first words of that, and their number."""
    from cdma.files import opened
    from cdma.sim.codec.files import NotATensor, read_npy, read_npy_header
    from cdma.sim.codec.words import words_of
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.stream.codec.design import CodecDesign

    from .verify import design_from

    if arguments.words is not None and arguments.words < 1:
        raise ParameterError(f"words is {arguments.words}; it must be 1 or more")
    if arguments.input is None:
        if arguments.words is not None:
            raise ParameterError("words is given without input; it says how much of a tensor is shown")
        return design_from(arguments), None, None
    if arguments.block == ENGINE and arguments.scenarios is not None:
        raise ParameterError("scenarios is given with input; a tensor is a run of its own")
    with opened(arguments.input) as file:
        try:
            data = read_npy(file, 4 * (arguments.words or _FIRST))
        except NotATensor as error:
            raise NotATensor(f"cannot show {arguments.input}: {error}") from None
        file.seek(0)
        size = read_npy_header(file).nbytes
    bits = word_bits_for(data.dtype.itemsize)
    design: EngineDesign | CodecDesign
    if arguments.block == ENGINE:
        design = EngineDesign(engine_config_from(arguments, word_bits=bits))
    else:
        design = CodecDesign(arguments.block, codec_config_from(arguments, word_bits=bits))
    form = design.config.format
    words = words_of(data, form)[: arguments.words or _WINDOWS * form.window]
    return design, words, 8 * size // form.word_bits


_OUTPUT = (
    option("-o --output DIR", "directory (default: the current one)", Path()),
    flag("--html", "write a page for a browser, too, which needs nothing beside it"),
    option("--only KIND+", "only these of vcd, gtkw, svg and html", choices=("vcd", "gtkw", "svg", "html")),
    flag("--json", "print what was written as JSON"),
)
_DATA = (
    option("--input FILE", "a tensor of yours, a .npy file, instead of a run that shows everything", Path),
    option("--words N", "show the first N words of it (default: four windows)", int),
)
_SCENARIOS = option(
    "--scenarios NAME+", "some of descriptor, error, corrupt, abort, with several units pieces, with --lossy lossy (all)"
)  # fmt: skip


def _block(
    name: str, help: str, description: str, examples: Sequence[str], **data: Sequence[Option]
) -> Command:
    return block_command(name, help, description, _run, {"output": _OUTPUT, **data}, examples)


COMMAND = Command(
    "wave",
    "write a waveform and a timing diagram that explain a block",
    "Simulate a short, telling run under Verilator and write its waveform (VCD), a file with which GTKWave groups and "
    "colours its signals, and a timing diagram (SVG) drawn from that very waveform.",
    commands=[
        _block("compressor", "the compressor", "Write the waveform of a compressor.",
            ["-o waves", "--input activations.npy -o waves", "--lanes 4 --only svg -o waves"], data=_DATA),
        _block("decompressor", "the decompressor", "Write the waveform of a decompressor.", ["-o waves"], data=_DATA),
        _block(ENGINE, "the engine: a descriptor from fetch to completion, errors, an abort, or a tensor of yours",
            "Write waveforms of the engine between two memories.", ["-o waves", "--scenarios error abort -o waves"],
            data=_DATA, **{"": [_SCENARIOS]}),
        _block("quantiser", "the quantiser: roundings, numbers out of range, two steps",
            "Write the waveform of a quantiser.", ["-o waves"]),
        _block("dequantiser", "the dequantiser", "Write the waveform of a dequantiser.", ["-o waves"]),
    ],
)  # fmt: skip
