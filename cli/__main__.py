"""``python -m cdma``."""

import sys

from .app import main

sys.exit(main())
