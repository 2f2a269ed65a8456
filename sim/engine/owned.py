"""Whose transfers a channel may carry out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdma.hdl.spec.owner import OWNER_FIELDS, owner_mask

__all__ = ["EVERYBODY", "OwnerRule", "stray_owner"]


@dataclass(frozen=True)
class OwnerRule:
    """What the owner of a descriptor must be, in the bits of ``mask``."""

    value: int = 0
    mask: int = 0

    def allows(self, owner: int) -> bool:
        """Whether a descriptor may have this owner."""
        return not (owner ^ self.value) & self.mask


#: Any owner is allowed.
EVERYBODY = OwnerRule()


def stray_owner(descriptor: Mapping[str, int], fields: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a descriptor says an owner that an engine with these ``fields`` does not have, or says none properly."""
    owner, owned = descriptor["owner"], descriptor["owned"]
    if owner & ~owner_mask(fields) or (owned and not fields) or (owner and not owned):
        return True
    valid = owner >> OWNER_FIELDS["substream_valid"][0]
    return bool(not valid and owner & (1 << OWNER_FIELDS["substream"][1]) - 1)
