"""A report as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from cdma.base.document import Drawing, Heading, Paragraph, Table, as_html
from cdma.study.svg import Line, bar_chart, line_chart

from .link import Transfer
from .report import Report, worth

#: The most tensors in a bar chart; the table has all.
_SHOWN = 24
_COLUMNS = (
    *("tensor", "shape", "type", "MB", "density", "ratio", "alone", "suits"),
    *("link, ms", "compressed, ms", "worth it", "CSWAP says", "units"),
)


def page(report: Report, title: str) -> str:
    """Returns the page; ``title`` says what was profiled."""
    settings = report.settings
    out, back = settings.rates
    shown = sorted(report.transfers, key=lambda transfer: -transfer.tensor.raw)[:_SHOWN]
    return as_html(
        (
            Heading(f"What compressing the transfers of {title} buys", 1),
            Table(
                ("", "of all tensors"),
                (
                    ("engine, with a table for each tensor", str(report.engine)),
                    ("compression ratio", f"{report.ratio:.2f}"),
                    (f"speedup of transfers, with {settings.units} unit(s)", f"{report.speedup:.2f} x"),
                    ("units that this link needs", str(report.units_enough)),
                ),
            ),
            Paragraph(
                f"{len(report.tensors)} tensors of {report.raw / 1e6:,.3f} MB in all, over a link of "
                f"{out / 1e9:g} GB/s to the host and {back / 1e9:g} GB/s back."
            ),
            Heading("The largest tensors"),
            _ratios(shown),
            _seconds(shown),
            Heading("Units at the memory port"),
            Paragraph(
                f"A unit compresses or decompresses {settings.unit_rate / 1e9:g} GB/s of raw data. With too few units, they "
                f"and not the link limit the transfers of sparse tensors; {report.units_at_peak} are needed so that no "
                "tensor is limited."
            ),
            _units(report),
            Heading("Every tensor"),
            Paragraph(
                "Worth it: the device waits less when compression overlaps with the transfer; ?: what computation hides is "
                "not given. CSWAP says: its inequality, compression before the transfer. Alone: the ratio in the format "
                "that suits a tensor, not in that of the engine."
            ),
            Table(_COLUMNS, [_row(transfer) for transfer in report.transfers]),
        )
    )


def _ratios(shown: list[Transfer]) -> Drawing:
    bars = {
        "in the engine": [transfer.ratio for transfer in shown],
        "alone": [transfer.tensor.ratio for transfer in shown],
        "zero value": [transfer.tensor.raw / transfer.tensor.zvc.compressed for transfer in shown],
    }
    names = [transfer.tensor.name for transfer in shown]
    return Drawing("", "", bar_chart("Compression ratio", names, bars, y_label="ratio", width=900))


def _seconds(shown: list[Transfer]) -> Drawing:
    bars = {
        "as it is": [sum(transfer.plain) * 1e3 for transfer in shown],
        "compressed": [sum(transfer.compressed()) * 1e3 for transfer in shown],
    }
    names = [transfer.tensor.name for transfer in shown]
    return Drawing("", "", bar_chart("Time on the link, both ways", names, bars, y_label="ms", width=900))


def _units(report: Report) -> Drawing:
    most = min(max(report.units_at_peak, report.settings.units) + 1, 64)
    counts = list(range(1, most + 1))
    plain = report.link_seconds(compressed=False)
    speedups = [plain / report.link_seconds(compressed=True, units=count) for count in counts]
    line = Line("everything compressed", counts, speedups)
    chart = line_chart("Speedup of all transfers", [line], x_label="units", y_label="speedup", height=260)
    return Drawing("", "", chart)


def _row(transfer: Transfer) -> tuple[str, ...]:
    tensor = transfer.tensor
    return (
        tensor.name,
        " x ".join(map(str, tensor.shape)),
        tensor.dtype,
        f"{tensor.raw / 1e6:,.3f}",
        f"{tensor.density:.3f}",
        f"{transfer.ratio:.2f}",
        f"{tensor.ratio:.2f}",
        str(tensor.best),
        f"{sum(transfer.plain) * 1e3:.4g}",
        f"{sum(transfer.compressed()) * 1e3:.4g}",
        worth(transfer.ours),
        worth(transfer.cswap),
        str(transfer.units),
    )
