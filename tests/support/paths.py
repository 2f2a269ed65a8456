"""Where tests find the files of this repository."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DATA = ROOT / "sim" / "data"
SUPPORT = Path(__file__).parent

#: A cell library of a few gates.
TINY = SUPPORT / "tiny.lib"
