"""``cdma linux``: a kernel in user mode with the simulated engine as its PCI device tries the driver, or runs a program."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path

from cdma.base.errors import ParameterError, ToolError, install_command
from cdma.command import flag, option
from cdma.options import block_command, check_one_or_more, engine_config_from
from cdma.result import Result


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import opened, ready_file
    from cdma.verif.engine.design import EngineDesign
    from cdma_linux.trial.run import Trial, run

    check_one_or_more(arguments, "first")
    if arguments.measure < 0:
        raise ParameterError(f"--measure is {arguments.measure}; it must be a number of transfers, 0 or more")
    if arguments.json and not arguments.measure:
        raise ParameterError("--json is for what --measure has found")
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
        seed=arguments.seed,
        script=script,
        control=arguments.control,
        waves=arguments.waves,
        first=arguments.first,
    )
    said: list[str] = []
    say = said.append if arguments.json else print
    passed = run(EngineDesign(engine_config_from(arguments)), trial, say=say)
    found = re.findall(r"^# measured (.+) (\d+)$", "\n".join(said), re.MULTILINE)
    if said and not passed:
        print(*said, sep="\n", file=sys.stderr)
    return Result({**{what: int(value) for what, value in found}, "passed": passed}, holds=passed)


COMMAND = block_command(
    "engine",
    "boot Linux with the engine's Verilog as its device, and try the driver or run a program",
    "Boot an unmodified Linux kernel as an ordinary process with the engine's Verilog, simulated, as its PCI device. It "
    "tries the driver cdma.ko, or runs a program of this machine, whose files it sees. The kernel is built the first time, "
    "which takes ten minutes.",
    _run,
    {
        "guest": (
            option("--run PROGRAM", "run this program with the rest of the line as its arguments in place of the tests; it "
                "comes last", dest="program", nargs=argparse.REMAINDER),
            flag("--torch", "train a small network there, whose saved tensors go through driver and engine, and compare "
                "gradients"),
            option("--measure N", "measure in place of the tests, N transfers of four processes too, one in twenty of them "
                "wrong", int, default=0),
            flag("--json", "print what was measured as JSON"),
        ),
        "device": (
            option("--seed N", "of what the device draws (1)", 1),
            option("--waves FILE", "write a waveform of the engine, a VCD with all its signals", Path),
            option("--first N", "the descriptor with which the waveform begins (1)", 1),
            option("--script FILE", "commands for the device, a line each, behind the number of the descriptor at which it "
                "is given", Path),
            option("--control PIPE", "make this named pipe, which takes commands while the guest runs", Path),
        ),
    },
    ["", "--waves linux.vcd --first 9", "--torch", "--measure 10000 --json", "--run python3 my.py"],
    name="linux",
)  # fmt: skip
