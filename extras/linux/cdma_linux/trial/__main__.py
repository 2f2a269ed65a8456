"""``python -m cdma_linux.trial``: the driver for Linux on the RTL, tried once; ``--pages``: on an engine that takes lists of
pages; ``--channels 4``: on one with so many queue pairs; ``--kernel 6.1``: on another kernel than the newest whose sources
are installed; ``--calls N``: with so many calls at random; ``--machine qemu``: on QEMU, with two processors and a kernel of
Debian's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from cdma.base.errors import CdmaError
from cdma.verif.engine.design import SMALL, EngineDesign

from .run import Trial, run

parser = argparse.ArgumentParser(prog="python -m cdma_linux.trial", allow_abbrev=False)
parser.add_argument("--pages", action="store_true")
parser.add_argument("--channels", type=int, default=1, metavar="N")
parser.add_argument("--kernel", default="", metavar="VERSION")
parser.add_argument("--calls", type=int, default=Trial.calls, metavar="N")
parser.add_argument("--machine", choices=("um", "qemu"), default="um")
chosen = parser.parse_args()
try:
    design = EngineDesign(replace(SMALL, pages=chosen.pages, channels=chosen.channels))
    trial = Trial(version=chosen.kernel, calls=chosen.calls, qemu=chosen.machine == "qemu")
    sys.exit(not run(design, trial))
except CdmaError as error:
    sys.exit(str(error))
