"""The figures and the table of a :class:`.Study`, as files for the documents."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.sim.support.svg import Line, bar_chart, line_chart

from .study import PAPER_NETWORKS, Comparison, Study

__all__ = ["model_files"]

#: Files and the titles of their figures.
_TITLES = {
    "model-ratio-average.svg": "Compression ratio of what is offloaded, average over the training",
    "model-ratio-maximum.svg": "Compression ratio of the map and moment that compress best",
    "model-traffic.svg": "Bytes migrated, relative to vDNN",
    "model-speedup.svg": "Speedup of cDMA over vDNN on a Titan Xp",
    "model-dram.svg": "cDMA over vDNN on a Titan X (Maxwell) by memory read bandwidth set aside",
    "model-links.svg": "cDMA (ZV) over vDNN on a Titan Xp by link",
    "model-cswap-gain.svg": "CSWAP over compressing everything with the same kernels",
    "model-cswap-accuracy.svg": "CSWAP's decisions that true kernel times would have made, too",
    "model-cswap-choices.svg": "Maps that CSWAP compresses, over the training (V100)",
    "model-memory.svg": "VGG-16 on a Titan Xp: device memory in use over one step",
}

_CODEC_TITLES = {"rl": "RL", "zv": "ZV", "zl": "ZL"}


def model_files(result: Study, comparisons: Sequence[Comparison]) -> dict[str, str]:
    """Returns texts by file name: SVG figures, and ``model.md``, the table of our figures beside the papers'."""
    files = {
        **_ratios(result),
        **_traffic_and_speed(result),
        **_bandwidths(result),
        **_cswap(result),
        "model-memory.svg": line_chart(
            _TITLES["model-memory.svg"],
            [
                Line(title, *_stairs(result.memory[policy]))
                for policy, title in (("none", "no offload"), ("vdnn_all", "vDNN"), ("cdma", "cDMA"))
            ],
            x_label="seconds",
            y_label="GiB",
        ),
    }
    pictures = [f"![{title}]({name})" for name, title in _TITLES.items()]
    return {
        **files,
        "model.md": "\n\n".join([_page(result, comparisons).rstrip(), "## Figures", *pictures]) + "\n",
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
        )
        for name, values in (("average", result.ratio_average), ("maximum", result.ratio_maximum))
    }


def _traffic_and_speed(result: Study) -> dict[str, str]:
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
            _TITLES["model-traffic.svg"], list(rows), traffic, y_label="part of vDNN's"
        ),
        "model-speedup.svg": bar_chart(
            _TITLES["model-speedup.svg"],
            list(rows),
            {
                title: [by[policy, codec].speedup_over_vdnn for by in rows.values()]
                for policy, codec, title in bars
            },
            y_label="times as fast as vDNN",
            width=820,
        ),
    }


def _bandwidths(result: Study) -> dict[str, str]:
    links = list(next(iter(result.links.values())))
    return {
        "model-dram.svg": line_chart(
            _TITLES["model-dram.svg"],
            [
                Line(name, [rate for rate, _ in points], [speed for _, speed in points])
                for name, points in result.provision.items()
            ],
            x_label="GB/s set aside for reading",
            y_label="times as fast as vDNN",
        ),
        "model-links.svg": bar_chart(
            _TITLES["model-links.svg"],
            list(result.links),
            {link: [by[link][0] for by in result.links.values()] for link in links},
            y_label="times as fast as vDNN",
        ),
    }


def _cswap(result: Study) -> dict[str, str]:
    machines = list(next(iter(result.cswap.values())))
    return {
        "model-cswap-gain.svg": bar_chart(
            _TITLES["model-cswap-gain.svg"],
            list(result.cswap),
            {
                machine: [
                    100 * (by[machine]["static"].step_s / by[machine]["cswap"].step_s - 1)
                    for by in result.cswap.values()
                ]
                for machine in machines
            },
            y_label="per cent faster",
        ),
        "model-cswap-accuracy.svg": bar_chart(
            _TITLES["model-cswap-accuracy.svg"],
            list(result.choices),
            {"accuracy": [100 * accuracy for accuracy in _accuracy(result).values()]},
            y_label="per cent",
        ),
        "model-cswap-choices.svg": line_chart(
            _TITLES["model-cswap-choices.svg"],
            [
                Line(
                    name,
                    [float(choice.epoch) for choice in choices],
                    [choice.compressed / choice.maps for choice in choices],
                )
                for name, choices in result.choices.items()
            ],
            x_label="epoch",
            y_label="part of the maps",
            y_most=1.0,
        ),
    }


def _accuracy(result: Study) -> dict[str, float]:
    return {
        name: sum(choice.right for choice in choices) / sum(choice.maps for choice in choices)
        for name, choices in result.choices.items()
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


def _page(result: Study, comparisons: Sequence[Comparison]) -> str:
    lines = [
        "# The papers' figures and ours",
        "",
        'Written by `cdma model --figures docs/figures`; do not edit. "Theirs" is quoted from the papers and',
        "is never a result of ours; `docs/model.md` explains how ours come about.",
        "",
        "| figure | theirs | ours | why they differ |",
        "|---|---:|---:|---|",
    ]
    lines += [
        f"| {one.what} ({one.source}) | {one.theirs:g} | {one.ours:.3g} | {one.reason} |"
        for one in comparisons
    ]
    lines += [
        "",
        "## Network by network",
        "",
        "ZV, Titan Xp, PCIe 3. An infinite link bounds the speedup of any compression.",
        "",
        "| network | in the paper | ratio, average | greatest | GB per step | speedup | infinite link |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, rows in result.speedup.items():
        mine = rows["cdma", "zv"]
        lines.append(
            f"| {name} | {'yes' if name in PAPER_NETWORKS else 'no'} | {mine.ratio:.2f} "
            f"| {result.ratio_maximum[name]['zv']:.2f} | {mine.traffic_bytes / 1e9:.2f} "
            f"| {mine.speedup_over_vdnn:.2f} | {rows['oracle', 'none'].speedup_over_vdnn:.2f} |"
        )
    lines += [
        "",
        "## What CSWAP leaves alone",
        "",
        "On a V100, at the beginning of the last epoch; accuracy over all epochs.",
        "",
        "| network | decisions right | maps | compressed | left alone |",
        "|---|---:|---:|---:|---|",
    ]
    accuracy = _accuracy(result)
    for name, choices in result.choices.items():
        last = choices[-1]
        lines.append(
            f"| {name} | {100 * accuracy[name]:.1f} % | {last.maps} | {last.compressed} "
            f"| {_named(last.left_alone)} |"
        )
    return "\n".join(lines) + "\n"


def _named(names: Sequence[str]) -> str:
    """Returns a few names, and the number of the others."""
    if not names:
        return "none"
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"
