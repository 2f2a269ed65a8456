"""Blocks that tests generate: from arguments without the command line, and each text once for all processes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

import pytest

from cdma.commands.generate import made
from cdma.hdl.deliver.languages import VERILOG

from .verilog_designs import kept_design

__all__ = ["asked_for", "generated_once"]


@pytest.fixture(scope="module")
def generated_once() -> Iterator[None]:
    """Commands have the Verilog from earlier ones, where that is not what a test is about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "block_design", kept_design)
        yield


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
