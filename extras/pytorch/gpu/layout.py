"""How a format looks to the kernels: constants, which they are compiled for, and tables, which they read.

A **group** is the windows of 512 bytes of raw data, and a **block** is sixteen groups. The index of a stream has a row of
five 64-bit numbers for each block: where its stream begins, and then how far behind that each of its groups does,
sixteen numbers of 16 bits. That is 40 bytes for 8 KiB of raw data. Positions are in stream words.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format

__all__ = [
    "GROUPS",
    "INDEX_COLUMNS",
    "block_count",
    "code_tables",
    "constants",
    "windows_of_block",
]

_GROUP_BYTES = 512
#: Groups of a block.
GROUPS = 16
#: 64-bit numbers of a block in the index: one position, and 16 bits for each group.
INDEX_COLUMNS = 1 + GROUPS // 4


def block_count(words: int, format: Format) -> int:
    """Blocks of a packet, the last of which may be partial."""
    return -(-words * format.word_bits // (8 * _GROUP_BYTES * GROUPS))


def windows_of_block(format: Format) -> int:
    """Windows of a block that is full."""
    return GROUPS * _GROUP_BYTES * 8 // (format.word_bits * format.window)


@cache
def constants(format: Format) -> dict[str, Any]:
    """The constants of a format by their names in the kernels; sizes are in bytes, where nothing else is said.

    ``LANES``
        Words of a chunk, as many as a warp has threads: then one instruction gathers a bit of each.
    ``CHUNKS``, ``GROUP``
        Chunks of a window, and windows of a group.
    ``HEADER``, ``ALIGN``
        Stream words of a header, and stream words that windows are padded to multiples of.
    ``KEY``, ``LOW``
        Bytes of what codes are about, and bytes of a word below it.
    ``DEFINED``
        Codes from here on are undefined, but for the literal.
    """
    word, unit, field = format.word_bits // 8, format.stream_bits // 8, format.field_bits // 8
    lanes = min(32, format.window)
    key = field or word
    return {
        "WORD": word,
        "UNIT": unit,
        "WINDOW": format.window,
        "CODE": format.code_bits,
        "LANES": lanes,
        "CHUNKS": format.window // lanes,
        "GROUP": _GROUP_BYTES // (word * format.window),
        "HEADER": format.header_words,
        "ALIGN": format.align_words if format.padded else 1,
        "FIELD": field,
        "KEY": key,
        "LOW": word - key,
        "ROTATE": format.rotate,
        "ZERO": int(format.zero),
        "DEFINED": len(format.values) + format.zero,
    }


@lru_cache(maxsize=256)
def code_tables(format: Format, device: torch.device) -> tuple[Tensor, Tensor]:
    """The value of each code, and the code of each key of 8 bits; wider keys are compared with the values."""
    values = torch.zeros(16, dtype=torch.int64)
    codes = torch.full((256,), format.literal_code, dtype=torch.uint8)
    for code, value in reversed([*enumerate(format.values, int(format.zero))]):
        values[code] = value
        if format.entry_bits == 8:
            codes[value] = code
    return values.to(torch.uint32).to(device), codes.to(device)
