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
    "extras/pytorch/torch": "cdma.torch",
    "extras/pytorch/gpu": "cdma.gpu",
    "extras/study": "cdma.study",
    "extras/linux/cdma_linux": "cdma_linux",
}
DOCS = ROOT / "docs"
#: The sources of the driver for Linux.
MODULE = ROOT / "extras" / "linux" / "cdma_linux" / "module"
DATA = ROOT / "extras" / "study" / "data"
SUPPORT = Path(__file__).parent

#: A cell library of a few gates.
TINY = SUPPORT / "tiny.lib"
