"""The engine as a core of LiteX: the names need the extra ``litex``, and are imported on first use."""

from cdma.base.lazy import names_of

_HOMES = {"cdma.hdl.deliver.litex": "CDMA add_cdma"}

__getattr__ = names_of(__name__, _HOMES)
