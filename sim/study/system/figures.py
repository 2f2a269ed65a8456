"""The figures and the table of a :class:`.Study`, as files for the documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cdma.sim.study.svg import Line, bar_chart, line_chart

from .headlines import PAPER_NETWORKS, Band, Span, gain
from .study import Comparison, Study

__all__ = ["model_files"]

#: Files and the titles of their figures.
_TITLES = {
    "model-headlines.svg": "Our numbers relative to the papers', with the bands of the assumptions",
    "model-ratio-average.svg": "Compression ratio of what is offloaded, average over the training (line: the paper's 2.6)",
    "model-ratio-maximum.svg": "Compression ratio of the map and moment that compress best (line: the paper's, 13.8)",
    "model-traffic.svg": "Bytes migrated, relative to vDNN",
    "model-speedup.svg": "Speedup of cDMA over vDNN on a Titan Xp (line: the paper's average, 1.53)",
    "model-dram.svg": "cDMA over vDNN on a Titan X (Maxwell) by memory read bandwidth set aside",
    "model-links.svg": "cDMA (ZV) over vDNN on a Titan Xp by link",
    "model-cswap-gain.svg": "CSWAP over compressing everything with the same kernels (line: the paper's 5.5 %)",
    "model-cswap-choices.svg": "Maps that CSWAP compresses, over the training (V100)",
    "model-cswap-policies.svg": "Step on a V100 relative to vDNN's (line: CSWAP's average in the paper, 0.80)",
    "model-cswap-tensors.svg": "VGG-19 on a V100: exposed time of each map, plain and compressed by kernels",
    "model-memory.svg": "VGG-16 on a Titan Xp: device memory in use over one step",
}

_POLICY_TITLES = {"vdnn_all": "vDNN", "vdnn++": "vDNN++", "static": "static", "cswap": "CSWAP"}
_CODEC_TITLES = {"rl": "RL", "zv": "ZV", "zl": "ZL"}

#: The place of each algorithm's colour, the same in all figures. cDMA is that with ZV.
_PLACES = {
    "ZV": 0,
    "cDMA": 0,
    "RL": 1,
    "ZL": 2,
    "infinite link": 3,
    "ZL at 2.5 GB/s": 4,
    "CSWAP": 5,
    "compressed": 5,
    "vDNN": 6,
    "plain": 6,
    "vDNN++": 7,
    "static": 8,
    "no offload": 9,
}


def model_files(
    result: Study, comparisons: Sequence[Comparison], bands: Mapping[str, Band]
) -> dict[str, str]:
    """Returns texts by file name: SVG figures, and the table of our figures beside the papers'."""
    files = {
        "model-headlines.svg": _headlines(comparisons, bands),
        "model-headlines.json": _headlines_json(comparisons, bands),
        **_ratios(result),
        **_traffic_and_speed(result, bands),
        **_bandwidths(result),
        **_cswap(result, bands),
        "model-memory.svg": line_chart(
            _TITLES["model-memory.svg"],
            [
                Line(title, *_stairs(result.memory[policy]))
                for policy, title in (("none", "no offload"), ("vdnn_all", "vDNN"), ("cdma", "cDMA"))
            ],
            x_label="seconds",
            y_label="GiB",
            places=_PLACES,
        ),
    }
    pictures = [f"![{title}]({name})" for name, title in _TITLES.items()]
    return {
        **files,
        "model.md": "\n\n".join([_page(result, comparisons, bands).rstrip(), "## Figures", *pictures]) + "\n",
    }


def _ratios(result: Study) -> dict[str, str]:
    return {
        f"model-ratio-{name}.svg": bar_chart(
            _TITLES[f"model-ratio-{name}.svg"],
            list(values),
            {
                title: [by_codec[codec] for by_codec in values.values()]
                for codec, title in _CODEC_TITLES.items()
            },
            y_label="ratio",
            level=level,
            places=_PLACES,
        )
        for name, values, level in (
            ("average", result.ratio_average, 2.6),
            ("maximum", result.ratio_maximum, 13.8),
        )
    }


def _traffic_and_speed(result: Study, bands: Mapping[str, Band]) -> dict[str, str]:
    rows = result.speedup
    traffic = {
        title: [
            by["cdma", codec].traffic_bytes / by["vdnn_all", "none"].traffic_bytes for by in rows.values()
        ]
        for codec, title in _CODEC_TITLES.items()
    }
    bars = [("cdma", codec, title) for codec, title in _CODEC_TITLES.items()]
    bars += [("cdma", "zl_hw", "ZL at 2.5 GB/s"), ("oracle", "none", "infinite link")]
    return {
        "model-traffic.svg": bar_chart(
            _TITLES["model-traffic.svg"], list(rows), traffic, y_label="part of vDNN's", places=_PLACES
        ),
        "model-speedup.svg": bar_chart(
            _TITLES["model-speedup.svg"],
            list(rows),
            {
                title: [by[policy, codec].speedup_over_vdnn for by in rows.values()]
                for policy, codec, title in bars
            },
            y_label="times as fast as vDNN",
            spans={_CODEC_TITLES["zv"]: [_ends(bands[f"speedup/{name}"]) for name in rows]},
            level=1.53,
            places=_PLACES,
            width=820,
        ),
    }


def _bandwidths(result: Study) -> dict[str, str]:
    links = list(next(iter(result.links.values())))
    return {
        "model-dram.svg": bar_chart(
            _TITLES["model-dram.svg"],
            list(result.provision),
            {
                f"{rate:g} GB/s": [dict(points)[rate] for points in result.provision.values()]
                for rate, _ in next(iter(result.provision.values()))
            },
            y_label="times as fast as vDNN",
        ),
        "model-links.svg": bar_chart(
            _TITLES["model-links.svg"],
            list(result.links),
            {link: [by[link][0] for by in result.links.values()] for link in links},
            y_label="times as fast as vDNN",
        ),
    }


def _cswap(result: Study, bands: Mapping[str, Band]) -> dict[str, str]:
    machines = list(next(iter(result.cswap.values())))
    return {
        "model-cswap-gain.svg": bar_chart(
            _TITLES["model-cswap-gain.svg"],
            list(result.cswap),
            {
                machine: [gain(by[machine]["static"], by[machine]["cswap"]) for by in result.cswap.values()]
                for machine in machines
            },
            y_label="per cent faster",
            spans={
                machine: [_ends(bands[f"gain/{machine}/{name}"]) for name in result.cswap]
                for machine in machines
            },
            level=5.5,
        ),
        "model-cswap-choices.svg": bar_chart(
            _TITLES["model-cswap-choices.svg"],
            list(result.choices),
            {
                name: [100 * choices[at].compressed / choices[at].maps for choices in result.choices.values()]
                for name, at in (("first epoch", 0), ("in the middle", _middle(result)), ("last epoch", -1))
            },
            y_label="per cent of the maps",
        ),
        "model-cswap-policies.svg": bar_chart(
            _TITLES["model-cswap-policies.svg"],
            list(result.cswap),
            {
                title: [
                    by[machines[0]][policy].step_s / by[machines[0]]["vdnn_all"].step_s
                    for by in result.cswap.values()
                ]
                for policy, title in _POLICY_TITLES.items()
            },
            y_label="length of a step, vDNN = 1",
            # vDNN's is 1 whatever is assumed.
            spans={
                title: [_ends(bands[f"step/{policy}/{name}"]) for name in result.cswap]
                for policy, title in _POLICY_TITLES.items()
                if policy != "vdnn_all"
            },
            level=0.8,
            places=_PLACES,
        ),
        "model-cswap-tensors.svg": bar_chart(
            _TITLES["model-cswap-tensors.svg"],
            [name for name, _, _ in result.exposed],
            {
                "plain": [1e3 * plain for _, plain, _ in result.exposed],
                "compressed": [1e3 * there for _, _, there in result.exposed],
            },
            y_label="ms, both directions",
            places=_PLACES,
            width=820,
        ),
    }


def _middle(result: Study) -> int:
    return len(next(iter(result.choices.values()))) // 2


def _stairs(levels: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Returns points that draw each level until the next begins."""
    times, gib = [], []
    for index, (time, used) in enumerate(levels):
        if index:
            times.append(time)
            gib.append(levels[index - 1][1] / 2**30)
        times.append(time)
        gib.append(used / 2**30)
    return times, gib


def _page(result: Study, comparisons: Sequence[Comparison], bands: Mapping[str, Band]) -> str:
    lines = [
        "# The papers' figures and ours",
        "",
        'Written by `cdma model figures docs/figures`; do not edit. "Theirs" is quoted from the papers and',
        "is never a result of ours; `docs/study/model.md` explains how ours come about.",
        "",
        "The band is where ours may lie if one assumption at a time goes to the ends of its range in",
        "`sim/study/data/assumptions.toml`, which has the reason for each range. What the model leaves out is not in it.",
        "All at once: four of five values lie there with every assumption anywhere in its range, independently.",
        "Beside it stand what moves the number most, and its value with the densities on the slides of cDMA in the place of",
        "recorded ones. A number that no assumption moves rests on activations alone, recorded from small networks",
        "trained here.",
        "",
        "| figure | theirs | ours | band | all at once | what moves it most | with the slides' densities "
        "| why they differ |",
        "|---|---:|---:|---:|---:|---|---:|---|",
    ]
    lines += [
        f"| {one.what} ({one.source}) | {one.theirs:g} | {one.ours:.3g} | {_band(bands[one.quantity])} "
        f"| {_joint(bands[one.quantity])} | {_moved_by(bands[one.quantity])} | {_by_slides(bands[one.quantity])} "
        f"| {one.reason} |"
        for one in comparisons
    ]
    lines += [
        "",
        "## Network by network",
        "",
        "ZV, Titan Xp, PCIe 3. An infinite link bounds the speedup of any compression.",
        "",
        "| network | in the paper | ratio, average | greatest | GB per step | speedup | band | all at once "
        "| infinite link |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, rows in result.speedup.items():
        mine = rows["cdma", "zv"]
        lines.append(
            f"| {name} | {'yes' if name in PAPER_NETWORKS else 'no'} | {mine.ratio:.2f} "
            f"| {result.ratio_maximum[name]['zv']:.2f} | {mine.traffic_bytes / 1e9:.2f} "
            f"| {mine.speedup_over_vdnn:.2f} | {_band(bands[f'speedup/{name}'])} "
            f"| {_joint(bands[f'speedup/{name}'])} | {rows['oracle', 'none'].speedup_over_vdnn:.2f} |"
        )
    lines += [
        "",
        "## What CSWAP leaves alone",
        "",
        "On a V100, at the beginning of the last epoch.",
        "",
        "| network | maps | compressed | left alone |",
        "|---|---:|---:|---|",
    ]
    for name, choices in result.choices.items():
        last = choices[-1]
        lines.append(f"| {name} | {last.maps} | {last.compressed} | {_named(last.left_alone)} |")
    return "\n".join(lines) + "\n"


def _headlines(comparisons: Sequence[Comparison], bands: Mapping[str, Band]) -> str:
    return bar_chart(
        _TITLES["model-headlines.svg"],
        [one.quantity.replace("_", " ") for one in comparisons],
        {"ours / theirs": [one.ours / one.theirs for one in comparisons]},
        y_label="ours / theirs",
        spans={
            "ours / theirs": [
                (bands[one.quantity].least / one.theirs, bands[one.quantity].most / one.theirs)
                for one in comparisons
            ]
        },
        level=1.0,
        height=300,
        width=820,
    )


def _headlines_json(comparisons: Sequence[Comparison], bands: Mapping[str, Band]) -> str:
    rows = [
        {
            **asdict(one),
            "least": bands[one.quantity].least,
            "most": bands[one.quantity].most,
            "joint": bands[one.quantity].joint,
            "rests_on": "assumptions" if _assumed(bands[one.quantity]) else "recorded activations",
            "spans": [asdict(span) for span in bands[one.quantity].widest],
        }
        for one in comparisons
    ]
    return json.dumps(rows, indent=1) + "\n"


def _ends(band: Band) -> tuple[float, float]:
    return band.least, band.most


def _assumed(band: Band) -> list[Span]:
    return [span for span in band.widest if not span.activations]


def _band(band: Band) -> str:
    return f"{band.least:.3g} … {band.most:.3g}" if _assumed(band) else "none"


def _joint(band: Band) -> str:
    low, high = band.joint
    return f"{low:.3g} … {high:.3g}" if _assumed(band) else "none"


def _moved_by(band: Band) -> str:
    """Names the two assumptions that move a headline most."""
    named = [f"{span.name} ({span.least:.3g} … {span.most:.3g})" for span in _assumed(band)[:2]]
    return ", ".join(named) or "no assumption: recorded activations"


def _by_slides(band: Band) -> str:
    other = [span.most if span.least == band.value else span.least for span in band.spans if span.activations]
    return f"{other[0]:.3g}" if other else "none"


def _named(names: Sequence[str]) -> str:
    """Returns a few names, and the number of the others."""
    if not names:
        return "none"
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"
