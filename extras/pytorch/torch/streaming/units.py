"""What of a model comes and goes together: blocks that are repeated, and modules outside of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from cdma.torch.memory import is_plain

__all__ = ["Unit", "holders", "units_of"]

#: Modules that nobody calls: what is in them is read by who has them.
_NEVER_CALLED = (nn.ParameterList, nn.ParameterDict)


@dataclass(eq=False)
class Unit:
    """Weights that are there while one of the modules runs.

    ``modules``
        Several where weights are tied.
    ``repeated``
        Whether it is one of a list of blocks.
    """

    name: str
    modules: list[nn.Module]
    weights: list[nn.Parameter]
    repeated: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return sum(weight.numel() * weight.element_size() for weight in self.weights)


def units_of(model: nn.Module) -> list[Unit]:
    """The units of a model, in the order in which it has them. Weights that are in none stay where modules can read them.

    A unit is a child of an ``nn.ModuleList``, or else a module with weights of its own and all that is in it. No unit has
    the weights of a module that has such a list or is the model itself, nor what is no plain tensor, nor what shares memory
    with another weight and is not the same.
    """
    owners: dict[int, set[int]] = {}
    for weight in model.parameters():
        owners.setdefault(weight.untyped_storage().data_ptr() if is_plain(weight) else 0, set()).add(
            id(weight)
        )
    units: list[Unit] = []
    unit_of: dict[int, Unit] = {}
    for name, module, repeated in _found(model, "", root=True, seen=set()):
        weights = [
            weight
            for weight in module.parameters()
            if is_plain(weight) and len(owners[weight.untyped_storage().data_ptr()]) == 1
        ]
        if not weights:
            continue
        unit = next((unit_of[id(weight)] for weight in weights if id(weight) in unit_of), None)
        if unit is None:
            unit = Unit(name, [], [], repeated)
            units.append(unit)
        unit.modules.append(module)
        for weight in weights:
            other = unit_of.get(id(weight))
            if other is None:
                unit.weights.append(weight)
                unit_of[id(weight)] = unit
            elif other is not unit:
                units.remove(other)
                unit.modules += other.modules
                unit.weights += other.weights
                unit_of |= dict.fromkeys(map(id, other.weights), unit)
    return units


def holders(unit: Unit) -> Iterator[nn.Module]:
    """The modules whose calls need the unit: its own, and those in them that have weights, which may be called alone."""
    seen: set[nn.Module] = set()
    for top in unit.modules:
        for module in top.modules():
            if module not in seen and (module is top or any(True for _ in module.parameters(recurse=False))):
                seen.add(module)
                yield module


def _found(
    module: nn.Module, name: str, *, root: bool, seen: set[nn.Module]
) -> Iterator[tuple[str, nn.Module, bool]]:
    """The modules of the units, by their names, and whether each is one of a list."""
    for own, child in module.named_children():
        if child in seen or isinstance(child, _NEVER_CALLED):
            continue
        seen.add(child)
        path = f"{name}.{own}" if name else own
        if isinstance(module, nn.ModuleList) and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            yield path, child, True
        elif _is_whole(child):
            yield path, child, False
        else:
            yield from _found(child, path, root=False, seen=seen)
    if root and not any(True for _ in module.children()):
        yield "model", module, False


def _is_whole(module: nn.Module) -> bool:
    """Whether a module has weights of its own, and no list of blocks in it."""
    return any(True for _ in module.parameters(recurse=False)) and not any(
        isinstance(inner, nn.ModuleList) for inner in module.modules()
    )
