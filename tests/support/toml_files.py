"""TOML files as a user would write them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MACHINE", "written"]

#: A machine with a link of its own.
MACHINE = """
name = "mine"
link = {name = "short", GBps = 40.0}
[gpu]
tflops = 10
dram_GBps = 500
memory_GiB = 8
[engine]
units = 4
lanes = 8
clock_GHz = 1.5
read_GBps = 100
buffer_KB = 20
latency_ns = 300
"""


def written(tmp_path: Path, text: str) -> str:
    """The path of a file with that text."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)
