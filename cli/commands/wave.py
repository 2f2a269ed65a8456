"""``cdma wave``: waveforms that explain a block: short runs of a codec or of the engine."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE, add_block_options, codec_config_from, engine_config_from, word_bits_for

if TYPE_CHECKING:
    from cdma.sim.codec.words import Words
    from cdma.verif.simulator.simulate import Design

__all__ = ["register"]

#: The kinds of files that a waveform can be written as.
_KINDS = ("vcd", "gtkw", "sucl", "svg", "fst", "html")

#: Windows of a user's tensor that are shown, and the most words that they have.
_WINDOWS, _FIRST = 4, 256

#: Each block's summary and description.
_BLOCKS = {
    "compressor": ("the compressor", "Write the waveform of a compressor."),
    "decompressor": ("the decompressor", "Write the waveform of a decompressor."),
    ENGINE: (
        "the engine: a descriptor from fetch to completion, errors, an abort, or a tensor of yours",
        "Write waveforms of the engine between two memories.",
    ),
    "quantiser": (
        "the quantiser: roundings, numbers out of range, two steps",
        "Write the waveform of a quantiser.",
    ),
    "dequantiser": ("the dequantiser", "Write the waveform of a dequantiser."),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "wave",
        help="write a waveform and a timing diagram that explain a block",
        description="Simulate a short, telling run under Verilator and write its waveform (VCD), files with which "
        "GTKWave and Surfer group and colour its signals, and a timing diagram (SVG) drawn from that very waveform.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name, (summary, description) in _BLOCKS.items():
        block = blocks.add_parser(name, help=summary, description=description)
        add_block_options(block, name)
        _add_output_options(block)
        if name in (*BLOCKS, ENGINE):
            _add_input_options(block)
        if name == ENGINE:
            block.add_argument(
                "--scenarios",
                nargs="+",
                metavar="NAME",
                help="some of descriptor, error, corrupt, abort, with several units pieces, with --lossy lossy (all)",
            )
        block.set_defaults(run=_run)


def _add_input_options(block: argparse.ArgumentParser) -> None:
    group = block.add_argument_group("data")
    group.add_argument(
        "--input",
        type=Path,
        metavar="FILE",
        help="a tensor of yours, a .npy file, instead of a run that shows everything",
    )
    group.add_argument(
        "--words",
        type=int,
        metavar="N",
        help="show the first N words of it (default: four windows)",
    )


def _add_output_options(block: argparse.ArgumentParser) -> None:
    group = block.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory (default: the current one)",
    )
    group.add_argument(
        "--html", action="store_true", help="write a page for a browser, too, which needs nothing beside it"
    )
    group.add_argument(
        "--fst",
        action="store_true",
        help="write the waveform as FST, too, which is small and has names of states (needs the extra fst)",
    )
    group.add_argument(
        "--only",
        nargs="+",
        choices=_KINDS,
        metavar="KIND",
        help="only these of vcd, fst, gtkw, sucl, svg and html",
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import making_directory, ready_directory
    from cdma.output import status
    from cdma.verif.engine.wave import engine_wave
    from cdma.verif.simulator.waveform import KINDS
    from cdma.verif.stream.codec.design import CodecDesign
    from cdma.verif.stream.codec.measure import wave
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import stage_wave

    from .designs import design_from, with_rings

    takes_words = arguments.block in (*BLOCKS, ENGINE)
    design, words, total = _with_words(arguments) if takes_words else (design_from(arguments), None, None)
    added = [kind for kind in ("fst", "html") if getattr(arguments, kind)]
    kinds = arguments.only or [*KINDS, *added]
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
    if arguments.json:
        # A codec has one run, and the kind of a file says which it is.
        names = {path.suffix[1:]: str(path) for path in paths}
        print(json.dumps([str(path) for path in paths] if arguments.block == ENGINE else names))
        return 0

    for path in paths:
        print(path)
    for line in _opening(paths):
        print(line)
    return 0


def _opening(paths: list[Path]) -> list[str]:
    """The commands that open the first run, with files in full: a save file alone finds its waveform only in the folder in
    which GTKWave starts."""
    first = {path.suffix[1:]: path.resolve() for path in reversed(paths)}
    lines = []
    wave = first.get("fst") or first.get("vcd")
    if wave and "gtkw" in first:
        lines.append(f"open with: gtkwave {shlex.join(map(str, (wave, first['gtkw'])))}")
    if wave and "sucl" in first:
        lines.append(f"       or: surfer {shlex.join(map(str, (wave, '--command-file', first['sucl'])))}")
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

    from .designs import design_from

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
