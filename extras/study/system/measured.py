"""Measured steps of training, as ``cdma bench swap --json`` prints them, beside those of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.base.toml_table import TableError, read_json_rows

from .density_table import DensityTable
from .machine import Assumptions, Machine, machine_names
from .model import Model
from .networks import Network, network_names

#: A step of the model that differs by more than this part is off.
OFF = 0.1

#: The model's policies that are those of the bench. LMS has another bound there, and nothing here computes again.
_POLICIES = {
    "plain": "none",
    "vdnn_all": "vdnn_all",
    "vdnn_conv": "vdnn_conv",
    "vdnn++": "vdnn++",
    "cdma": "static",
    "cswap": "cswap",
}
#: The model's networks that have another name in the bench, where that is the name of a small network.
_NETWORKS = {"alexnet224": "alexnet", "squeezenet224": "squeezenet"}
_SMALL = ("alexnet", "vgg", "squeezenet", "resnet")
#: What the names of cards have in them, and the machines.
_CARDS = {
    "H200": "h200",
    "H100": "h100",
    "A100": "a100",
    "V100": "v100",
    "2080 Ti": "rtx2080ti",
    "TITAN Xp": "titan_xp",
}


@dataclass(frozen=True)
class Measured:
    """A row of the bench; ``ms`` is None where there was no memory."""

    card: str
    network: str
    policy: str
    batch: int
    precision: str
    ms: float | None
    ratio: float | None

    @property
    def case(self) -> tuple[str, str, int, str]:
        """What rows of several policies have in common."""
        return self.card, self.network, self.batch, self.precision


@dataclass(frozen=True)
class Residual:
    """A measured step and the model's.

    ``predicted_ms``, ``residual``: The model's, and the part by which it is longer.
    ``paced_ms``, ``paced_residual``: Likewise, where all computation takes so many times as long that plain training
        takes what was measured; None of plain training itself, and where that was not measured.
    """

    card: str
    machine: str
    network: str
    policy: str
    batch: int
    precision: str
    measured_ms: float
    predicted_ms: float
    residual: float
    paced_ms: float | None
    paced_residual: float | None

    @property
    def off(self) -> bool:
        """Whether the model is off, with computation as it was measured, if it was."""
        return abs(self.residual if self.paced_residual is None else self.paced_residual) > OFF


def read_measured(files: Sequence[Path]) -> list[Measured]:
    """The rows in files, in their order."""
    return [_row(file, row) for file in files for row in read_json_rows(file)]


def _row(file: Path, row: dict[str, Any]) -> Measured:
    try:
        return Measured(**{name: row[name] for name in Measured.__dataclass_fields__})
    except KeyError as error:
        raise TableError(
            f"{file} has a row without {error.args[0]!r}; rows are those that cdma bench swap --json prints"
        ) from None


def modelled_name(network: str) -> str | None:
    """The model's name of a network of the bench; None if the model has not that."""
    if network in _SMALL:
        return None
    name = _NETWORKS.get(network, network)
    return name if name in network_names() else None


def machine_of(card: str) -> str:
    """The name of the machine with a card."""
    for part, name in _CARDS.items():
        if part in card and name in machine_names():
            return name
    raise ParameterError(f"card is {card!r}, which is no machine of the model: give --machine")


def residuals(
    rows: Sequence[Measured],
    machine_for: Callable[[str], Machine],
    assumptions: Assumptions,
    densities: DensityTable,
    network_for: Callable[[str], Network | None],
) -> Iterator[Residual]:
    """The residual of each row that the model has a network and a policy for.

    The density of all maps is that with which they would have the measured ratio: the model is asked for the step, and not
    for what weights have learnt.
    """
    plain = {row.case: row for row in rows if row.policy == "plain" and row.ms is not None}
    for row in rows:
        network = network_for(row.network)
        if row.ms is None or row.policy not in _POLICIES or network is None:
            continue
        machine = _in_precision(machine_for(row.card), row.precision)
        model = Model(_as_measured(network, row), machine, assumptions, densities)
        predicted = _milliseconds(model, row.policy)
        paced = None
        if row.policy != "plain" and row.case in plain:
            factor = _slower(model, plain[row.case])
            rates = replace(assumptions.compute, times=assumptions.compute.times * factor)
            slowed = Model(model.network, machine, replace(assumptions, compute=rates), densities)
            paced = _milliseconds(slowed, row.policy)
        yield Residual(
            row.card,
            machine.name,
            row.network,
            row.policy,
            row.batch,
            row.precision,
            row.ms,
            predicted,
            predicted / row.ms - 1,
            paced,
            None if paced is None else paced / row.ms - 1,
        )


def _milliseconds(model: Model, policy: str) -> float:
    return 1e3 * model.step(_POLICIES[policy], "zv", 0.5).seconds


def _slower(model: Model, plain: Measured) -> float:
    """How many times as long as the model's computation that of plain training took."""
    assert plain.ms is not None
    return plain.ms / _milliseconds(model, "plain")


def _in_precision(machine: Machine, precision: str) -> Machine:
    gpu = machine.gpu
    if precision != "tf32" or gpu.tf32_flops is None:
        return machine
    return replace(machine, gpu=replace(gpu, flops=gpu.tf32_flops))


def _as_measured(network: Network, row: Measured) -> Network:
    """The network with the batch, the type and the density of a row."""
    kind = "bf16" if row.precision == "bf16" else "fp32"
    changes: dict[str, Any] = {"number_type": kind}
    if row.ratio:
        bits = 16 if kind == "bf16" else 32
        changes["density"] = min(max(1 / row.ratio - 1 / bits, 0.0), 1.0)
    layers = tuple(replace(layer, **changes) for layer in network.layers)
    return replace(network, batch=row.batch, number_type=kind, layers=layers)


def residual_row(one: Residual) -> dict[str, Any]:
    """A residual as a row."""
    return {**asdict(one), "off": one.off}
