"""Compiles the kernels of the GPU for an H100, which takes no GPU, and prints the name of each.

The interpreter takes more than the compiler does. Run as a program, for a process knows only one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from triton import compile as compiled
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import cdma
from cdma.gpu import chain, checksum, decoder, encoder, groups, plans
from cdma.gpu.layout import GROUPS, shape_of

FORMATS = (
    cdma.Format(),
    cdma.Format.preset("bf16"),
    # Codes that lie in two stream words, and padding.
    cdma.Format(16, window=64, code_bits=3, values=(0, 1, 2), align=8),
    # Integers of numbers.
    cdma.Format(8),
    cdma.Format(8, code_bits=2, values=(0, 1, 255)),
)
#: The types that do not depend on the format; numbers have 64 bits where a tensor is large.
_TYPES = {
    **dict.fromkeys(("values", "octet_table", "row_powers", "powers"), "*u32"),
    **dict.fromkeys(("totals", "length", "index", "waits", "functions", "composed"), "*i64"),
    **dict.fromkeys(("entered", "entries", "begins"), "*i64"),
    **dict.fromkeys(("behind", "sizes", "headers"), "*i16"),
    "jumps": "*i32",
    **dict.fromkeys(("windows", "groups", "begin", "size", "dead"), "i32"),
    **dict.fromkeys(("fault", "sum"), "*i32"),
    "codes": "*u8",
    **dict.fromkeys(("words", "capacity", "count", "segments", "total"), "i64"),
    "programs": "i32",
}


#: Streams of two levels are written to bytes.
_STREAM = {"target": "*u8"}


def _of_numbers() -> Iterator[tuple[Any, str, dict[str, Any]]]:
    for number in ("*fp32", "*bf16", "*fp16"):
        for keep in (False, True):
            own = {"source": number, "target": "*u8", "found": "*i64", "KEEP": keep}
            yield encoder.pack_kernel, "pack", own | {"scale": "fp32"}
        yield decoder.unpack_kernel, "unpack", {"stream": "*u8", "target": number, "scale": "fp32"}


def _of_words(format: cdma.Format) -> list[tuple[Any, str, dict[str, Any]]]:
    word, unit = f"*u{format.word_bits}", f"*u{format.stream_bits}"
    return [
        (encoder.count_kernel, "count", {"source": word}),
        (encoder.pack_kernel, "pack", {"source": word, "target": "*u8"}),
        (decoder.unpack_kernel, "unpack", {"stream": "*u8", "target": word}),
        # Of many tensors a table stands in place of what is read and written.
        (encoder.count_kernel, "count", {"source": "*i64", "MANY": True}),
        (
            encoder.pack_kernel,
            "pack",
            dict.fromkeys(("source", "target"), "*i64") | {"MANY": True},
        ),
        (
            decoder.unpack_kernel,
            "unpack",
            dict.fromkeys(("stream", "target"), "*i64") | {"MANY": True},
        ),
        (chain.segment_kernel, "", {"stream": unit}),
        (chain.compose_kernel, "", {}),
        (chain.enter_kernel, "", {}),
        (chain.mark_kernel, "", {"stream": unit}),
        (checksum.crc_kernel, "", {"words": word}),
        *((groups.measure_kernel, "count", {"source": word} | base) for base in ({}, {"base": word})),
        *((groups.store_kernel, "count", _STREAM | {"source": word} | base) for base in ({}, {"base": word})),
        (groups.mask_kernel, "", _STREAM),
        (groups.jump_kernel, "", {"stream": unit}),
        (groups.walk_kernel, "", {"stream": unit}),
        *(
            (groups.expand_kernel, "count", {"stream": "*u8", "target": word} | base)
            for base in ({}, {"base": word})
        ),
    ]


def compiled_for_an_h100(kernel: Any, name: str, own: dict[str, Any], format: cdma.Format) -> Any:
    """The kernel by the plan of that name."""
    longest = format.bound(format.window)
    options = {"SHAPE": shape_of(format), "GROUPS": GROUPS, "LONGEST": longest, "FAN": 64, "TOGETHER": False}
    options["ENTRIES"] = 1 << (longest - 1).bit_length()
    options |= {"SEGMENT": 128 * options["ENTRIES"], "scale": None, "found": None, "base": None}
    options |= {"MASK": 2 * 64 // format.stream_bits, "UNITS": 64 // format.stream_bits, "WINDOWS": 64}
    options |= {name: own.pop(name, False) for name in ("MANY", "KEEP", "WHOLE")}
    settings = {"num_warps": 4}
    if name:
        options |= plans.DEFAULT.options
        settings = {"num_warps": 1}
    elif kernel in (chain.mark_kernel, groups.mask_kernel, groups.walk_kernel, groups.jump_kernel):
        options["LANES"] = 32
    else:
        options |= {"WORD": format.word_bits // 8, "ROW": 128, "ROWS": 128}
    types = _TYPES | own
    names = kernel.arg_names
    # What begins at a multiple of 16 bytes when the kernels are launched.
    even = {"source", "target", "index", "behind", "values", "codes"} if name else set()
    source = ASTSource(
        fn=kernel,
        signature={each: types.get(each, "constexpr") for each in names},
        constexprs={(place,): options[each] for place, each in enumerate(names) if each not in types},
        attrs={
            (place,): [["tt.divisibility", 16]]
            for place, each in enumerate(names)
            if each in even & set(types)
        },
    )
    return compiled(source, target=GPUTarget("cuda", 90, 32), options=settings)


def _kernels(format: cdma.Format) -> None:
    for kernel, name, own in _of_numbers() if format.word_bits == 8 else _of_words(format):
        compiled_for_an_h100(kernel, name, own, format)
        print(kernel.__name__)


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        _kernels(FORMATS[number])
