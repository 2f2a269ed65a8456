"""``python -m cdma_linux.trial``: the driver for Linux on the RTL, tried once; ``--pages``: on an engine that takes lists of
pages; ``--sanitized``: on a kernel with KASAN.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from cdma.base.errors import CdmaError
from cdma.verif.engine.design import SMALL, EngineDesign

from .run import Trial, run

try:
    design = EngineDesign(replace(SMALL, pages="--pages" in sys.argv))
    sys.exit(not run(design, Trial(sanitized="--sanitized" in sys.argv)))
except CdmaError as error:
    sys.exit(str(error))
