"""The assumptions of the system model, in one table that a user can edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_type_hints

from cdma.base.toml_table import Table, TableError, read_toml
from cdma.study.recorded import DATA


@dataclass(frozen=True)
class Compute:
    """The parts of the machine's peaks that computation reaches."""

    conv_efficiency: float = field(metadata={"above": 0, "most": 1})
    winograd_gain: float = field(metadata={"least": 1})
    fc_efficiency: float = field(metadata={"above": 0, "most": 1})
    dram_efficiency: float = field(metadata={"above": 0, "most": 1})
    launch_us: float = field(metadata={"least": 0})
    times: float = field(metadata={"above": 0})


@dataclass(frozen=True)
class Memory:
    """Device memory that does not depend on the activations."""

    parameter_copies: int = field(metadata={"least": 1})
    workspace_MiB: float = field(metadata={"least": 0})


@dataclass(frozen=True)
class LinkUse:
    """The part of the link's peak that transfers reach."""

    efficiency: float = field(metadata={"above": 0, "most": 1})
    latency_us: float = field(metadata={"least": 0})


@dataclass(frozen=True)
class Training:
    """How a step runs, and how many moments of a training are evaluated."""

    moments: int = field(metadata={"least": 1})
    lookahead: int = field(metadata={"least": 1})
    offload_input: bool


@dataclass(frozen=True)
class Codecs:
    """Rates of codecs that this engine does not have."""

    zl_hw_GBps: float = field(metadata={"above": 0})


@dataclass(frozen=True)
class Lms:
    """IBM Caffe's large model support."""

    threshold_KB: float = field(metadata={"least": 0})
    fraction: float = field(metadata={"least": 0, "most": 1})


@dataclass(frozen=True)
class Cpu:
    """Compression in the host, in raw bytes per second."""

    compress_GBps: float = field(metadata={"above": 0})
    decompress_GBps: float = field(metadata={"above": 0})


@dataclass(frozen=True)
class Kernels:
    """Compression by kernels on the GPU."""

    dram_share: float = field(metadata={"above": 0, "most": 1})
    launch_us: float = field(metadata={"least": 0})
    epochs: int = field(metadata={"least": 1})


@dataclass(frozen=True)
class Assumptions:
    """One section of the file for each field."""

    compute: Compute
    memory: Memory
    link: LinkUse
    training: Training
    codecs: Codecs
    lms: Lms
    cpu: Cpu
    kernels: Kernels


def default_assumptions_path() -> Path:
    """Returns the table that comes with the package, which a user can copy and edit."""
    return DATA / "assumptions.toml"


def load_assumptions(path: Path | None = None) -> Assumptions:
    """Reads the assumptions in a file; those that it leaves out are those of the table that comes with the package."""
    base = read_toml(default_assumptions_path())
    given = base if path is None else read_toml(path)
    sections = {}
    for name, kind in get_type_hints(Assumptions).items():
        section = given.table(name, {})
        defaults = base.table(name)
        merged = {key: defaults.get(key) for key in defaults.names()}
        for key in section.names():
            if key not in merged:
                raise TableError(
                    f"{section.where} has the unknown key {key!r}; it may have {', '.join(merged)}"
                )
            merged[key] = section.get(key)
        sections[name] = Table(section.where, merged).read(kind)
    given.get("range", None)  # Read by load_ranges.
    given.done()
    return Assumptions(**sections)
