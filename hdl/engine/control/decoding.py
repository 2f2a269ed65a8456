"""Which register is at an address."""

from collections.abc import Callable, Iterable

from amaranth.hdl import Module, Signal, Value

from cdma.hdl.spec.registers.description import REGISTER_BYTES, Placed, RegisterMap


def decoded(
    m: Module, name: str, address: Signal, value: Value, enable: Value | int, registers: RegisterMap | None
) -> Callable[[Placed], Value]:
    """Says of a register whether it is at ``address``, which is loaded with ``value``. Where wires are slow, and all
    ``registers`` are given, each half of the address is decoded before, into a flip-flop for each of its values."""
    if registers is None:
        return lambda placed: address == placed.address // REGISTER_BYTES
    low_bits = len(address) // 2
    size = 1 << low_bits
    numbers = [placed.address // REGISTER_BYTES for placed in registers.placed()]

    def flip_flops(half: str, bits: Value, parts: Iterable[int]) -> dict[int, Signal]:
        found = {part: Signal(name=f"{name}_{half}_{part:x}", reset_less=True) for part in sorted(set(parts))}
        with m.If(enable):
            m.d.sync += [signal.eq(bits == part) for part, signal in found.items()]
        return found

    low = flip_flops("low", value[:low_bits], (number % size for number in numbers))
    high = flip_flops("high", value[low_bits:], (number // size for number in numbers))

    def here(placed: Placed) -> Value:
        number = placed.address // REGISTER_BYTES
        return low[number % size] & high[number // size]

    return here
