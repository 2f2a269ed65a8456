"""Gates of clocks."""

from __future__ import annotations

from typing import TypeVar

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Elaboratable,
    Instance,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.utils import exact_log2

__all__ = [
    "ALWAYS",
    "ClockGates",
    "add_three",
    "declare_always",
    "is_next",
    "one_of",
    "popcount",
    "reset_around",
    "rotate_up",
    "thermometer",
]


def add_three(first: Value, second: Value, third: Value) -> Value:
    """The sum of three numbers, with one carry chain."""
    ones = first ^ second ^ third
    twos = first & second | third & (first | second)
    return ones + (twos << 1)


def is_next(first: Value, second: Value) -> Value:
    """Whether ``first`` + 1 is ``second``, as numbers of so many bits, without waiting for a carry.

    They differ in the lowest bit, and in each other one where a carry comes from the bit below: where they differ in
    that bit, and ``first`` has it.
    """
    differ = first ^ second
    return differ[0] & ~(differ[1:] ^ (differ[:-1] & first[:-1])).any()


def thermometer(value: Value, size: int) -> Value:
    """``size`` bits of which the lowest ``value`` are set."""
    return Cat(value > position for position in range(size))


def one_of(*cases: tuple[Value, Value]) -> Value:
    """The value whose condition holds; no two may hold at once, and where none does the result is 0.

    This is an AND-OR selection. It takes fewer gates than a chain of multiplexers, whose order would not matter here.
    """
    terms: list[Value] = [Mux(condition, value, 0) for condition, value in cases]
    # This is a tree, because Amaranth walks whole expressions to find their shapes, which is slow for a chain of hundreds.
    while len(terms) > 1:
        terms = [
            *(low | high for low, high in zip(terms[::2], terms[1::2], strict=False)),
            *terms[len(terms) & ~1 :],
        ]
    return terms[0]


def rotate_up(words: list[Value], amount: Value) -> list[Value]:
    """The words, each moved up by ``amount`` lanes, cyclically; their number is a power of two."""
    for level in range(exact_log2(len(words))):
        step = 1 << level
        words = [Mux(amount[level], words[lane - step], words[lane]) for lane in range(len(words))]
    return words


def popcount(bits: Value, inputs: int = 2) -> Value:
    """The number of ones in ``bits``, found by a balanced tree whose leaves have 2 or 4 ``inputs``.

    Four inputs fit the look-up tables of FPGAs. With standard cells they made nothing smaller or faster.
    """
    if len(bits) <= 1:
        return bits
    if len(bits) == 2:
        return Cat(bits[0] ^ bits[1], bits[0] & bits[1])
    if len(bits) == 3 and inputs == 4:
        return Cat(bits.xor(), bits[0] & bits[1] | bits[2] & (bits[0] | bits[1]))
    if len(bits) == 4 and inputs == 4:
        two = bits[0] & bits[1] | bits[2] & bits[3] | (bits[0] | bits[1]) & (bits[2] | bits[3])
        return Cat(bits.xor(), two & ~bits.all(), bits.all())
    half = len(bits) // 2
    return popcount(bits[:half], inputs) + popcount(bits[half:], inputs)


_Component = TypeVar("_Component", bound=Elaboratable)


#: The domain of what goes on while all around it rests, because its phase shows.
ALWAYS = "always"


def declare_always(m: Module) -> None:
    """Declares that domain: it is ``sync`` of ``m``, whatever ``sync`` is further inside."""
    domain = ClockDomain(ALWAYS)
    domain.clk, domain.rst = Signal(name=f"{ALWAYS}_aclk"), Signal(name=f"{ALWAYS}_rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal())]
    m.domains += domain


def reset_around(m: Module, name: str, component: _Component, clear: Value) -> _Component:
    """Gives ``component`` as a submodule that is reset by ``clear`` too, with all in it that has a gated clock."""
    domain = ClockDomain(name, local=True)
    domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | clear)]
    m.domains += domain
    return DomainRenamer(name)(component)


class ClockGates:
    """Makes gated clocks, each by an instance of the cell ``kind``, which all are open while ``scan_enable`` is high."""

    def __init__(self, kind: str, scan_enable: Value) -> None:
        self.kind = kind
        self.scan_enable = scan_enable

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Value,
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        """Gives ``component`` as a submodule whose clock is that of ``m`` in the cycles in which it is ``active``, in so
        many after them, and in reset. In other cycles nothing may change in it. It is reset by ``clear`` too. Others may be
        in the domain of that ``name``, unless it is ``local``.
        """
        reset = ResetSignal() if clear is None else ResetSignal() | clear
        runs = Signal(name=f"{name}_runs")
        left = Signal(range(settling + 1), name=f"{name}_settles", init=settling)
        m.d.sync += left.eq(Mux(active, settling, left - left.any()))
        m.d.comb += runs.eq(active | left.any() | reset)
        return self.stopping(m, name, component, runs, reset, local=local)

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        """Gives ``component`` as a submodule with a clock in the cycles in which it ``runs``, and with that ``reset``."""
        domain = ClockDomain(name, local=local)
        # The names within are those of a design without gates.
        domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
        m.submodules[f"{name}_clock"] = Instance(
            self.kind,
            i_clk=ClockSignal(),
            i_enable=runs,
            i_scan_enable=self.scan_enable,
            o_gated=domain.clk,
        )
        m.d.comb += domain.rst.eq(reset)
        m.domains += domain
        return DomainRenamer(name)(component)
