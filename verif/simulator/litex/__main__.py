"""``python -m cdma.verif.simulator.litex``: the LiteX SoC, run once."""

from __future__ import annotations

import logging
import sys

from cdma.base.errors import CdmaError

from .run import run

# LiteX tells the whole story of its SoC.
logging.disable(logging.INFO)
try:
    sys.exit(run())
except CdmaError as error:
    sys.exit(str(error))
