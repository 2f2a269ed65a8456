"""The design that parsed arguments ask for, alike for every command that simulates one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.options import config_from

if TYPE_CHECKING:
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.simulator.simulate import Design


def design_from(arguments: argparse.Namespace, *, init: bool = True) -> Design:
    """The block of the arguments, with its parameters, with or without initial values."""
    from cdma.verif.campaigns.regression import design_of

    return design_of(arguments.block, config_from(arguments), init=init)


def with_rings(design: Design) -> EngineDesign:
    """The engine, refused where it has no rings, which measurements and waveforms drive."""
    from cdma.verif.engine.design import EngineDesign

    if not isinstance(design, EngineDesign) or not design.config.registers:
        raise ParameterError("registers is false; the runs drive rings, which come with the register block")
    return design
