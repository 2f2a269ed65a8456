"""What ``cdma generate`` is asked for, where a test makes a block without the command line."""

from __future__ import annotations

from argparse import Namespace

from cdma.hdl.deliver.languages import VERILOG

__all__ = ["asked_for"]


def asked_for(block: str, **options: object) -> Namespace:
    """The arguments of a block with the name ``mine``, with these options and else the usual ones."""
    usual = {
        "name": "mine",
        "prefix": None,
        "init": True,
        "memories": "wrap",
        "source_lines": False,
        "language": VERILOG,
        "period": None,
        "area": None,
        "intake": None,
    }
    return Namespace(block=block, **{**usual, **options})
