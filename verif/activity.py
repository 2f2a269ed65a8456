"""Runs tensors through a netlist that counts what its nets do, against the golden model."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.verif.engine.design import EngineDesign
from cdma.verif.simulator.build import build
from cdma.verif.simulator.counting import COUNTING
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import SimulationError, simulate

__all__ = ["activity"]


def activity(design: Design, verilog: str, tensors: Sequence[NDArray[Any]], timeout: float = 7200) -> str:
    """What the netlist ``verilog`` of a codec or of an engine with rings wrote of each tensor, and at rest; an engine writes
    of each its offload and its prefetch.

    Raises :class:`.SimulationError` where a bit differs from the golden model.
    """
    module = (
        "cdma.verif.engine.counted_tests"
        if isinstance(design, EngineDesign)
        else "cdma.verif.stream.codec.tests.counted"
    )
    executable = build(design.watched(verilog), design.top, [*design.port_names, COUNTING], short=True)
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        folder = Path(directory)
        paths = [folder / f"words{number}.npy" for number in range(len(tensors))]
        for path, words in zip(paths, tensors, strict=True):
            np.save(path, words)
        counts = folder / "activity"
        settings = {
            "design": design.to_json(),
            "packets": 1,
            "seed": 1,
            "rows": str(folder / "rows"),
            "words": [str(path) for path in paths],
        }
        (outcome,) = simulate(
            executable,
            design.top,
            module,
            ["counted"],
            settings,
            plusargs=[f"+activity={counts}"],
            timeout=timeout,
        )
        if outcome.failure is not None:
            raise SimulationError(f"the netlist of the {design} failed: {outcome.failure}")
        return counts.read_text()
