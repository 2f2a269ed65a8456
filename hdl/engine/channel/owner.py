"""Whose a transfer is, as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.owner`."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from cdma.hdl.spec.owner import owner_mask
from cdma.hdl.spec.records import RecordOptions

__all__ = ["OwnerLayout", "owner_in", "stray_owner"]


class OwnerLayout(data.StructLayout):
    """An owner by its fields, without the bits that an engine with ``options`` does not have."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({name: bits for name, (_, bits) in options.owner_fields.items()})


def owner_in(word: Value, options: RecordOptions) -> Value:
    """The bits of an :class:`OwnerLayout` in a word as descriptors and registers have it."""
    return Cat(word[lsb : lsb + bits] for lsb, bits in options.owner_fields.values())


def stray_owner(word: Value, owned: Value, options: RecordOptions) -> Value:
    """Whether a descriptor says an owner and is not ``owned``, or one that the engine does not have, or a substream that is
    not valid."""
    fields = options.owner_fields
    strays = (word & ~owner_mask(fields)).any() | (~owned & word.any())
    if "substream" in fields:
        lsb, bits = fields["substream"]
        strays |= ~word[fields["substream_valid"][0]] & word[lsb : lsb + bits].any()
    return strays
