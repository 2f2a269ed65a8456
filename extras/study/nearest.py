"""Where an answer changes: the nearest value of a parameter for which it is another one."""

from __future__ import annotations

from collections.abc import Callable

#: Values are looked at from the present one divided by this to it multiplied by that.
REACH = 64


def nearest_change(present: int, other: Callable[[int], bool]) -> int | None:
    """Returns the whole number nearest to ``present``, by their ratio, for which ``other`` is true, within ``REACH``.

    It doubles and halves until one is found and then bisects, so that next to it, towards ``present``, it is false.
    """
    inside = {1: present, -1: present}
    for doubling in range(1, REACH.bit_length()):
        found = []
        for direction, same in list(inside.items()):
            value = present << doubling if direction == 1 else max(present >> doubling, 1)
            if value != same and other(value):
                found.append(_bisect(same, value, other))
            inside[direction] = value
        if found:
            return min(found, key=lambda value: max(value / present, present / value))
    return None


def _bisect(same: int, changed: int, other: Callable[[int], bool]) -> int:
    while abs(changed - same) > 1:
        middle = (same + changed) // 2
        if other(middle):
            changed = middle
        else:
            same = middle
    return changed
