"""The harness that circuits are placed and routed in."""

import pytest

from cdma.synth.errors import MeasureError
from cdma.synth.fpga.harness import harness


def test_harness_keeps_every_port():
    ports = {
        "aclk": {"direction": "input", "bits": [2]},
        "d": {"direction": "input", "bits": [3, 4, 5]},
        "e": {"direction": "input", "bits": [6]},
        "q": {"direction": "output", "bits": [7, 8]},
    }
    text = harness("top", ports)
    for connection in (".aclk(clk)", ".d(feed[2:0])", ".e(feed[3:3])", ".q(seen[1:0])"):
        assert connection in text


def test_harness_needs_a_clock():
    with pytest.raises(
        MeasureError, match=r"^top has the clocks \[\]; placing and routing needs one, aclk or clk$"
    ):
        harness("top", {"d": {"direction": "input", "bits": [2]}})
