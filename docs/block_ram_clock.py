"""Measures a buffer of a reader by itself on an ECP5: how fast a word leaves block RAM.

    python docs/block_ram_clock.py

The FIFO is that of an engine with pipelined codecs and ports of 256 bits, placed and routed in the harness of ``cdma fpga``.
"""

from amaranth.back import verilog
from amaranth.hdl import Module

from cdma.hdl.blocks.fifo import Fifo
from cdma.synth.circuits import Circuit
from cdma.synth.fpga.measure import measure_fpga
from cdma.synth.fpga.targets import TARGETS

BEATS, BITS = 512, 261


def main() -> None:
    m = Module()
    m.submodules.fifo = fifo = Fifo(BITS, BEATS, reserved=True, block=True, late_valid=True)
    ports = [fifo.input.payload, fifo.input.valid, fifo.output.payload, fifo.output.valid, fifo.output.ready]
    text = verilog.convert(m, name="top", ports=ports, emit_src=False)
    found = measure_fpga(
        Circuit("fifo", {}, "top", text), TARGETS["ecp5"], device="25k", seeds=(1,), frequency_mhz=250.0
    )
    (run,) = found.routed
    print(f"{found.luts} look-up tables, {found.flip_flops} flip-flops, {found.ram_blocks} block RAMs")
    print(f"{run.fmax_mhz:.1f} MHz, {run.start} → {run.end}")


if __name__ == "__main__":
    main()
