"""The engine as a core of LiteX; the names need the extra ``litex``, and are imported on first use."""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.hdl.deliver.litex import CDMA, add_cdma

__all__ = ["CDMA", "add_cdma"]

__getattr__ = names_of(__name__, dict.fromkeys(__all__, "cdma.hdl.deliver.litex"))
