"""Where registers are in the memory of registers."""

from collections.abc import Callable, Mapping, Sequence

from amaranth.hdl import C, Cat, Mux, Value

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import NamedValues
from cdma.hdl.spec.options import BANK_LOG2
from cdma.hdl.spec.registers.description import REGISTER_BYTES, Placed, RegisterMap


class Rows:
    """The memory of registers has a row for each pair in each of its words. A register has a word, in the row of the pair
    whose page it is in; an array that the first page alone has is of the pairs: a word, and each register the row of
    its index, which a register ``bank`` of its block continues.

    ``registers``, ``others``: The registers of the first page and of the further ones of all ``pairs``.
    ``kept``: The words, by their register in the first row.
    ``alone``: Addresses in the first page that the others do not have.
    """

    def __init__(self, registers: RegisterMap, others: RegisterMap, pairs: int) -> None:
        self.registers = registers
        self.pairs = pairs
        self.pair_bits = (pairs - 1).bit_length()
        self.alone = {placed.address for placed in registers.placed()}
        self.alone -= {placed.address for placed in others.placed()}
        self.kept = [each for each in registers.kept if not self._of_pairs(each)]
        words = {placed.name: word for word, placed in enumerate(self.kept)}
        self.words = {
            placed.address: words[placed.name]
            if placed.name in words
            else words[placed.name.replace(f"[{placed.index}]", "[0]")]
            for placed in registers.kept
        }

    def _of_pairs(self, placed: Placed) -> bool:
        """Whether it is the register of another row than the first."""
        return placed.index > 0 and placed.address in self.alone

    @property
    def place(self) -> NamedValues:
        """The shape of the number of a word, which is called after its register."""
        names = {n: placed.name for n, placed in enumerate(self.kept)}
        return NamedValues((len(self.kept) - 1).bit_length(), "Register", names)

    @property
    def address(self) -> NamedValues:
        """The shape of an address on the bus in words, which is called after the register that is there."""
        names = {placed.address // REGISTER_BYTES: placed.name for placed in self.registers.placed()}
        return NamedValues(self.registers.address_bits - 2, "At", names)

    def at(self, access: Value) -> Value:
        """The address in the memory of an access by hardware."""
        return Cat(access.pair, access.index[: self.place.bits])

    def pages_with(self, placed: Placed) -> range:
        """The pairs in whose page the register is."""
        return range(1 if placed.address in self.alone else self.pairs)

    def in_page(self, pair: Value, here: Callable[[Placed], Value]) -> Callable[[Placed], Value]:
        """The same as ``here``, in the page of ``pair`` alone."""
        if self.pairs == 1:
            return here
        exists, first = pair < self.pairs, pair == 0
        return lambda placed: here(placed) & (first if placed.address in self.alone else exists)

    def word(self, choice: Sequence[Placed], here: Callable[[Placed], Value]) -> Value:
        """The word of the register of ``choice`` that is ``here``."""
        return one_of(*((here(placed), C(self.words[placed.address])) for placed in choice))

    @property
    def banked(self) -> list[str]:
        """The instances whose arrays have a bank."""
        return [each.instance for each in self.registers.placed() if each.register.name == "bank"]

    def row(
        self,
        choice: Sequence[Placed],
        here: Callable[[Placed], Value],
        pair: Value,
        banks: Mapping[str, Value],
    ) -> Value:
        """The row of that register, in the page of the ``pair``. ``banks`` has that of each instance that has one."""
        arrays = filter(self._of_pairs, choice)
        row = pair | one_of(*((here(placed), C(placed.index, self.pair_bits)) for placed in arrays))
        for instance, bank in banks.items():
            mine = [here(each) for each in choice if each.instance == instance and each.register.count]
            row |= Mux(Cat(mine).any(), bank << BANK_LOG2, 0)
        return row[: self.pair_bits]

    def label(self, placed: Placed, pair: int) -> str:
        """The register of a pair in names of signals."""
        suffix = f"_{placed.index}" if placed.register.count else ""
        suffix += f"_of_{pair}" if self.pairs > 1 else ""
        return f"{placed.instance}_{placed.register.name}{suffix}"
