"""``python -m cdma.verif.linux``: the driver for Linux on the RTL, tried once."""

from __future__ import annotations

import sys

from cdma.base.errors import CdmaError
from cdma.verif.engine.design import EngineDesign

from .run import run

try:
    sys.exit(not run(EngineDesign()))
except CdmaError as error:
    sys.exit(str(error))
