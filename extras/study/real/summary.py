"""What the records of trained networks say together, by network and by the kind of tensor; and whether offloading and
compressing is worth it for each, on one machine with several links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cdma.base.document import Paragraph, Part, Table, as_markdown
from cdma.result import Result
from cdma.study.profile.link import Settings
from cdma.study.profile.report import Report
from cdma.study.svg import bar_chart
from cdma.study.system.density_table import load_densities, with_run
from cdma.study.system.machine import load_assumptions, load_link, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network, network_names, recorded_network
from cdma.study.system.verdict import fastest, nearest_change

from .record import BOUND, Record, Tensor

#: Links by name, in bytes per second at their peak.
LINKS = {"10 GbE": 1.25e9, "PCIe 5": 64e9}
#: Units of the engine.
_UNITS = 4
#: The codecs that are compared within a bound.
_WITHIN = ("cdma", "sz", "jpeg")


def summary(records: Sequence[Record]) -> Result:
    """Tables by network and by kind of tensor; JSON has the same numbers."""
    networks = [_network(record) for record in records]
    every = [tensor for record in records for tensor in record.tensors]
    names = sorted({each.kind for each in every})
    kinds = [_kind(kind, [each for each in every if each.kind == kind]) for kind in names]
    titles = [
        "network",
        "what it does",
        "tensors",
        "density",
        "zvc32",
        "bfloat16",
        "format",
        f"within 2^{BOUND}",
    ]
    titles += [f"{link}, {by}" for link in LINKS for by in ("engine", "core")]
    rows = [
        [
            *(row["network"], row["what"], f"{row['tensors']} of {row['computed']}", f"{row['density']:.2f}"),
            *(_cell(row["zvc32"]), f"{row['bfloat16']:.2f}", row["bfloat16_format"], _cell(row["bounded"])),
            *(f"{gain:.2f}" for link in LINKS for gain in row["gain"][link].values()),
        ]
        for row in networks
    ]
    by_kind = [
        [
            *(row["kind"], str(row["tensors"]), f"{row['density']:.2f}", _cell(row["zvc32"])),
            *(f"{row['bfloat16']:.2f}", *(_cell(row[codec]) for codec in _WITHIN)),
        ]
        for row in kinds
    ]
    sz, jpeg = (within(every, codec) or 1.0 for codec in ("sz", "jpeg"))
    parts: list[Part | str] = [
        Table(titles, rows, (2, 3, 4, 5, *range(7, len(titles)))),
        Paragraph(
            f"Ratios are those of one engine for all tensors of a network. Links: how many times as fast transfers of "
            f"bfloat16 are with an engine of {_UNITS} units, or with the codec in C on one core of the host, at the rates "
            "of zvc32 in `assumptions.toml`."
        ),
        Table(
            [
                "kind of tensor",
                "tensors",
                "density",
                "zvc32",
                "bfloat16, best",
                f"within 2^{BOUND}",
                "SZ",
                "JPEG-ACT",
            ],
            by_kind,
            range(1, 8),
        ),
        Paragraph(
            f"Within 2^{BOUND} of the peak, of float32: integers and codes of this hardware; SZ's way within the same "
            f"bound, {sz / jpeg:.1f} times JPEG-ACT's at the same mean square of the errors. COMET reports 13.5 times "
            "less memory with SZ, 1.8 times JPEG-ACT's."
        ),
    ]
    return Result({"networks": networks, "kinds": kinds}, parts)


def page(records: Sequence[Record]) -> str:
    """The tables, and where each network comes from, in Markdown."""
    sources = [
        [each.name, each.package, each.licence, each.given, f"{each.bytes / 1e6:.1f}"] for each in records
    ]
    written = Paragraph("Written by `cdma study collect --figures docs/figures`; do not edit.")
    titles = ("network", "package of PyPI", "licence", "input", "MB computed")
    parts: list[Part] = [
        written,
        *summary(records).pages(),
        *worth_parts(records),
        Table(titles, sources, (4,)),
    ]
    return f"# Tensors of trained networks\n\n{as_markdown(parts)}"


def picture(records: Sequence[Record]) -> str:
    """The ratios of each network, as SVG."""
    rows = [_network(record) for record in records]
    bars = {
        "zvc32, float32": [row["zvc32"] or 1.0 for row in rows],
        "best, bfloat16": [row["bfloat16"] for row in rows],
        f"within 2^{BOUND}": [row["bounded"] or 0.0 for row in rows],
    }
    title = "Ratios of trained networks' tensors"
    return bar_chart(title, [row["network"] for row in rows], bars, y_label="raw / compressed", level=1.0)


def _network(record: Record) -> dict[str, Any]:
    assumed = load_assumptions()
    rounded = tuple(each.profile(rounded=True) for each in record.tensors)
    core = 1e9 * min(assumed.cpu.compress_GBps, assumed.cpu.decompress_GBps)
    gain = {}
    for link, peak in LINKS.items():
        rate = peak * assumed.link.efficiency
        ways = {"engine": Settings(rate, units=_UNITS), "core": Settings(rate, unit_rate=core)}
        gain[link] = {by: Report(rounded, settings).speedup for by, settings in ways.items()}
    halves = Report(rounded, Settings())
    return {
        "network": record.name,
        "what": record.what,
        "package": record.package,
        "licence": record.licence,
        "tensors": len(record.tensors),
        "computed": record.computed,
        "bytes": record.bytes,
        "density": record.density,
        "zvc32": zero_value_ratio(record.tensors),
        "bfloat16": halves.ratio,
        "bfloat16_format": str(halves.engine),
        "bounded": within(record.tensors, "cdma"),
        "gain": gain,
    }


def _kind(kind: str, tensors: Sequence[Tensor]) -> dict[str, Any]:
    sizes = [float(np.prod(tensor.shape)) for tensor in tensors]
    rounded = [tensor.profile(rounded=True) for tensor in tensors]
    return {
        "kind": kind,
        "tensors": len(tensors),
        "density": float(np.average([tensor.density for tensor in tensors], weights=sizes)),
        "zvc32": zero_value_ratio(tensors),
        "bfloat16": sum(each.raw for each in rounded) / sum(each.best.compressed for each in rounded),
        **{codec: within(tensors, codec) for codec in _WITHIN},
    }


def zero_value_ratio(tensors: Sequence[Tensor]) -> float | None:
    """The ratio of zero-value compression of those in 32 bits."""
    profiles = [tensor.profile() for tensor in tensors if tensor.number_type == "float32"]
    if not profiles:
        return None
    return sum(each.raw for each in profiles) / sum(each.zvc.compressed for each in profiles)


def within(tensors: Sequence[Tensor], codec: str) -> float | None:
    """The ratio of one of the codecs within the bound, of those that were tried."""
    place = _WITHIN.index(codec)
    tried = [(4 * float(np.prod(each.shape)), each.bounded[place]) for each in tensors if each.bounded]
    return sum(raw for raw, _ in tried) / sum(raw / ratio for raw, ratio in tried) if tried else None


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


#: The machine, and its links by what the table calls them.
MACHINE = "h100"
STEP_LINKS = {"PCIe 5": "pcie5", "10 GbE": "10gbe"}
_PLAIN = (("vdnn_all", "zv"), ("vdnn_conv", "zv"))
_OURS = tuple((policy, algorithm) for policy in ("cdma", "cdma_conv") for algorithm in ("zv", "fields"))


@dataclass(frozen=True)
class Worth:
    """A network at the least batch that does not fit the device.

    ``fits``: The greatest batch that does.
    ``compute_s``: A step if nothing ever waited.
    ``steps``: By link, how many times as long as that a step takes that offloads, as it is and with an engine.
    """

    network: str
    fits: int
    compute_s: float
    steps: dict[str, tuple[float, float]]


def worth(record: Record) -> Worth:
    """A network on the machine, with whichever of its policies and formats is fastest."""
    assumed, densities = load_assumptions(), load_densities()
    # What is recorded of these networks does not change over a training.
    assumed = replace(assumed, training=replace(assumed.training, moments=1))
    known = record.name in network_names()
    network = load_network(record.name) if known else recorded_network(record)
    model = Model(network, load_machine(MACHINE), assumed, with_run(densities), densities)

    def too_much(batch: int) -> bool:
        return fastest(model.with_batch(batch), [("none", "zv")]) is None

    batch = nearest_change(1, too_much, reach=1 << 30)
    assert batch is not None, "a device has less than so much memory"
    model = model.with_batch(batch)
    steps = {}
    for link, name in STEP_LINKS.items():
        here = model.on(model.machine.with_link(load_link(name)))
        plain, ours = (min(here.evaluate(*pair).step_s for pair in pairs) for pairs in (_PLAIN, _OURS))
        steps[link] = plain / model.compute_seconds, ours / model.compute_seconds
    return Worth(record.name, batch - 1, model.compute_seconds, steps)


def worth_parts(records: Sequence[Record]) -> list[Part]:
    """A table with a row for each network whose operations are known."""
    titles = ["network", "batch that fits", "ms a step beyond"]
    for link in STEP_LINKS:
        titles += [f"{link}: as it is", "compressed", "gain"]
    rows = []
    for record in records:
        if record.operations or record.name in network_names():
            found = worth(record)
            row = [found.network, f"{found.fits:,}", f"{1e3 * found.compute_s:.0f}"]
            for plain, ours in found.steps.values():
                row += [f"{plain:.3g}", f"{ours:.3g}", f"{plain / ours:.2f}"]
            rows.append(row)
    return [
        Paragraph(
            f"Is it worth it? A step of training on an {MACHINE.upper()}, modelled, numbers of bf16, inputs as recorded "
            "(smollm2: 2048 tokens): the greatest batch that fits, where nothing need be offloaded; one more, and with each "
            "link how many times as long as its computation a step then takes, with maps offloaded as they are and "
            "compressed by the engine. A batch in parts that fit takes the time of its computation alone."
        ),
        Table(titles, rows, range(1, len(titles))),
    ]
