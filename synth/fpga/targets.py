"""The families of FPGAs that circuits are measured on."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A family of FPGAs: Yosys's command, the devices that nextpnr knows with their options, and how cells count.

    ``luts`` says how many look-up tables a cell takes, ``ram_bits`` how many bits of block RAM it is.
    """

    name: str
    synthesis: str
    nextpnr: str | None
    devices: dict[str, tuple[str, ...]]
    luts: dict[str, int]
    flip_flops: re.Pattern[str]
    ram_bits: dict[str, int]

    @property
    def default_device(self) -> str | None:
        return next(iter(self.devices), None)


TARGETS = {
    target.name: target
    for target in (
        Target(
            "ecp5",
            "synth_ecp5 -noiopad",
            "ecp5",
            # The speed grade follows, as in the vendor's part numbers; without one, it is the slowest.
            {
                f"{size}{grade and '-'}{grade}": (
                    f"--{size}",
                    *("--package", "CABGA381"),
                    *("--speed", grade or "6"),
                )
                for grade in ("", "7", "8")
                for size in ("25k", "12k", "45k", "85k")
            },
            {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
            re.compile(r"TRELLIS_FF"),
            {"DP16KD": 18432, "PDPW16KD": 18432},
        ),
        Target(
            "ice40",
            "synth_ice40",
            "ice40",
            {
                "hx8k": ("--hx8k", "--package", "ct256"),
                "hx4k": ("--hx4k", "--package", "tq144"),
                "lp8k": ("--lp8k", "--package", "cm225"),
                "up5k": ("--up5k", "--package", "sg48"),
            },
            {"SB_LUT4": 1},
            re.compile(r"SB_DFF\w*"),
            {"SB_RAM40_4K": 4096},
        ),
        Target(
            "xilinx",
            "synth_xilinx -noiopad -flatten",
            None,
            {},
            {
                **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
                "RAM32M": 4,
                "RAM64M": 4,
                "SRL16E": 1,
                "SRLC32E": 1,
            },
            re.compile(r"FD[RSCP]E(_1)?"),
            {"RAMB18E1": 18432, "RAMB36E1": 36864},
        ),
    )
}
