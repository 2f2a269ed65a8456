"""Names of variables on nameless wires.

In: a parsed module, in which a wire stands beside each value that the source has a variable for. Out: the same module
without these, in which the wires of the values have the names of the variables, and stay nameless.
"""

from __future__ import annotations

from .model import Module, Slice, called, variable_of

__all__ = ["call_wires"]


def call_wires(module: Module) -> None:
    """Calls the nameless wires of a module after their variables."""
    beside = {wire for wire in module.wires if wire.startswith("\\") and variable_of(wire)}
    # What is connected to another wire has a name without it.
    aliases = {left[0].wire for left, _ in module.connects if left[0].wire in beside}
    module.connects = [connect for connect in module.connects if connect[0][0].wire not in aliases]
    new_names = {wire: called(f"{variable_of(wire)}$") for wire in beside - aliases}
    module.wires = {
        new_names.get(name, name): wire for name, wire in module.wires.items() if name not in aliases
    }

    def renamed(piece: Slice) -> Slice:
        return piece._replace(wire=new_names[piece.wire]) if piece.wire in new_names else piece

    if new_names:
        module.rewrite(lambda signal: [renamed(piece) for piece in signal])
