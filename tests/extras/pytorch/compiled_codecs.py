"""Compiles the kernels of the study's codecs for an H100, which takes no GPU, and prints the name of each."""

from __future__ import annotations

from triton import compile as compiled
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from cdma.gpu.peers import csr_card, rl_card

#: The types of arguments by their names; what is here are pointers, and other arguments are numbers of 64 bits.
_TYPES = {
    **dict.fromkeys(("source", "target", "stream", "literals", "pointers"), "*u32"),
    **dict.fromkeys(("lasts", "begins", "ends", "sizes", "length", "counts"), "*i64"),
    **dict.fromkeys(("numbers", "octets"), "*u8"),
    "fault": "*i32",
}
_FIXED = {"LONGEST": (1 << 32) - 1, "BLOCK": 1024, "WORD": 4, "INDEX": 1, "ROWS": 16, "LANES": 256}

if __name__ == "__main__":
    for room, names in (
        (rl_card, ("last", "size", "write", "count", "spread")),
        (csr_card, ("count", "write", "spread")),
    ):
        for name in names:
            kernel = getattr(room, f"{name}_kernel")
            constants = {each: _FIXED[each] for each in kernel.arg_names if each.isupper()}
            types = {
                each: "constexpr" if each.isupper() else _TYPES.get(each, "i64") for each in kernel.arg_names
            }
            if room is csr_card and name == "write":
                types["pointers"] = "*i64"
            compiled(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32))
            print(room.__name__.rsplit(".", 1)[-1], name)
