"""What is shown of a run of the engine is what happened: descriptors, windows, tensors, errors with their causes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import compress_words
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.transactions import bursts_of
from cdma.verif.engine.view import engine_view
from cdma.verif.engine.wave import engine_wave
from cdma.verif.simulator.page import Event, View
from cdma.verif.simulator.vcd_trace import Trace, read_trace

pytestmark = pytest.mark.verilator

_CONFIG = EngineConfig()
_SEVERAL_CLOCKS = EngineConfig(
    lanes=2, dev_data_bits=64, host_data_bits=64, latency=32, burst_beats=8, clocks="device,host,registers"
)


def run(
    folder: Path, scenario: str, words: np.ndarray | None = None, config: EngineConfig = _CONFIG
) -> tuple[Trace, View]:
    design = EngineDesign(config)
    (path,) = engine_wave(design, folder, ("vcd",), None if words is not None else [scenario], words)
    clocks = {port.name: port.clock for port in design.ports}
    trace = read_trace(path, design.top, design.port_names, clocks)
    return trace, engine_view(config, trace)


def the_error(view: View, text: str) -> Event:
    (found,) = [event for event in view.events if text in event.text]
    assert found.error
    return found


@pytest.mark.parametrize(
    "config", [_CONFIG, pytest.param(_SEVERAL_CLOCKS, marks=pytest.mark.thorough)], ids=["one", "several"]
)
def test_a_descriptor_from_the_doorbell_to_the_interrupt(config: EngineConfig, tmp_path: Path) -> None:
    trace, view = run(tmp_path, "descriptor", config=config)
    assert list(view.markers) == ["descriptor", "first beat", "last beat", "completion"]
    assert sorted(view.markers.values()) == list(view.markers.values())
    assert [event.text for event in view.events if event.error] == []
    texts = [event.text for event in sorted(view.events, key=lambda event: event.cycle)]
    assert (
        texts.index("offload.ring_tail = 0x1") < texts.index("offload 0x1: descriptor") < texts.index("irq")
    )
    assert trace.cycles[view.markers["first beat"]]["m_axi_dev_rvalid"]
    assert trace.cycles[view.markers["completion"]]["m_axi_host_wlast"]
    # Each stage once, in the order in which data flow; what is not used is closed.
    titles = [group.title for group in view.groups]
    flow = [
        "registers", "rings: descriptors", "offload: check", "offload: reader", "device memory: reads",
        "offload: codec",
    ]  # fmt: skip
    flow += ["offload: writer", "host memory: writes", "offload: completion"]
    assert [titles.index(title) for title in flow] == sorted(titles.index(title) for title in flow)
    assert len(set(titles)) == len(titles)
    assert all(group.closed == group.title.startswith("prefetch") for group in view.groups)


def test_a_tensor_is_followed_out_and_back(tmp_path: Path) -> None:
    words = np.zeros(200, np.uint32)
    words[::3] = np.arange(1, 68)
    trace, view = run(tmp_path, "tensor", words)
    out, back = view.tensors
    assert out.places == ("device memory", "in the engine", "host memory")
    assert back.places == ("host memory", "in the engine", "device memory")
    stream = compress_words(words, _CONFIG.format)
    for tensor in (out, back):
        assert tensor.values == [f"{word:08x}" for word in words]
        assert tensor.stored == (words != 0).tolist()
        assert all(0 <= entered < left for entered, left in zip(tensor.entered, tensor.left, strict=True))
    # A raw word passes the device port when its tensor says so; what is stored passes the host port as a word of the stream.
    reads = [burst for burst in bursts_of(trace.cycles, "m_axi_dev", 32) if not burst.write]
    cycles = [piece.cycle for burst in reads for piece in burst.pieces for _ in range(len(piece.data) // 4)]
    assert out.entered == cycles
    writes = [burst for burst in bursts_of(trace.cycles, "m_axi_host", 32) if burst.write and burst.id == 0]
    data = b"".join(burst.data for burst in writes)
    assert np.frombuffer(data, "<u4").tolist() == stream.tolist()
    sent = [piece.cycle for burst in writes for piece in burst.pieces for _ in range(len(piece.data) // 4)]
    literals = [left for left, stored in zip(out.left, out.stored, strict=True) if stored]
    headers = np.flatnonzero(np.isin(np.arange(len(stream)), _headers(words, _CONFIG.format.window)))
    assert literals == [cycle for at, cycle in enumerate(sent) if at not in headers]
    # The words that are not stored leave with the header of their window.
    first = [left for left, stored in zip(out.left[:32], out.stored[:32], strict=True) if not stored]
    assert set(first) == {sent[0]}
    (windows,) = [row for group in view.groups if group.title == "offload: codec" for row in group.rows]
    assert len(windows.boxes) == 7
    assert f"header {stream[0]:08x}" in windows.boxes[0].details


def _headers(words: np.ndarray, window: int) -> Sequence[int]:
    """Where the headers of plain zero-value compression are."""
    at, places = 0, []
    for start in range(0, len(words), window):
        places.append(at)
        at += 1 + int(np.count_nonzero(words[start : start + window]))
    return places


def test_a_bus_error_is_the_cause_of_its_completion(tmp_path: Path) -> None:
    trace, view = run(tmp_path, "error")
    failed = the_error(view, "completion READ_SLVERR")
    assert failed.cause is not None
    assert "SLVERR on m_axi_dev" in failed.cause.text
    assert trace.cycles[failed.cause.cycle]["m_axi_dev_rresp"] == 2
    assert sum(event.text.endswith("completion OK") for event in view.events) == 1
    red = [box for group in view.groups for row in group.rows for box in row.boxes if box.error]
    assert len(red) == 2


def test_the_write_of_the_command_is_the_cause_of_an_abort(tmp_path: Path) -> None:
    _, view = run(tmp_path, "abort")
    failed = the_error(view, "completion ABORTED")
    assert failed.cause is not None
    assert failed.cause.text.startswith("prefetch.command = ")
