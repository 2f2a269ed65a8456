"""Makes Amaranth's RTLIL readable before it becomes Verilog.

In: the RTLIL text of a design. Out: RTLIL text of the same design with plain names.

Amaranth writes one module for each instance, one vector for each structure, serial numbers in repeated names, and dotted
paths as names of modules. In Verilog a structure would read as ``input__payload[264]``, and names would need escapes. Here
equal modules are merged, structures become one wire per field, wires between submodules are named after their drivers, and
every name becomes a plain identifier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .aliases import drop_aliases, drop_empty
from .equal_modules import inside_out, merge_equal
from .initial_values import drop_initial_values, fill_memories
from .nameless_ports import name_ports
from .naming import module_names, names_within
from .operators import fit_operators
from .parse import parse
from .structures import split_structures
from .variables import call_wires
from .write import write

__all__ = ["Readable", "readable"]


class Readable(NamedTuple):
    """The RTLIL of a design, and the name of each of its modules by the one that it had before.

    ``within``
        For each module, by its old name, the names of its wires and instances by those that they had before.
    """

    text: str
    names: dict[str, str]
    within: dict[str, dict[str, str]]


def readable(rtlil: str, *, prefix: str, ports: Sequence[str], init: bool) -> Readable:
    """Rewrites the RTLIL of a design; its first module is the top.

    The top keeps its name and its ports, in the order of ``ports``; the names of the other modules start with
    ``prefix``. Without ``init``, no register and no memory has an initial value.
    """
    modules = {module.name: module for module in parse(rtlil)}
    top = next(iter(modules))
    paths = merge_equal(modules)
    for module in modules.values():
        drop_empty(module)
        call_wires(module)
        drop_aliases(module, lambda name: not re.search(r"[.[]", name))
        fit_operators(module)
    split_structures(modules, top)
    name_ports(modules, inside_out(modules))
    for module in modules.values():
        if init:
            fill_memories(module)
        else:
            drop_initial_values(module)
    new_names = module_names(paths, top, prefix)
    names = {name: names_within(module, modules) for name, module in modules.items()}
    text = "\n".join(
        line
        for name, module in modules.items()
        for line in write(module, new_names, names, ports if name == top else None)
    )
    return Readable(text, new_names, names)
