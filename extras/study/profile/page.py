"""A report as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from html import escape

from cdma.study.svg import Line, bar_chart, line_chart

from .link import Transfer
from .report import Report, worth

#: The most tensors in a bar chart; the table has all.
_SHOWN = 24

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
/* The table of all tensors takes the width of the window: names and formats are long. */
.wide { position: relative; left: 50%; width: max-content; max-width: calc(100vw - 2rem); transform: translateX(-50%); }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 12rem; max-width: 30rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.answer { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
.answer li { list-style: none; border: 1px solid #ccc; border-radius: 6px; padding: .5rem 1rem; }
.answer b { display: block; font-size: 1.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; }
.no { color: #a33; } .yes { color: #175; }
svg { max-width: 100%; height: auto; }
"""


def page(report: Report, title: str) -> str:
    """Returns the page; ``title`` says what was profiled."""
    settings, engine = report.settings, report.engine
    answers = [
        (f"{report.ratio:.2f}", "compression ratio of one engine, all tensors"),
        (
            f"{report.speedup:.2f} x",
            f"speedup of all transfers, with {settings.units} unit(s)",
        ),
        (str(report.units_enough), "units that this link needs"),
        (str(engine), "format of that engine, with a table for each tensor"),
    ]
    rows = "\n".join(_row(transfer) for transfer in report.transfers)
    heads = (
        "tensor",
        "shape",
        "type",
        "MB",
        "density",
        "ratio",
        "alone",
        "suits",
        "link, ms",
        "compressed, ms",
        "worth it",
        "CSWAP says",
        "units",
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: cdma study profile</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>What compressing the transfers of {escape(title)} buys</h1>
<ul class="answer">
{"".join(f"<li><b>{escape(value)}</b>{escape(text)}</li>" for value, text in answers)}
</ul>
<p>{escape(_settings(report))}</p>
<h2>The largest tensors</h2>
{_ratios(report)}
{_seconds(report)}
<h2>Units at the memory port</h2>
<p>A unit compresses or decompresses {settings.unit_rate / 1e9:g} GB/s of raw data. With too few units, they and not
the link limit the transfers of sparse tensors; {report.units_at_peak} are needed so that no tensor is limited.</p>
{_units(report)}
<h2>Every tensor</h2>
<div class="wide">
<table>
<tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>
{rows}
</table>
</div>
</body>
</html>
"""


def _settings(report: Report) -> str:
    out, back = report.settings.rates
    return (
        f"{len(report.tensors)} tensors of {report.raw / 1e6:,.3f} MB in all, over a link of "
        f"{out / 1e9:g} GB/s to the host and {back / 1e9:g} GB/s back. Worth it: the device waits less when "
        "compression overlaps with the transfer; ?: what computation hides is not given. CSWAP says: its inequality, "
        "compression before the transfer. Alone: the ratio in the format that suits a tensor, not in that of the engine."
    )


def _largest(report: Report) -> list[Transfer]:
    return sorted(report.transfers, key=lambda transfer: -transfer.tensor.raw)[:_SHOWN]


def _ratios(report: Report) -> str:
    shown = _largest(report)
    return bar_chart(
        "Compression ratio",
        [transfer.tensor.name for transfer in shown],
        {
            "in the engine": [transfer.ratio for transfer in shown],
            "alone": [transfer.tensor.ratio for transfer in shown],
            "zero value": [transfer.tensor.raw / transfer.tensor.zvc.compressed for transfer in shown],
        },
        y_label="ratio",
        width=900,
    )


def _seconds(report: Report) -> str:
    shown = _largest(report)
    return bar_chart(
        "Time on the link, both ways",
        [transfer.tensor.name for transfer in shown],
        {
            "as it is": [sum(transfer.plain) * 1e3 for transfer in shown],
            "compressed": [sum(transfer.compressed()) * 1e3 for transfer in shown],
        },
        y_label="ms",
        width=900,
    )


def _units(report: Report) -> str:
    most = min(max(report.units_at_peak, report.settings.units) + 1, 64)
    counts = list(range(1, most + 1))
    plain = report.link_seconds(compressed=False)
    return line_chart(
        "Speedup of all transfers",
        [
            Line(
                "everything compressed",
                counts,
                [plain / report.link_seconds(compressed=True, units=count) for count in counts],
            )
        ],
        x_label="units",
        y_label="speedup",
        height=260,
    )


def _row(transfer: Transfer) -> str:
    tensor = transfer.tensor
    numbers = (
        f"{tensor.raw / 1e6:,.3f}",
        f"{tensor.density:.3f}",
        f"{transfer.ratio:.2f}",
        f"{tensor.ratio:.2f}",
        str(tensor.best),
        f"{sum(transfer.plain) * 1e3:.4g}",
        f"{sum(transfer.compressed()) * 1e3:.4g}",
    )
    verdicts = "".join(
        f'<td class="{word}">{word}</td>' for word in (worth(transfer.ours), worth(transfer.cswap))
    )
    shape = " x ".join(map(str, tensor.shape))
    return (
        f"<tr><td>{escape(tensor.name)}</td>"
        f'<td class="text">{shape}</td><td class="text">{escape(tensor.dtype)}</td>'
        + "".join(f"<td>{escape(number)}</td>" for number in numbers)
        + f"{verdicts}<td>{transfer.units}</td></tr>"
    )
