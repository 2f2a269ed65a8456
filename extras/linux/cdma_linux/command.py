"""``cdma linux``: a kernel in user mode with the simulated engine as its PCI device tries the driver, or runs a program."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError, ToolError, install_command
from cdma.options import ENGINE, add_block_options, check_one_or_more, engine_config_from

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "linux",
        help="boot Linux with the engine's Verilog as its device, and try the driver or run a program",
        description="Boot an unmodified Linux kernel as an ordinary process with the engine's Verilog, simulated, as its "
        "PCI device. It tries the driver cdma.ko, or runs a program of this machine, whose files it sees. "
        "The kernel is built the first time, which takes ten minutes.",
    )
    add_block_options(parser, ENGINE)
    group = parser.add_argument_group("guest")
    group.add_argument(
        "--run",
        nargs=argparse.REMAINDER,
        dest="program",
        metavar="PROGRAM",
        help="run this program with the rest of the line as its arguments in place of the tests; it comes last",
    )
    group.add_argument(
        "--torch",
        action="store_true",
        help="train a small network there, whose saved tensors go through driver and engine, and compare gradients",
    )
    group.add_argument(
        "--measure",
        type=int,
        default=0,
        metavar="N",
        help="measure in place of the tests, N transfers of four processes too, one in twenty of them wrong",
    )
    group.add_argument(
        "--feed",
        type=int,
        default=0,
        metavar="N",
        help="measure in place of the tests how fast the driver feeds N descriptors to an engine that answers at once; its "
        "kernel, without checks, is built the first time",
    )
    group.add_argument("--json", action="store_true", help="print what was measured as JSON")
    group = parser.add_argument_group("device")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of what the device draws (1)")
    group.add_argument(
        "--waves",
        type=Path,
        metavar="FILE",
        help="write a waveform of the engine, a VCD with all its signals",
    )
    group.add_argument(
        "--first", type=int, default=1, metavar="N", help="the descriptor with which the waveform begins (1)"
    )
    group.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="commands for the device, a line each, behind the number of the descriptor at which it is given",
    )
    group.add_argument(
        "--control",
        type=Path,
        metavar="PIPE",
        help="make this named pipe, which takes commands while the guest runs",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import opened, ready_file
    from cdma.verif.engine.design import EngineDesign
    from cdma_linux.trial.run import Trial, run

    check_one_or_more(arguments, "first")
    if arguments.measure < 0:
        raise ParameterError(f"--measure is {arguments.measure}; it must be a number of transfers, 0 or more")
    if not 0 <= arguments.feed < 1 << 31:
        raise ParameterError(
            f"--feed is {arguments.feed}; it must be a number of descriptors, 0 to {(1 << 31) - 1}"
        )
    if arguments.measure and arguments.feed:
        raise ParameterError("--measure and --feed are measured one at a time, on kernels of their own")
    if arguments.json and not (arguments.measure or arguments.feed):
        raise ParameterError("--json is for what --measure or --feed has found")
    if arguments.program == []:
        raise ParameterError(
            "--run is given without a program; the rest of the line is the program and its arguments"
        )
    if arguments.control is not None and arguments.control.exists():
        raise ParameterError(
            f"--control is {arguments.control}, which is there already; it must be a new pipe"
        )
    if arguments.control is not None and not arguments.control.parent.is_dir():
        raise ParameterError(
            f"--control is {arguments.control}; there is no directory {arguments.control.parent}"
        )
    script = []
    if arguments.script is not None:
        with opened(arguments.script) as file:
            script = file.read().decode(errors="replace").splitlines()
    if arguments.waves is not None:
        ready_file(arguments.waves, (".vcd",))
    program = arguments.program or []
    if arguments.torch:
        if importlib.util.find_spec("torch") is None:
            raise ToolError(f"--torch needs the package torch: {install_command('torch')}")
        program = [sys.executable, "-m", "cdma.torch.swapping.driven_step"]
    trial = Trial(
        program=program,
        measure=arguments.measure,
        feed=arguments.feed,
        seed=arguments.seed,
        script=script,
        control=arguments.control,
        waves=arguments.waves,
        first=arguments.first,
    )
    said: list[str] = []
    say = said.append if arguments.json else print
    passed = run(EngineDesign(engine_config_from(arguments)), trial, say=say)
    if arguments.json:
        found = {
            what: int(value)
            for what, value in re.findall(r"^# measured (.+) (\d+)$", "\n".join(said), re.MULTILINE)
        }
        print(json.dumps({**found, "passed": passed}, indent=2))
        if not passed:
            print(*said, sep="\n", file=sys.stderr)
    return 0 if passed else 1
