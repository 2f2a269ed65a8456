"""The figures and the table of a :class:`.Study`, as files for the documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cdma.study.svg import Line, bar_chart, line_chart

from .headlines import Band, gain
from .study import Comparison, Study

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

#: The paper whose page shows a picture.
_PAPERS = {name: "vdnn" if "memory" in name else "cswap" if "cswap" in name else "cdma" for name in _TITLES}
_TIMES = "times as fast as vDNN"

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
    """SVG figures by file name, and the headlines with their bands as JSON."""
    banded = [one for one in comparisons if one.quantity in bands]
    return {
        "model-headlines.json": _headlines_json(banded, bands),
        **_headlines(banded, bands),
        **_ratios(result),
        **_traffic_and_speed(result, bands),
        **_bandwidths(result),
        **_cswap(result, bands),
        **_memory(result),
    }


def pictures_of(paper: str) -> list[str]:
    """The pictures that stand on a paper's page, in Markdown."""
    return [f"![{title}]({name})" for name, title in _TITLES.items() if _PAPERS[name] == paper]


def _bars(
    name: str, groups: Iterable[str], bars: Mapping[str, Sequence[float]], y_label: str, **more: Any
) -> dict[str, str]:
    """Returns the bar chart ``model-NAME.svg``."""
    file = f"model-{name}.svg"
    return {file: bar_chart(_TITLES[file], list(groups), bars, y_label=y_label, places=_PLACES, **more)}


def _memory(result: Study) -> dict[str, str]:
    lines = [
        Line(title, *_stairs(result.memory[policy]))
        for policy, title in (("none", "no offload"), ("vdnn_all", "vDNN"), ("cdma", "cDMA"))
    ]
    file = "model-memory.svg"
    return {file: line_chart(_TITLES[file], lines, x_label="seconds", y_label="GiB", places=_PLACES)}


def _ratios(result: Study) -> dict[str, str]:
    files: dict[str, str] = {}
    for name, values, level in (
        ("average", result.ratio_average, 2.6),
        ("maximum", result.ratio_maximum, 13.8),
    ):
        bars = {title: [by[codec] for by in values.values()] for codec, title in _CODEC_TITLES.items()}
        files |= _bars(f"ratio-{name}", values, bars, "ratio", level=level)
    return files


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
    speedup = {
        title: [by[policy, codec].speedup_over_vdnn for by in rows.values()] for policy, codec, title in bars
    }
    spans = {_CODEC_TITLES["zv"]: [_ends(bands[f"speedup/{name}"]) for name in rows]}
    return {
        **_bars("traffic", rows, traffic, "part of vDNN's"),
        **_bars("speedup", rows, speedup, _TIMES, spans=spans, level=1.53, width=820),
    }


def _bandwidths(result: Study) -> dict[str, str]:
    rates = [rate for rate, _ in next(iter(result.provision.values()))]
    dram = {f"{rate:g} GB/s": [dict(points)[rate] for points in result.provision.values()] for rate in rates}
    links = {
        link: [by[link][0] for by in result.links.values()] for link in next(iter(result.links.values()))
    }
    return {
        **_bars("dram", result.provision, dram, _TIMES),
        **_bars("links", result.links, links, _TIMES),
    }


def _cswap(result: Study, bands: Mapping[str, Band]) -> dict[str, str]:
    rows = result.cswap
    machines = list(next(iter(rows.values())))
    gains = {
        machine: [gain(by[machine]["static"], by[machine]["cswap"]) for by in rows.values()]
        for machine in machines
    }
    gain_spans = {machine: [_ends(bands[f"gain/{machine}/{name}"]) for name in rows] for machine in machines}
    middle = len(next(iter(result.choices.values()))) // 2
    chosen = {
        name: [100 * choices[at].compressed / choices[at].maps for choices in result.choices.values()]
        for name, at in (("first epoch", 0), ("in the middle", middle), ("last epoch", -1))
    }
    steps = {
        title: [by[machines[0]][policy].step_s / by[machines[0]]["vdnn_all"].step_s for by in rows.values()]
        for policy, title in _POLICY_TITLES.items()
    }
    # vDNN's is 1 whatever is assumed.
    step_spans = {
        title: [_ends(bands[f"step/{policy}/{name}"]) for name in rows]
        for policy, title in _POLICY_TITLES.items()
        if policy != "vdnn_all"
    }
    exposed = {
        "plain": [1e3 * plain for _, plain, _ in result.exposed],
        "compressed": [1e3 * there for _, _, there in result.exposed],
    }
    maps = [name for name, _, _ in result.exposed]
    return {
        **_bars("cswap-gain", rows, gains, "per cent faster", spans=gain_spans, level=5.5),
        **_bars("cswap-choices", result.choices, chosen, "per cent of the maps"),
        **_bars("cswap-policies", rows, steps, "length of a step, vDNN = 1", spans=step_spans, level=0.8),
        **_bars("cswap-tensors", maps, exposed, "ms, both directions", width=820),
    }


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


def _headlines(comparisons: Sequence[Comparison], bands: Mapping[str, Band]) -> dict[str, str]:
    what, quantities = "ours / theirs", [one.quantity.replace("_", " ") for one in comparisons]
    ends = [
        (bands[one.quantity].least / one.theirs, bands[one.quantity].most / one.theirs) for one in comparisons
    ]
    bars = {what: [one.ours / one.theirs for one in comparisons]}
    return _bars("headlines", quantities, bars, what, spans={what: ends}, level=1.0, height=300, width=820)


def _headlines_json(comparisons: Sequence[Comparison], bands: Mapping[str, Band]) -> str:
    rows = [
        {
            **asdict(one),
            "least": bands[one.quantity].least,
            "most": bands[one.quantity].most,
            "joint": bands[one.quantity].joint,
            "rests_on": "assumptions" if bands[one.quantity].assumed else "recorded activations",
            "spans": [asdict(span) for span in bands[one.quantity].widest],
        }
        for one in comparisons
    ]
    return json.dumps(rows, indent=1) + "\n"


def _ends(band: Band) -> tuple[float, float]:
    return band.least, band.most
