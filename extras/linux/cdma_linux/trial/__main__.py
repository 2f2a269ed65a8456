"""``python -m cdma_linux.trial``: the driver for Linux on the RTL, tried once; ``--pages``: on an engine that takes lists of
pages; ``--kernel 6.1``: on another kernel than the newest whose sources are installed; ``--calls N``: with so many calls at
random.
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
parser.add_argument("--kernel", default="", metavar="VERSION")
parser.add_argument("--calls", type=int, default=Trial.calls, metavar="N")
chosen = parser.parse_args()
try:
    design = EngineDesign(replace(SMALL, pages=chosen.pages))
    sys.exit(not run(design, Trial(version=chosen.kernel, calls=chosen.calls)))
except CdmaError as error:
    sys.exit(str(error))
