"""Reports as bars."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import cdma.torch  # noqa: E402
from cdma.base.errors import ParameterError  # noqa: E402


def reports():
    model, inputs = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)), torch.randn(64, 64)
    with cdma.torch.saved(model) as kept:
        model(inputs).sum().backward()
    with cdma.torch.offload(model) as swapped:
        model(inputs).sum().backward()
    with cdma.torch.stream(model, device_bytes="1MiB") as streamed:
        model(inputs)
    return [kept.report, swapped.report, streamed.report]


def test_a_report_is_drawn_with_a_row_for_each_name(tmp_path):
    for number, report in enumerate(reports()):
        names = getattr(report, "layers", None) or report.rows
        assert names
        report.plot(tmp_path / f"{number}.svg")
        drawn = ElementTree.parse(tmp_path / f"{number}.svg").getroot()
        texts = [each.text for each in drawn.iter() if each.tag.endswith("text")]
        assert texts[::2] == list(names)
        widths = [float(each.get("width")) for each in drawn.iter() if each.tag.endswith("rect")]
        assert len(widths) == 2 * len(names)
        assert max(widths) == 460
        report.plot(str(tmp_path / "page.html"))
        page = (tmp_path / "page.html").read_text()
        assert str(report).splitlines()[-1] in page
        assert "<svg" in page
    with pytest.raises(ParameterError, match=r"'x\.png'; it must be a file"):
        report.plot(tmp_path / "x.png")
