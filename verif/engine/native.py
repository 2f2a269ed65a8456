"""The C++ side of the bench of an engine: built once, kept by its content, and loaded into this process."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files
from pathlib import Path

from cdma.base.cache import content_key, kept_folder
from cdma.verif.simulator.build import run_tool
from cdma.verif.simulator.toolchain import find_verilator

__all__ = ["library"]

_SOURCES = ("edges.cpp", "ends.h", "memory.h", "pins.h")
_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_NUMBER, _CYCLE = ctypes.c_uint64, ctypes.c_int64
#: What each function returns, and what it takes.
_FUNCTIONS = {
    "edges_new": (_POINTER, _TEXT, _TEXT, _TEXT),
    "edges_clock": (_POINTER, _POINTER, _TEXT, _TEXT, _NUMBER, _NUMBER, _TEXT),
    "edges_stop": (None, _POINTER),
    "edges_shared": (_POINTER, _POINTER),
    "edges_memory": (_POINTER, _POINTER, _POINTER, _POINTER, _TEXT, _TEXT, _TEXT),
    "edges_registers": (_POINTER, _POINTER, _POINTER, _POINTER, _TEXT, _TEXT),
    "edges_keep_low": (_INT, _POINTER, _POINTER, _TEXT, _INT, _TEXT),
    "memory_beside": (_POINTER, _POINTER, _POINTER, _INT, _TEXT, _TEXT, _TEXT),
    "beside_want": (None, _POINTER, _NUMBER, _NUMBER),
    "registers_write": (None, _POINTER, _NUMBER, _NUMBER, _NUMBER, _NUMBER),
    "registers_read": (None, _POINTER, _NUMBER, _NUMBER),
    "registers_next": (_INT, _POINTER, _POINTER),
    "places_new": (_POINTER,),
    "places_delete": (None, _POINTER),
    "places_add": (None, _POINTER, _NUMBER),
    "server_new": (_POINTER, _POINTER),
    "server_delete": (None, _POINTER),
    "server_ask": (None, _POINTER, _INT, _CYCLE, _NUMBER, _NUMBER, _NUMBER, _NUMBER, _TEXT),
    "server_put": (None, _POINTER, _CYCLE, _TEXT, _TEXT, _TEXT),
    "server_takes_read": (_INT, _POINTER),
    "server_takes_write": (_INT, _POINTER),
    "server_takes_data": (_INT, _POINTER, _CYCLE),
    "server_next_beat": (_INT, _POINTER, _CYCLE, _POINTER, _POINTER, _TEXT),
    "server_next_answer": (_INT, _POINTER, _CYCLE, _POINTER),
}


@cache
def library() -> ctypes.CDLL:
    """The functions of edges.cpp."""
    texts = {name: (files("cdma.verif.engine") / name).read_text() for name in _SOURCES}
    tool = find_verilator()

    def make(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text)
        include = f"-I{tool.include / 'vltstd'}"
        command = [
            tool.compiler,
            "-std=c++17",
            "-O2",
            "-shared",
            "-fPIC",
            include,
            "-o",
            "edges.so",
            "edges.cpp",
        ]
        run_tool(command, folder, "compiling the bench of engines")

    folder = kept_folder("bench", content_key(tool.compiler_version, tool.version, *texts.values()), make)
    loaded = ctypes.CDLL(str(folder / "edges.so"))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
