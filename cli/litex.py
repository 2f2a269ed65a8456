"""The engine as a core of LiteX: the names need the extra ``litex``, and are imported on first use."""

from cdma.base.lazy import names_of

_HOME = dict.fromkeys(("CDMA", "add_cdma"), "cdma.hdl.deliver.litex")

__getattr__ = names_of(__name__, _HOME)
