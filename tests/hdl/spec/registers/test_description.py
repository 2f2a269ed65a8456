"""A description of registers that cannot be built is refused with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.registers.description import Access, Block, Field, Register, RegisterMap

LOCK = Register("lock", 0x14, "Locks.", (Field("locked", 0, 1, Access.LOCK, "No more writes."),))


def field(**changes: object) -> Field:
    return replace(Field("value", 0, 8, Access.RW, "A value."), **changes)  # type: ignore[arg-type]


def register(**changes: object) -> Register:
    return replace(Register("item", 0, "An item.", (field(),)), **changes)  # type: ignore[arg-type]


def block(**changes: object) -> Block:
    return replace(Block("part", "A part.", (register(),), (("part", 0),)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: field(name="Value"), "a field is named 'Value'"),
        (lambda: field(name="a__b"), "single underscores"),
        (lambda: field(lsb=28), "field value has 8 bits from bit 28; it must lie within bits 0 to 31"),
        (lambda: field(reset=256), "field value resets to 256, which 8 bits do not hold"),
        (lambda: field(access=Access.RO, reset=1), "field value is ro and resets to 1"),
        (lambda: field(choices=(("big", 256),)), "field value offers big = 256"),
        (lambda: field().put(256), "value is 256; the field has 8 bits, so 0 to 255"),
        (lambda: field(access=Access.W1C, in_memory=True), "field value is w1c and in memory"),
        (lambda: register(offset=2), "register item is at 0x2"),
        (lambda: register(count=-1), "register item has count -1"),
        (lambda: register(fields=()), "register item has no fields"),
        (lambda: register(fields=(field(), field(name="other", lsb=7))), "field other overlaps"),
        (lambda: register(fields=(field(), field(lsb=8))), "value, value; a name may occur once"),
        (
            lambda: register(fields=(field(), field(name="other", lsb=8, access=Access.RO, in_memory=True))),
            "fields that software writes and fields that hardware does",
        ),
        (lambda: register().field("none"), "register item has no field 'none'; it has value"),
        (lambda: block(registers=()), "block part needs at least one register"),
        (lambda: block(registers=(register(), register(name="other"))), "register other at 0x0 overlaps"),
        (lambda: block(registers=(register(), register(offset=4))), "item, item; a name may occur once"),
        (lambda: block(registers=(register(locked_by="item.value"),)), "not one bit of access lock"),
        (lambda: block(external=True), "block part is external"),
        (lambda: block(registers=(register(count=3),), instances=(("part", 8),)), "part spans 0x10 bytes"),
        (
            lambda: RegisterMap("map", "", (block(), block(name="more")), 4),
            "part, part; a name may occur once",
        ),
        (
            lambda: RegisterMap("map", "", (block(instances=(("a", 0), ("b", 0))),), 4),
            "b at 0x0 overlaps a, which ends at 0x4",
        ),
        (lambda: RegisterMap("map", "", (block(instances=(("a", 16),)),), 4), "a ends at 0x14, past the 4"),
    ],
)
def test_a_wrong_description_is_refused(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)
