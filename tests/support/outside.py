"""Runs the outsider's bench on engines of several shapes.

python -m tests.support.outside 3000            # so many transfers on each
python -m tests.support.outside 3000 --seed 7 --configs bytes
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.verif.engine.design import SMALL, EngineDesign, with_late_flops
from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import Outcome, simulate

_SMALL = dataclasses.replace(SMALL, outstanding=2, ring_entries=16)
_FIELDS = dataclasses.replace(
    _SMALL,
    format=Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4),
    lanes=8,
    crc=True,
    clocks="device,host,registers",
)

#: Small queues and codes of two bits; bytes with codes of four bits at any address; fields, zero words, padding and a CRC;
#: any byte, in lengths too; several units, and with shapes and any byte; shapes of fields, of owners, and of any byte;
#: owners; pairs; bases with two levels; pipelined, with a wide host. Pages are with six, several clocks with fields,
#: pipelines and owners, messages with shapes and pairs, bases with units.
CONFIGS = {
    "small": _SMALL,
    "bytes": dataclasses.replace(
        _SMALL,
        format=Format(word_bits=8, window=64, code_bits=4, values=(0,)),
        lanes=8,
        host_data_bits=64,
        alignment="word",
        ring_entries=8,
    ),
    "fields": dataclasses.replace(_FIELDS, alignment="word"),
    "any-byte": dataclasses.replace(_SMALL, format=Format(), alignment="byte", crc=True, pages=True),
    "units": dataclasses.replace(_SMALL, units=2, stripe_bytes=256, pages=True, delta=True),
    "units-to-any-byte": dataclasses.replace(
        _SMALL, units=2, stripe_bytes=256, alignment="byte", pages=True, dimensions=2, ring_entries=8
    ),
    "shapes": dataclasses.replace(
        _FIELDS,
        dimensions=3,
        ring_entries=8,
        pages=True,
        stream_id_bits=3,
        substream_id_bits=5,
        msi=True,
        clocks=NO_CLOCKS,
    ),
    "shapes-of-any-byte": dataclasses.replace(
        _SMALL, dimensions=2, ring_entries=8, alignment="byte", crc=True
    ),
    "owners": dataclasses.replace(
        _SMALL,
        stream_id_bits=3,
        substream_id_bits=5,
        clocks="device,host,registers",
        memories_protect="parity",
        register_slices="in,out",
    ),
    "pairs": dataclasses.replace(_SMALL, channels=3, pages=True, msi=True),
    "deltas": dataclasses.replace(_SMALL, format=Format(16, levels=2), delta=True, crc=True, outstanding=4),
    "pipelined": dataclasses.replace(
        _SMALL,
        format=Format(),
        host_data_bits=512,
        dev_data_bits=128,
        host_address_bits=64,
        pipelined=True,
        clocks="host",
        pages=True,
        outstanding=3,
    ),
}

TESTS = (
    "transfers",
    "shapes",
    "pages",
    "refusals",
    "busy",
    "in_flight",
    "bus_errors",
    "ring_errors",
    "aborts",
    "soft_resets",
    "watchdog",
    "registers",
    "interrupts",
    "owners",
    "pairs",
    "messages",
    "deltas",
)


def run(name: str, transfers: int, seed: int = 1, tests: tuple[str, ...] = TESTS) -> list[Outcome]:
    """Runs ``tests`` on one of :data:`CONFIGS`."""
    config = CONFIGS[name]
    design = EngineDesign(config)
    absent = {
        "shapes": not config.dimensions,
        "pages": not config.pages,
        "deltas": not config.delta,
        "owners": not config.records.owner_bits,
        "pairs": config.channels == 1,
        "messages": not config.msi,
    }
    tests = tuple(test for test in tests if not absent.get(test))
    text = design.verilog() if config.clocks == NO_CLOCKS else with_late_flops(design.verilog())
    program = build(text, design.top, design.port_names)
    with tempfile.TemporaryDirectory(prefix="cdma-outside-") as folder:
        document = Path(folder) / "registers.md"
        document.write_text(register_texts(config)["cdma_registers.md"], encoding="utf-8")
        settings = {"packets": transfers, "seed": seed, "registers": str(document)}
        return simulate(program, design.top, "tests.outside.cases", tests, settings, timeout=7200)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("transfers", type=int, help="transfers of each test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configs", nargs="*", choices=CONFIGS, default=list(CONFIGS))
    parser.add_argument("--tests", nargs="*", choices=TESTS, default=list(TESTS))
    arguments = parser.parse_args()
    failed = False
    for name in arguments.configs:
        for outcome in run(name, arguments.transfers, arguments.seed, tuple(arguments.tests)):
            said = outcome.failure or f"{outcome.packets} transfers, {outcome.cycles} cycles"
            print(f"{name} {outcome.test}: {said}", flush=True)
            if outcome.failure:
                print("\n".join(line for line in outcome.log.splitlines()[-40:] if "WARNING" not in line))
            failed |= outcome.failure is not None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
