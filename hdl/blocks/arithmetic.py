"""Adders, counters, networks of XOR gates, and the CRC-32C."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import cache

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.crc.catalog import CRC32_ISCSI
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2


def add_three(first: Value, second: Value, third: Value) -> Value:
    """The sum of three numbers, with one carry chain."""
    ones = first ^ second ^ third
    twos = first & second | third & (first | second)
    return ones + (twos << 1)


def is_next(first: Value, second: Value) -> Value:
    """Whether ``first`` + 1 is ``second``, as numbers of so many bits, without a carry chain.

    They differ in the lowest bit, and in each other bit with a carry from the bit below: if they differ in that one, and
    ``first`` has it.
    """
    differ = first ^ second
    return differ[0] & ~(differ[1:] ^ (differ[:-1] & first[:-1])).any()


def thermometer(value: Value, size: int) -> Value:
    """``size`` bits of which the lowest ``value`` are set."""
    return Cat(value > position for position in range(size))


def one_of(*cases: tuple[Value, Value]) -> Value:
    """The value whose condition holds, as wide as the widest; no two may hold at once, and without one the result is 0.

    This is an AND-OR selection, which needs fewer gates than a chain of multiplexers.
    """
    terms: list[Value] = [Mux(condition, value, C(0, 0)) for condition, value in cases]
    # A tree, because Amaranth walks whole expressions to find their shapes, which is slow for a chain of hundreds.
    while len(terms) > 1:
        terms = [
            *(low | high for low, high in zip(terms[::2], terms[1::2], strict=False)),
            *terms[len(terms) & ~1 :],
        ]
    return terms[0] if terms else C(0, 0)


def first_set(bits: Value) -> Value:
    """The number of the lowest bit that is set, or 0 without one: of up to four a chain, of more a tree of chains."""
    if len(bits) > 4:
        half = 1 << ((len(bits) - 1).bit_length() - 1)
        low, high = bits[:half], bits[half:]
        return Cat(Mux(low.any(), first_set(low), first_set(high)), ~low.any() & high.any())
    number: Value = C(0, (len(bits) - 1).bit_length())
    for position in reversed(range(len(bits))):
        number = Mux(bits[position], position, number)
    return number


class Turn(data.StructLayout):
    """A number of lanes by which words move up, cyclically, and the bits that it has not.

    Synthesis knows that of a bit and its inverse, and makes multiplexers of a rotation. Where both come from memory or from
    flip-flops of their own, it makes AND-OR cells, which are little more than half as large.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__({"ones": exact_log2(lanes), "zeros": exact_log2(lanes)})


def turn_by(amount: Value) -> Value:
    """The :class:`Turn` by so many lanes."""
    return Cat(amount, ~amount)


def rotate_up(words: list[Value], amount: Value | data.View) -> list[Value]:
    """The words, each moved up by ``amount`` lanes, or by a :class:`Turn`, cyclically; their number is a power of two."""
    for level in range(exact_log2(len(words))):
        pairs = [(words[lane - (1 << level)], words[lane]) for lane in range(len(words))]
        if isinstance(amount, data.View):
            ways = amount.ones[level], amount.zeros[level]
            words = [one_of(*zip(ways, pair, strict=True)) for pair in pairs]
        else:
            words = [Mux(amount[level], *pair) for pair in pairs]
    return words


def popcount(bits: Value, inputs: int = 2) -> Value:
    """The number of ones in ``bits``, by a balanced tree whose leaves have 2 or 4 ``inputs``; 4 fit the look-up tables of
    FPGAs, and are no better in standard cells."""
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


def count_ones(m: Module, bits: Value, name: str, plus: Value | None = None) -> Value:
    """The number of ones in ``bits``, by a tree of full adders that keeps carries apart until two numbers are left.

    For 32 bits it needs two thirds of the gates of :func:`~cdma.hdl.blocks.arithmetic.popcount`, and five sixths of the
    time. The sums are wires of ``m`` whose names begin with ``name``. A number ``plus`` costs little: its bits are inputs of
    the same adders.
    """
    added: list[Value] = [] if plus is None else [*plus]
    #: The bits of each place, each with the depth of its gates.
    columns: list[list[tuple[int, Value]]] = [
        [(0, bit) for bit in column] for column in ([*bits, *added[:1]], *([bit] for bit in added[1:]))
    ]
    left: list[list[Value]] = []
    while columns:
        column, carries = columns.pop(0), columns.pop(0) if columns else []
        place = len(left)
        number = 0
        while len(column) > 2:
            # The earliest bits are added first.
            column.sort(key=lambda bit: bit[0])
            depth = column[2][0]
            adds = [bit for _, bit in column[:3]]
            number += 1
            ones = Signal(name=f"{name}_ones_{place}_{number}")
            carry = Signal(name=f"{name}_carry_{place}_{number}")
            m.d.comb += ones.eq(Cat(adds).xor())
            m.d.comb += carry.eq(adds[0] & adds[1] | adds[2] & (adds[0] | adds[1]))
            column = [*column[3:], (depth + 2, ones)]
            carries.append((depth + 1, carry))
        left.append([bit for _, bit in column])
        if carries:
            columns.insert(0, carries)
    first, second = (Cat(bits[row] if len(bits) > row else C(0, 1) for bits in left) for row in range(2))
    most = len(bits) + (1 << len(added)) - 1
    return (first + second)[: most.bit_length()]


class WideCounter(wiring.Component):
    """Adds ``amount`` to ``value`` in every cycle, modulo ``2**width``.

    ``amount``: Added to the value; 0 to ``most``.
    ``clear``, ``first``: Restarts the value from ``first``, 0 to ``most``, before ``amount`` is added.
    ``hold``: Keeps the value. It may come late: it is joined last.
    ``value``: The sum of all amounts up to the cycle before.

    No carry ripples through the whole counter within a cycle. The lowest part overflows at most every fourth cycle, and
    only then do the others change. In the cycles in between it is determined whether the middle part is all ones.

    ``pipelined``: Adds one to all of the upper part in those cycles instead, with a flip-flop more for each of its
        bits, and less logic in a cycle, as FPGAs need it.
    """

    def __init__(self, most: int, width: int = 32, *, pipelined: bool = False) -> None:
        self.pipelined = pipelined
        #: Four additions of the largest amount do not fill the lowest part.
        self.low = most.bit_length() + 2
        self.upper = width - self.low
        super().__init__(
            {
                "clear": In(1),
                "first": In(range(most + 1)),
                "amount": In(range(most + 1)),
                "hold": In(1),
                "value": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = Signal(self.low)
        total = Signal(self.low + 1)
        carry = total[-1] & ~self.hold
        clear = self.clear & ~self.hold
        m.d.comb += total.eq(Mux(self.clear, self.first, low) + self.amount)
        m.d.sync += low.eq(Mux(self.hold, low, total))
        if self.pipelined:
            upper = Signal(self.upper)
            next_upper = Signal(self.upper)
            m.d.comb += self.value.eq(Cat(low, upper))
            m.d.sync += next_upper.eq(upper + 1)
            with m.If(clear):
                m.d.sync += upper.eq(0)
            with m.Elif(carry):
                m.d.sync += upper.eq(next_upper)
        else:
            middle = Signal(self.upper // 2)
            high = Signal(self.upper - self.upper // 2)
            middle_full = Signal()
            m.d.comb += self.value.eq(Cat(low, middle, high))
            m.d.sync += [
                middle.eq(Mux(clear, 0, middle + carry)),
                middle_full.eq(middle.all() & ~clear),
                high.eq(Mux(clear, 0, high + (carry & middle_full))),
            ]
        return m


#: The most gates in a row of a part that sums share: a deeper one saves few gates and delays its sums.
_DEEPEST = 6


def xor_network(m: Module, inputs: Value, columns: Sequence[int], size: int) -> Value:
    """``size`` sums, of those ``inputs`` whose column has the sum's bit. Combinational.

    This is Paar's greedy method: the two inputs that most sums have in common become one, repeatedly. The rest is summed in
    trees, the shallowest first. CRC-32C of 256 bits needs 1,533 gates instead of 4,124, nine in a row.
    """
    pairs, sums = _share(tuple(columns), size)
    nodes: list[Value] = list(inputs)
    for first, second in pairs:
        node = Signal(name="shared")
        m.d.comb += node.eq(nodes[first] ^ nodes[second])
        nodes.append(node)
    return Cat(C(0, 1) if tree is None else _sum(nodes, tree) for tree in sums)


#: A sum as a tree: a node, or the sum of two trees.
_Tree = int | tuple["_Tree", "_Tree"]


def _sum(nodes: Sequence[Value], tree: _Tree) -> Value:
    return nodes[tree] if isinstance(tree, int) else _sum(nodes, tree[0]) ^ _sum(nodes, tree[1])


@cache
def _share(columns: tuple[int, ...], size: int) -> tuple[list[tuple[int, int]], list[_Tree | None]]:
    """The pairs of nodes that become a node each, and every sum."""
    left, depths, pairs = list(columns), [0] * len(columns), []
    # The best pair is on top. A count may be outdated, and then it was too high.
    heap: list[tuple[int, int, int, int]] = []

    def offer(first: int, second: int) -> None:
        depth = max(depths[first], depths[second]) + 1
        count = (left[first] & left[second]).bit_count()
        if count > 1 and depth <= _DEEPEST:
            heapq.heappush(heap, (-count, depth, first, second))

    for second in range(len(left)):
        for first in range(second):
            offer(first, second)
    while heap:
        count, depth, first, second = heapq.heappop(heap)
        common = left[first] & left[second]
        if common.bit_count() != -count:
            offer(first, second)
            continue
        left[first] &= ~common
        left[second] &= ~common
        left.append(common)
        depths.append(depth)
        pairs.append((first, second))
        for other in range(len(left) - 1):
            offer(other, len(left) - 1)
    return pairs, [_tree(left, depths, bit) for bit in range(size)]


def _tree(left: Sequence[int], depths: Sequence[int], bit: int) -> _Tree | None:
    """The sum of the nodes that have a bit, the shallowest first; None without any."""
    heap: list[tuple[int, int, _Tree]] = [
        (depths[node], node, node) for node, column in enumerate(left) if column >> bit & 1
    ]
    heapq.heapify(heap)
    number = len(left)
    while len(heap) > 1:
        (depth, _, one), (deeper, _, other) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (max(depth, deeper) + 1, number, (one, other)))
        number += 1
    return heap[0][2] if heap else None


#: Bits of a CRC.
CRC_BITS = CRC32_ISCSI.crc_width
#: The register before the first byte, and the constant added to it after the last one.
CRC_INIT = CRC32_ISCSI.initial_crc
CRC_XOR = CRC32_ISCSI.xor_output

#: Data and register are reflected: bit 0 comes first, and it is the highest power of x.
_POLYNOMIAL = int(f"{CRC32_ISCSI.polynomial:0{CRC_BITS}b}"[::-1], 2)
_HIGHEST = 1 << CRC_BITS - 1

assert CRC32_ISCSI.reflect_input
assert CRC32_ISCSI.reflect_output


def _after_zero(register: int) -> int:
    return register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)


def _before_zero(register: int) -> int:
    return (register ^ _POLYNOMIAL) << 1 | 1 if register & _HIGHEST else register << 1


def after_bits(count: int) -> list[int]:
    """The bits of the register, after the next ``count`` bits, that each of these inverts, in their order."""
    sums = [_POLYNOMIAL]
    while len(sums) < count:
        sums.append(_after_zero(sums[-1]))
    return sums[::-1]


def after_zeros(count: int) -> list[int]:
    """The bits of the register, after ``count`` zeros, that each bit of the present one inverts."""
    return _repeated(_after_zero, count)


def before_zeros(count: int) -> list[int]:
    """The bits of the register, before ``count`` zeros, that each bit of the present one inverts."""
    return _repeated(_before_zero, count)


def _repeated(step: Callable[[int], int], count: int) -> list[int]:
    columns = [1 << bit for bit in range(CRC_BITS)]
    for _ in range(count):
        columns = list(map(step, columns))
    return columns
