"""Block RAM that gives nothing usable for a word that is written in the same cycle, as an FPGA's does."""

from __future__ import annotations

import re

__all__ = ["with_collisions"]

_MODULE = re.compile(r"module \w+_block \(.*?\nendmodule", re.DOTALL)
_READ = "read_data <= contents[read_address];"
_WIDTH = re.compile(r"reg \[(\d+):0\] contents")


def with_collisions(verilog: str) -> tuple[str, int]:
    """The text in which every module for block RAM reads X from the word that is written, and the number of modules."""

    def changed(match: re.Match[str]) -> str:
        width = _WIDTH.search(match[0])
        assert width is not None
        assert match[0].count(_READ) == 1, match[0]
        hit = "(|write_enable && write_address == read_address)"
        return match[0].replace(
            _READ, f"read_data <= {hit} ? {{{int(width[1]) + 1}{{1'bx}}}} : contents[read_address];"
        )

    return _MODULE.subn(changed, verilog)
