"""Where tests find the files of this repository."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The folders of the package, each with the name that it is imported by.
PACKAGES = {
    "base": "cdma.base",
    "cli": "cdma",
    "hdl": "cdma.hdl",
    "sim": "cdma.sim",
    "verif": "cdma.verif",
    "synth": "cdma.synth",
}
DOCS = ROOT / "docs"
DATA = ROOT / "sim" / "study" / "data"
SUPPORT = Path(__file__).parent

#: A cell library of a few gates.
TINY = SUPPORT / "tiny.lib"
