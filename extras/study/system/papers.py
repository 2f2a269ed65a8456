"""A page for each paper: its figures beside ours. The title of a column says whether its cells are quoted from the paper,
modelled, or measured: on small networks that are trained here, or on trained networks that people run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from cdma.base.document import Paragraph, Part, Table, as_markdown
from cdma.base.toml_table import read_toml
from cdma.study.compare.comparison import summarise
from cdma.study.real.record import Record, Tensor
from cdma.study.real.summary import within, zero_value_ratio
from cdma.study.recorded import DATA
from cdma.study.training.observations import findings, load_ratios, over_training

from .density_table import DensityTable, bundled_densities, load_densities, relu_layers
from .figures import pictures_of
from .headlines import CSWAP_MACHINES, PAPER_NETWORKS, Band
from .study import Comparison, Study

#: The codecs whose ratios depend on the layout, as records have them.
_BY_LAYOUT = ("rl", "zl")
#: The density below which, on average, what is after a ReLU has zeros, and how many such tensors make a network of ReLUs.
_SPARSE, _SOME = 0.9, 6
#: What ours is in the rows of a paper, if it is not the model's.
_MEASURED = ("comet",)
_NONE = "-"


def pages(
    result: Study,
    comparisons: Sequence[Comparison],
    bands: Mapping[str, Band],
    records: Sequence[Record],
    trained: DensityTable,
) -> dict[str, str]:
    """The pages by file name; ``trained`` are the small networks' records."""
    parts = {
        "cdma": _cdma(result, bands, records, trained),
        "vdnn": _vdnn(result),
        "cswap": _cswap(result),
        "comet": _comet(records),
    }
    titles = {"cdma": "cDMA", "vdnn": "vDNN", "cswap": "CSWAP", "comet": "COMET"}
    files = {}
    for paper, rest in parts.items():
        mine = [one for one in comparisons if one.paper == paper]
        text = as_markdown([_WRITTEN, _figures(paper, mine, bands), *rest])
        shown = "".join(f"\n{line}\n" for line in pictures_of(paper))
        files[f"paper_{paper}.md"] = f"# {titles[paper]}'s figures and ours\n\n{text}{shown}"
    return files


_WRITTEN = Paragraph(
    "Written by `cdma study model figures docs/figures`; do not edit. *Quoted* is from the paper and in no calculation; "
    "[the model](../study/model.md) and [the networks that people run](real.md) say how ours come about. *Band*: one "
    "assumption at a time at the ends of its range; *all at once*: four of five values, with every assumption anywhere in "
    "its range."
)


def _figures(paper: str, rows: Sequence[Comparison], bands: Mapping[str, Band]) -> Table:
    between: tuple[str, ...] = ("band", "all at once", "what moves it most", "with the slides' densities")
    if not any(one.quantity in bands for one in rows):
        between = ()
    how = "measured" if paper in _MEASURED else "modelled"
    cells = []
    for one in rows:
        quoted = f"{one.what} ({one.source})", f"{one.theirs:g}", f"{one.ours:.3g}"
        cells.append([*quoted, *_band(bands.get(one.quantity))[: len(between)], one.reason])
    titles = ["figure", "theirs, quoted", f"ours, {how}", *between, "why they differ"]
    return Table(titles, cells, (1, 2, 3, 4, 6) if between else (1, 2))


def _band(band: Band | None) -> list[str]:
    if band is None:
        return [_NONE] * 4
    others = [span for span in band.spans if span.activations]
    ends = [span.most if span.least == band.value else span.least for span in others[:1]]
    slides = [f"{end:.3g}" for end in ends] or [_NONE]
    if not band.assumed:
        return [_NONE, _NONE, "no assumption: recorded activations", *slides]
    moved = ", ".join(f"{span.name} ({_range(span.least, span.most)})" for span in band.assumed[:2])
    return [_range(band.least, band.most), _range(*band.joint), moved, *slides]


def _range(least: float, most: float) -> str:
    return f"{least:.3g} … {most:.3g}"


def relus_of(record: Record) -> list[Tensor]:
    """What is after a ReLU, in the order of computation, of a network of ReLUs; nothing of another one."""
    found = [tensor for tensor in record.tensors if tensor.kind == "after a ReLU"]
    if len(found) < _SOME or np.mean([tensor.density for tensor in found]) > _SPARSE:
        return []
    return found


def _cdma(
    result: Study, bands: Mapping[str, Band], records: Sequence[Record], trained: DensityTable
) -> list[Part]:
    return [
        Paragraph("Network by network: modelled, ZV, Titan Xp, PCIe 3. An infinite link bounds the speedup."),
        _networks(result, bands),
        Paragraph(
            "Ratios of zero-value compression and densities: small networks of the model, over their training, and what "
            "is after a ReLU in networks in use ([real.md](real.md))."
        ),
        _densities(records, trained),
        Paragraph("The four observations, and how many networks they hold for:"),
        _observations(records, trained),
        Paragraph("Run lengths (rl) and zlib (zl) by layout, float32, after training:"),
        _layouts(records),
    ]


def _networks(result: Study, bands: Mapping[str, Band]) -> Table:
    rows = []
    for name, by_policy in result.speedup.items():
        mine, band = by_policy["cdma", "zv"], bands[f"speedup/{name}"]
        rows.append(
            [
                *(name, "yes" if name in PAPER_NETWORKS else "no", f"{mine.ratio:.2f}"),
                *(f"{result.ratio_maximum[name]['zv']:.2f}", f"{mine.traffic_bytes / 1e9:.2f}"),
                *(f"{mine.speedup_over_vdnn:.2f}", *_band(band)[:2]),
                f"{by_policy['oracle', 'none'].speedup_over_vdnn:.2f}",
            ]
        )
    titles = ["network", "in the paper", "ratio, average", "greatest", "GB per step", "speedup"]
    return Table([*titles, "band", "all at once", "infinite link"], rows, range(2, 9))


def _densities(records: Sequence[Record], trained: DensityTable) -> Table:
    (slides,) = load_densities(bundled_densities()["slides"]).networks.values()
    first, later, *_ = _density_cells([float(layer.density[-1]) for layer in slides], 1.0, 1.0)
    rows = [["AlexNet, the slides", "quoted", first, later, _NONE, _NONE]]
    for name, by_codec in over_training(trained).items():
        layers = [layer.density.mean() for layer in trained.networks[name] if layer.kind != "pool"]
        ratios = by_codec["zv"].average, by_codec["zv"].maximum
        rows.append(
            [name, "measured in training here", *_density_cells([float(each) for each in layers], *ratios)]
        )
    for record in records:
        if relus := relus_of(record):
            best = max(each.raw / each.zvc.compressed for each in (tensor.profile() for tensor in relus))
            cells = _density_cells([tensor.density for tensor in relus], zero_value_ratio(relus) or 1.0, best)
            rows.append([record.name, "measured, in use", *cells])
    return Table(["network", "", "first ReLU", "later ones", "ratio", "greatest"], rows, range(2, 6))


def _density_cells(densities: Sequence[float], average: float, greatest: float) -> list[str]:
    first, *later = densities
    return [f"{first:.2f}", f"{min(later):.2f} to {max(later):.2f}", f"{average:.2f}", f"{greatest:.2f}"]


def _observations(records: Sequence[Record], trained: DensityTable) -> Table:
    networks = {record.name: relu_layers(relus) for record in records if (relus := relus_of(record))}
    here, run = (_held(table) for table in (trained, DensityTable("networks in use", networks)))
    run |= {claim: _pooled(records) for claim in here if claim.startswith("2")}
    run |= {claim: "no training" for claim in here if claim.startswith("3")}
    rows = [[claim, held, run[claim]] for claim, held in here.items()]
    return Table(["observation, as a criterion", "trained here, measured", "in use, measured"], rows, (1,))


def _pooled(records: Sequence[Record]) -> str:
    """In how many networks of ReLUs every maximum pooling raises density."""
    gains = []
    for record in records:
        pools = [each for each in record.operations if "maxpool" in each.operation.replace("_", "")]
        pairs = [(each, record.operations[each.reads[0]]) for each in pools if each.reads[0] >= 0]
        rises = [pool.density - read.density for pool, read in pairs if read.density < 1]
        if rises and relus_of(record):
            gains.append(rises)
    always = sum(min(each) > 0 for each in gains)
    every = [gain for each in gains for gain in each]
    return f"{always} of {len(gains)} that pool zeros; in {sum(gain > 0 for gain in every)} of {len(every)} poolings"


def _held(table: DensityTable) -> dict[str, str]:
    """How many networks each observation holds for."""
    rows = {}
    for number, group in groupby(findings(table), lambda finding: finding.observation):
        found = list(group)
        rows[f"{number}. {found[0].claim}"] = f"{sum(each.holds for each in found)} of {len(found)}"
    return rows


def _layouts(records: Sequence[Record]) -> Table:
    tensors = [tensor for record in records for tensor in relus_of(record) if tensor.layouts]
    sizes = [float(np.prod(tensor.shape)) for tensor in tensors]
    rows = []
    for summary in summarise(load_ratios()):
        if summary.number_type == "float32":
            ratios = [tensor.layouts[summary.layout] for tensor in tensors]
            run = [
                sum(sizes) / sum(size / each[at] for size, each in zip(sizes, ratios, strict=True))
                for at in (0, 1)
            ]
            here = [f"{summary.average[codec]:.2f}" for codec in _BY_LAYOUT]
            rows.append([summary.layout, *here, *(f"{ratio:.2f}" for ratio in run)])
    titles = [f"{codec}, {where}" for where in ("trained here", "in use") for codec in _BY_LAYOUT]
    return Table(["layout, measured", *titles], rows, range(1, 5))


def _vdnn(result: Study) -> list[Part]:
    rows = [
        [
            *(row.network, str(row.batch), f"{row.needed / 1e9:.1f}", f"{row.average / 1e9:.1f}"),
            *(f"{row.offloaded_average / 1e9:.1f}", f"{row.offloaded_peak / 1e9:.1f}", f"{row.slower:.0%}"),
        ]
        for row in result.vdnn
    ]
    titles = ["network", "batch", "GB needed", "on average", "offloaded, on average", "at most", "slower"]
    return [
        Paragraph(
            "Modelled, Titan X (Maxwell), PCIe 3: device memory without offload, and with every map offloaded "
            "(`vdnn_all`); averages without parameters, their gradients and momentum, and workspace; *slower* than a device "
            "with enough memory."
        ),
        Table(titles, rows, range(1, 7)),
    ]


def _cswap(result: Study) -> list[Part]:
    others = {"vdnn_all": "vDNN", "vdnn++": "vDNN++", "static": "all compressed"}
    rows, theirs = [], read_toml(DATA / "paper.toml").table("cswap_relus")
    for name, choices in result.choices.items():
        last, (relus, layers) = choices[-1], theirs.numbers(name)
        gains = [
            f"{by_policy[other].step_s / by_policy['cswap'].step_s:.2f}"
            for by_policy in result.cswap[name].values()
            for other in others
        ]
        counts = f"{relus:g} of {layers:g}", str(result.relus[name]), str(last.maps), str(last.compressed)
        rows.append([name, *counts, *gains, _named(last.left_alone)])
    over = [f"over {other}, {machine}" for machine in CSWAP_MACHINES for other in others.values()]
    titles = ["network", "layers with a ReLU, quoted", "ours", "maps", "compressed", *over, "left alone"]
    return [
        Paragraph(
            "Network by network, modelled: maps that CSWAP compresses at the beginning of the last epoch on a V100, and how "
            "many times as fast a step is as with other policies."
        ),
        Table(titles, rows, range(1, 11)),
    ]


def _named(names: Sequence[str]) -> str:
    """A few names, and the number of the others."""
    if not names:
        return "none"
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def comet_figures(records: Sequence[Record]) -> dict[str, float]:
    """Ours of COMET's figures: the greatest of a network."""
    found = [(within(record.tensors, "sz"), within(record.tensors, "jpeg")) for record in records]
    return {
        "comet_memory": max(sz for sz, _ in found if sz),
        "comet_over_jpeg": max(sz / jpeg for sz, jpeg in found if sz and jpeg),
    }


def _comet(records: Sequence[Record]) -> list[Part]:
    rows = []
    for record in records:
        ours, sz, jpeg = (within(record.tensors, codec) for codec in ("cdma", "sz", "jpeg"))
        if sz and jpeg and ours:
            rows.append([record.name, *(f"{each:.2f}" for each in (ours, sz, jpeg, sz / jpeg))])
    return [
        Paragraph(
            "Network by network, measured on float32 within 2^-5 of each tensor's peak: this hardware's integers and codes, "
            "SZ's way (which COMET rests on), JPEG-ACT's at the same mean square of the errors. What a training bears, by "
            "COMET's rule, is in [the results](../options.md#training-with-errors)."
        ),
        Table(["network", "this hardware", "SZ", "JPEG-ACT", "SZ / JPEG-ACT"], rows, range(1, 5)),
    ]
