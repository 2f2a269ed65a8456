"""Small combinational functions of values, written in the shape that makes the fewest gates."""

from amaranth.hdl import Cat, Mux, Value
from amaranth.utils import exact_log2

__all__ = ["add_three", "is_next", "one_of", "popcount", "rotate_up", "thermometer"]


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
