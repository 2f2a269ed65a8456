"""Counts the instructions of the kernels that pack and unpack, compiled for an H100, which takes no GPU.

A count is of what a thread executes for each word of a block that is whole: loops by their trips, waiting for other blocks
once. Prints the rows of a table. Triton brings the compiler and the disassembler.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import triton

import cdma
from cdma.gpu import decoder, encoder
from cdma.gpu.layout import GROUPS, windows_of_block
from tests.extras.pytorch.compiled import compiled_for_an_h100

NAMES = ("zvc32", "zvc16", "zvc8", "bf16", "fp32")
_TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
_WARP, _BLOCK = 32, GROUPS * 512
#: Registers of a processor, those that a thread has multiples of, and the programs that a processor has at most.
_REGISTERS, _STEP, _MOST = 65536, 8, 32


def instructions(listing: str, windows: int) -> float:
    """The instructions that a thread executes: a loop that loads or stores 16 bytes at a time has as many trips as a block
    has bytes for it, one that stores where windows begin as many as there are windows, and others have one."""
    labels: dict[str, int] = {}
    code: list[str] = []
    for line in listing.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(found[1])
    trips = [float(each != "NOP") for each in code]
    for number, each in enumerate(code):
        to = re.search(r"BRA.*?(\.L_x_\d+)", each)
        if to and (begin := labels[to[1]]) < number:
            body = code[begin : number + 1]
            wide = sum("LDG.E.128" in one for one in body) or sum("STG.E.128" in one for one in body)
            begins = sum("STG.E.U16" in one for one in body)
            times = _BLOCK / (16 * _WARP * wide) if wide else windows / (_WARP * begins) if begins else 1
            trips[begin : number + 1] = [times * each for each in trips[begin : number + 1]]
    return sum(trips)


def counted(name: str, kernel: str) -> tuple[float, int, int]:
    """Instructions a word, the registers of a thread, and the bytes that it spills."""
    format = cdma.Format.preset(name)
    word, unit = f"*u{format.word_bits}", f"*u{format.stream_bits}"
    if kernel == "pack":
        function, own = encoder.pack_kernel, {"source": word, "target": unit}
    else:
        function, own = decoder.unpack_kernel, {"stream": unit, "target": word}
    made = compiled_for_an_h100(function, kernel, own | {"WHOLE": True}, format)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(made.asm["cubin"])
        listing, usage = (
            subprocess.run(
                [_TOOLS / tool, option, file.name], capture_output=True, text=True, check=True
            ).stdout
            for tool, option in (("nvdisasm", "-c"), ("cuobjdump", "-res-usage"))
        )
    words = _BLOCK * 8 // format.word_bits
    sizes = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", usage))
    count = instructions(listing, windows_of_block(format)) * _WARP / words
    return count, int(sizes["REG"]), int(sizes["STACK"]) + int(sizes["LOCAL"])


def warps(registers: int) -> int:
    """Warps of a processor, of which a program has one."""
    return min(_REGISTERS // (_WARP * -(-registers // _STEP) * _STEP), _MOST)


def rows() -> list[str]:
    """The rows of the table."""
    made = []
    for name in NAMES:
        there, back = counted(name, "pack"), counted(name, "unpack")
        cells = [f"{there[0]:.1f}", f"{back[0]:.1f}", *(str(warps(each[1])) for each in (there, back))]
        made.append(f"| `{name}` | {' | '.join(cells)} | {there[2] + back[2]} |")
    return made


if __name__ == "__main__":
    print(*rows(), sep="\n")
