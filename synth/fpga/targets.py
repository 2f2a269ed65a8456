"""The families of FPGAs that circuits are measured on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["PIN_FILE", "TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A family of FPGAs: Yosys's command, the devices that nextpnr knows with their options, and how cells count.

    ``luts`` says how many look-up tables a cell takes, ``ram_bits`` how many bits of block RAM it is.

    ``no_pads``
        Is the option with which Yosys leaves out the cells of pins, for a family that needs them in the harness.
    ``no_wide_luts``
        Is the option with which Yosys joins no look-up tables of four inputs to wider ones, where there is one.
    ``variants``
        Are more options of Yosys for some devices.
    ``pins``
        Are the pins of a device for the ports of the harness (:data:`.harness.PORTS`), for a nextpnr that chooses none.
    ``pin_line``
        Is then a line of the file ``harness.pins``, with the fields ``port`` and ``pin``.
    """

    name: str
    synthesis: str
    nextpnr: str | None
    devices: dict[str, tuple[str, ...]]
    luts: dict[str, int]
    flip_flops: re.Pattern[str]
    ram_bits: dict[str, int]
    no_pads: str = ""
    no_wide_luts: str = ""
    variants: dict[str, str] = field(default_factory=dict)
    pins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pin_line: str = ""

    def command(self, device: str | None, *, pads: bool, wide_luts: bool = True) -> str:
        """Yosys's command for a device, with or without the cells of pins, and look-up tables of more than four inputs."""
        words = (
            self.synthesis,
            "" if pads else self.no_pads,
            "" if wide_luts else self.no_wide_luts,
            self.variants.get(device or "", ""),
        )
        return " ".join(filter(None, words))

    @property
    def default_device(self) -> str | None:
        return next(iter(self.devices), None)


#: The file that names the pins of the harness.
PIN_FILE = "harness.pins"

#: CrossLink-NX and Certus-NX: the package, and pins of it from the first of which nextpnr can route a clock.
_NEXUS = {
    "lifcl-40": ("BG400", ("E3", "F13", "F14")),
    "lfd2nx-40": ("BG256", ("E2", "C2", "E3")),
}

#: Gowin's devices: part, name in nextpnr, name in Yosys, pins.
_GOWIN = {
    **{
        f"gw2a-18{suffix}": (f"GW2A-LV18PG256{grade}", "GW2A-18C", "gw2a", ("H11", "C13", "N16"))
        for suffix, grade in (("", "C7/I6"), ("-8", "C8/I7"), ("-9", "C9/I8"))
    },
    "gw5ast-138": ("GW5AST-LV138PG484AC1/I0", "GW5AST-138C", "gw5a", ("V22", "W20", "W21")),
}

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
            no_wide_luts="-nowidelut",
        ),
        Target(
            "nexus",
            "synth_nexus",
            "nexus",
            # The grades are named as with ecp5; 7 is the slowest.
            {
                f"{name}{grade and '-'}{grade}": (
                    *("--device", f"{name.upper()}-{grade or '7'}{package}C"),
                    *("--pdc", PIN_FILE),
                )
                for grade in ("", "8", "9")
                for name, (package, _) in _NEXUS.items()
            },
            {"LUT4": 1, "INV": 1, "CCU2": 2, "WIDEFN9": 2, "DPR16X4": 6},
            re.compile(r"FD1P3\w*"),
            {"PDPSC16K": 18432, "PDP16K": 18432, "DP16K": 18432, "PDPSC512K": 524288, "DPSC512K": 524288},
            no_pads="-noiopad",
            pins={f"{name}{grade}": pins for grade in ("", "-8", "-9") for name, (_, pins) in _NEXUS.items()},
            pin_line="ldc_set_location -site {{{pin}}} [get_ports {port}]",
        ),
        Target(
            "gowin",
            "synth_gowin",
            "himbaechel-gowin",
            # The speed grade follows; without one, it is the slowest that nextpnr knows.
            {
                name: ("--device", part, "--vopt", f"family={family}", "--vopt", f"cst={PIN_FILE}")
                for name, (part, family, _, _) in _GOWIN.items()
            },
            {"LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "ALU": 1, "RAM16SDP4": 6},
            re.compile(r"DFF\w*"),
            dict.fromkeys(("SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM", "pROMX9"), 18432),
            no_pads="-noiopads",
            no_wide_luts="-nowidelut",
            variants={name: f"-family {yosys}" for name, (_, _, yosys, _) in _GOWIN.items()},
            pins={name: pins for name, (_, _, _, pins) in _GOWIN.items()},
            pin_line='IO_LOC "{port}" {pin};',
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
