"""``python -m cdma``."""

import sys

from .start import main

sys.exit(main())
