"""``cdma demo``: from nothing to Verilog that has moved an activation tensor, with every bit checked."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from cdma.command import Command, flag, option
from cdma.result import Result

Say = Callable[[str], None]


def _run(arguments: argparse.Namespace) -> Result:
    began = time.monotonic()

    from cdma.files import ready_directory
    from cdma.output import status
    from cdma.sim.codec.stimuli import activations

    ready_directory(arguments.output)
    tensor = activations(1, arguments.density)
    with status() as say:
        steps = [step(arguments.output, tensor, say) for step in _STEPS]
    report = {
        "tensor": {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "bytes": tensor.nbytes},
        "steps": steps,
        "seconds": round(time.monotonic() - began, 1),
    }
    return Result(report, _parts(report))


def _codec(block: str) -> Callable[[Path, NDArray[np.float32], Say], dict[str, Any]]:
    def step(directory: Path, tensor: NDArray[np.float32], say: Say) -> dict[str, Any]:
        """Writes the Verilog of one block, runs the tensor through it, and draws its waveform."""
        from cdma.files import write_text
        from cdma.verif.simulator.waveform import KINDS
        from cdma.verif.stream.codec.design import CodecDesign
        from cdma.verif.stream.codec.measure import wave
        from cdma.verif.stream.codec.stimulus import run_tensor

        design = CodecDesign(block)
        say(f"{block}: Verilog")
        text = design.verilog()
        path = write_text(directory, f"{design.top}.v", text)
        say(f"{block}: building the simulation, {tensor.nbytes // 1024} KiB through it")
        run = run_tensor(design, tensor, verilog=text, trace=True, short=True)
        say(f"{block}: waveform")
        waves = wave(design, directory, kinds=(*KINDS, "html"), verilog=text)
        return {
            "block": block,
            "verilog": str(path),
            "raw_bytes": run.raw_bytes,
            "compressed_bytes": run.stream_bytes,
            "ratio": round(run.raw_bytes / run.stream_bytes, 3),
            "cycles": run.cycles,
            "bytes_per_cycle": round(run.bytes_per_cycle, 2),
            "waveform": [str(path) for path in waves],
        }

    return step


def _engine(directory: Path, tensor: NDArray[np.float32], say: Say) -> dict[str, Any]:
    """Writes the Verilog of the engine, and takes the tensor to host memory and back with it."""
    from cdma.files import write_text
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.measure import round_trip

    design = EngineDesign(EngineConfig())
    say("engine: Verilog")
    text = design.verilog()
    path = write_text(directory, f"{design.top}.v", text)
    say(f"engine: building the simulation, {tensor.nbytes // 1024} KiB out and back")
    trip = round_trip(design, tensor, verilog=text, short=True)
    return {
        "block": "engine",
        "verilog": str(path),
        "raw_bytes": trip.raw_bytes,
        "compressed_bytes": trip.stream_bytes,
        "ratio": round(trip.ratio, 3),
        "cycles": trip.offload_cycles,
        "prefetch_cycles": trip.prefetch_cycles,
        "bytes_per_cycle": round(trip.raw_bytes / trip.offload_cycles, 2),
        "waveform": [],
    }


_STEPS = (_codec("compressor"), _codec("decompressor"), _engine)


def _parts(report: dict[str, Any]) -> Iterator[str]:
    from cdma.output import program_name

    tensor, steps = report["tensor"], report["steps"]
    shape = " x ".join(map(str, tensor["shape"]))
    yield f"tensor         {shape} {tensor['dtype']}, {tensor['bytes']:,} bytes, from a convolution and ReLU"
    yield f"compressed     {steps[0]['compressed_bytes']:,} bytes, ratio {steps[0]['ratio']:.2f}"
    for step in steps:
        rate = f"{step['cycles']:,} cycles, {step['bytes_per_cycle']:.2f} bytes per cycle"
        yield f"{step['block']:14} {rate}, every bit as the numpy model has it"
    cycles, back = steps[-1]["cycles"], steps[-1]["prefetch_cycles"]
    yield f"{'':14} offloaded in {cycles:,} cycles and prefetched again in {back:,}, memory latency 100 cycles"
    yield "\nVerilog and waveforms:"
    for step in steps:
        yield "\n    ".join([f"  {step['verilog']}", *step["waveform"]])
    yield f"\n{report['seconds']:.0f} seconds. Next:"
    yield f"  {program_name()} generate engine -o rtl\n  {program_name()} verify compressor"


COMMAND = Command(
    "demo",
    "generate, simulate and check codec and engine on an activation tensor",
    "Generate the Verilog of compressor and decompressor, send an activation tensor through both under Verilator, compare "
    "every bit with the golden model, and write a waveform of each; then offload the tensor through the engine and prefetch "
    "it again.",
    _run,
    {
        "": (
            option("-o --output DIR", "directory", Path("build/demo")),
            option("--density", "of the tensor", 0.4),
            flag("--json", "print the results as JSON"),
        ),
    },
    ["", "-o out --density 0.2"],
)  # fmt: skip
