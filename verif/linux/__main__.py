"""``python -m cdma.verif.linux``: the driver for Linux on the RTL, tried once; ``--sanitized``: on a kernel with KASAN."""

from __future__ import annotations

import sys

from cdma.base.errors import CdmaError
from cdma.verif.engine.design import EngineDesign

from .run import Trial, run

try:
    sys.exit(not run(EngineDesign(), Trial(sanitized=sys.argv[1:] == ["--sanitized"])))
except CdmaError as error:
    sys.exit(str(error))
