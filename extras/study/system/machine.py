"""Machines: a device with its memory, the link to the host, and the compressing engine between them; and the assumptions
of the model, in one table that a user can edit.

A machine is a TOML file::

    name = "my_card"
    link = "pcie4"             # or a table: link = {name = "mine", GBps = 40.0}, or with
                               # d2h_GBps and h2d_GBps if it is not as fast both ways

    [gpu]
    tflops = 20.0
    half_tflops = 80.0         # with numbers of 16 bits; if left out, no faster than with 32
    dram_GBps = 900.0
    memory_GiB = 24
    crossbar_GBps = 150.0      # of one port; if left out, dram_GBps / units

    [engine]
    units = 6                  # codecs, one per memory controller
    lanes = 8                  # words of 32 bits that each of them takes per cycle
    clock_GHz = 1.0
    read_GBps = 200.0          # memory read bandwidth set aside for the engine
    buffer_KB = 70.0
    latency_ns = 350.0
    port_GBps = 32.0           # host port; if left out, that of a unit, and no slower than the link
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

from cdma.base.toml_table import Table, TableError, read_toml
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA, table_named, table_names


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


def _read(key: str, scale: float, default: Any = MISSING, **limits: float) -> Any:
    """A number that the file has under ``key``, in another unit, more than 0 without other ``limits``."""
    return field(default=default, metadata={"key": key, "scale": scale, **(limits or {"above": 0})})


@dataclass(frozen=True)
class Gpu:
    """The device that computes."""

    flops: float = _read("tflops", 1e12)
    dram_bytes_per_s: float = _read("dram_GBps", 1e9)
    memory_bytes: float = _read("memory_GiB", 2**30)
    #: Of the port by which the engine is connected to the crossbar, in one direction, if it is given.
    crossbar_bytes_per_s: float | None = _read("crossbar_GBps", 1e9, None)
    #: With numbers of 16 bits, if that is given.
    half_flops: float | None = _read("half_tflops", 1e12, None)
    #: With TF32 in products, if that is given.
    tf32_flops: float | None = _read("tf32_tflops", 1e12, None)


@dataclass(frozen=True)
class Link:
    """The connection of device and host, which transfers in both directions at once."""

    name: str
    #: The peak rate from the device to the host, and that back.
    d2h_bytes_per_s: float
    h2d_bytes_per_s: float

    def with_rates(self, d2h_GBps: float | None, h2d_GBps: float | None) -> Link:
        """Returns the link with other rates; None leaves one as it is."""
        d2h = self.d2h_bytes_per_s if d2h_GBps is None else d2h_GBps * 1e9
        h2d = self.h2d_bytes_per_s if h2d_GBps is None else h2d_GBps * 1e9
        return Link(f"{d2h / 1e9:g}+{h2d / 1e9:g}GBps", d2h, h2d)

    def at(self, d2h_bytes_per_s: float) -> Link:
        """Returns the link with this rate to the host, and that back in the same proportion."""
        ratio = self.h2d_bytes_per_s / self.d2h_bytes_per_s
        return Link(self.name, d2h_bytes_per_s, d2h_bytes_per_s * ratio)


@dataclass(frozen=True)
class Engine:
    """The compressing engine: one codec in each unit, fed from memory through a buffer."""

    units: int
    codec: CodecConfig
    clock_hz: float = _read("clock_GHz", 1e9)
    #: Memory read bandwidth set aside for it.
    read_bytes_per_s: float = _read("read_GBps", 1e9)
    buffer_bytes: float = _read("buffer_KB", 1e3)
    latency_s: float = _read("latency_ns", 1e-9, least=0)
    #: Of its host port, in one direction, if it is given.
    port_bytes_per_s: float | None = _read("port_GBps", 1e9, None)

    @property
    def fetch_bytes_per_s(self) -> float:
        """Raw bytes per second that it can read: the bandwidth set aside, at most a buffer per memory latency."""
        buffered = self.buffer_bytes / self.latency_s if self.latency_s else float("inf")
        return min(self.read_bytes_per_s, buffered)


@dataclass(frozen=True)
class Machine:
    """A device, its links, all of one kind, and an engine."""

    name: str
    gpu: Gpu
    link: Link
    engine: Engine
    links: int = 1

    @property
    def port_bytes_per_s(self) -> float:
        """Of the engine's host port. If it is not given, it is as wide as one unit, and no slower than one link."""
        codec = self.engine.codec
        unit = codec.lanes * codec.format.word_bits / 8 * self.engine.clock_hz
        fastest = max(unit, self.link.d2h_bytes_per_s, self.link.h2d_bytes_per_s)
        return self.engine.port_bytes_per_s or fastest

    @property
    def crossbar_bytes_per_s(self) -> float:
        """Of the engine's port at the crossbar. If it is not given, it is that of one memory controller's port."""
        return self.gpu.crossbar_bytes_per_s or self.gpu.dram_bytes_per_s / self.engine.units

    def with_links(self, links: int) -> Machine:
        """Returns the machine with so many links, over which each transfer is spread."""
        return replace(self, links=links)

    def with_link(self, link: Link) -> Machine:
        """Returns the machine with another link."""
        return replace(self, name=f"{self.name}/{link.name}", link=link)

    def with_read_bandwidth(self, bytes_per_s: float) -> Machine:
        """Returns the machine with other memory read bandwidth for the engine, and a buffer that covers it."""
        engine = self.engine
        needed = bytes_per_s * engine.latency_s
        return replace(
            self,
            engine=replace(
                engine, read_bytes_per_s=bytes_per_s, buffer_bytes=max(needed, engine.buffer_bytes)
            ),
        )


def machine_names() -> tuple[str, ...]:
    """Returns the machines that come with the package."""
    return table_names("machine")


def link_names() -> tuple[str, ...]:
    """Returns the links that come with the package."""
    return tuple(read_toml(DATA / "links.toml").names())


def load_link(name: str) -> Link:
    """Returns the link of that name that comes with the package."""
    links = read_toml(DATA / "links.toml")
    if name not in links:
        raise TableError(f"link is {name!r}; it must be one of {', '.join(links.names())}")
    return _link(name, links.table(name))


def load_machine(name: str) -> Machine:
    """Returns the machine of that name that comes with the package, or the one in that TOML file."""
    table = table_named("machine", name)
    engine = table.table("engine")
    machine = Machine(
        table.text("name"),
        table.table("gpu").read(Gpu),
        load_link(table.text("link"))
        if isinstance(table.get("link"), str)
        else _own_link(table.table("link")),
        engine.read(Engine, codec=CodecConfig(Format(), engine.whole("lanes"))),
    )
    table.done()
    return machine


def _own_link(table: Table) -> Link:
    return _link(table.text("name"), table)


def _link(name: str, table: Table) -> Link:
    """The link in a table with ``GBps``, of both directions, or with ``d2h_GBps`` and ``h2d_GBps``."""
    keys = ("GBps", "GBps") if "GBps" in table else ("d2h_GBps", "h2d_GBps")
    d2h, h2d = (table.number(key, above=0) * 1e9 for key in keys)
    table.done()
    return Link(name, d2h, h2d)
