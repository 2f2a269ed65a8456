"""Flipped bits in the memories of a small engine, which passes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
from amaranth.hdl import Module

from cdma.hdl.blocks.memories import WordCheck
from cdma.hdl.engine.generate import engine_verilog
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Status
from cdma.verif.campaigns.faults.campaign import parts_of, run_part
from cdma.verif.campaigns.faults.machine import Array, Machine, arrays_of
from cdma.verif.campaigns.faults.scene import Scene, Tally
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.engine.transfer import Transfer

_PLAIN = EngineDesign(replace(SMALL, host_data_bits=64, memories_protect="secded"))
#: With short addresses, whose windows have no upper halves.
_PARITY = EngineDesign(
    replace(
        SMALL,
        format=Format(),
        lanes=2,
        host_data_bits=64,
        dev_address_bits=32,
        host_address_bits=32,
        descriptors=2,
        ring_entries=8,
        memories_protect="parity",
    )
)
_PAIRS = {"channels": 2, "pages": True, "substream_id_bits": 5}


def _run(design: EngineDesign, every: int = 67, verilog: str | None = None) -> Tally:
    tally = Tally()
    for part in parts_of("memories", design, seed=3, every=every):
        tally.merge(run_part(part, verilog))
    return tally


def test_memories_are_found_in_verilog() -> None:
    verilog = """
module top (
  leaf first (
  );
  top_ram_1w1r_4x26_by13_sync words (
  );
endmodule
module leaf (
  top_ram_1w1r_8x12_sync coded (
  );
endmodule
"""
    assert arrays_of(verilog, "top") == [Array("first.coded", 8, 12, 12), Array("words", 4, 26, 13)]
    assert Array("first.coded", 8, 12, 12).name == "first__DOT__coded__DOT__contents"


@pytest.mark.verilator
@pytest.mark.slow
def test_two_hundred_flips_are_seen_with_parity() -> None:
    tally = _run(_PARITY, 33)
    assert not tally.failures
    assert set(tally.counts) == {"a bit, parity"}
    assert tally.counts["a bit, parity"]["detected"] > 40


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_a_bit_is_put_right_and_two_are_reported() -> None:
    tally = _run(_PLAIN)
    assert not tally.failures
    assert set(tally.counts) == {"a bit, secded", "two bits, secded"}
    assert all(row["detected"] > 20 for row in tally.counts.values())


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [
        {"pages": True},
        {"pipelined": True, "pages": True, "memories_protect": "parity"},
        {"clocks": "device,host,registers", "memories_protect": "parity"},
        _PAIRS,
        {"channels": 3, "msi": True, "memories_protect": "parity"},
        {
            "channels": 2,
            "pipelined": True,
            "crc": True,
            "register_slices": "in,out",
            "memories_protect": "parity",
        },
        {"channels": 2, "dimensions": 2, "pages": True, "clocks": "host,registers", "clock_gates": True},
    ],
    ids=str,
)
def test_other_engines_pass(change: dict[str, object]) -> None:
    tally = _run(replace(_PLAIN, config=replace(_PLAIN.config, **change)), 47)
    assert not tally.failures
    assert all(row["detected"] > 20 for row in tally.counts.values())


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_a_lost_word_of_one_pair_leaves_the_other_one_right() -> None:
    with Machine(replace(_PLAIN, config=replace(_PLAIN.config, **_PAIRS))) as machine:
        first, second = (
            Scene(machine.of_pair(number), "offload raw ring slow", 3, number << 19) for number in range(2)
        )
        cycles, _ = first.measure()

        def status_with_flips_after(wait: int) -> int:
            first.prepare()
            second.machine.open_windows()
            second.join()
            first.submit()
            second.submit()
            machine.run(wait)
            for place, array in enumerate(machine.arrays):
                if ".offload.slots.tickets." in array.path:
                    for word, bit in product(range(array.words), range(2)):
                        machine.flip(place, word, bit)
            return first.wait()["status"]

        # Words that are lost before they are written, or after they are read, do not matter.
        waits = range(cycles // 20, cycles, cycles // 20)
        assert any(status_with_flips_after(wait) == Status.MEMORY for wait in waits)
        for made in second.transfers:
            second.complete(made)
        lost = [scene.machine.peek("engine.flips", "lost") for scene in (first, second)]
        assert lost[0] == lost[1] != 0
        assert [scene.software.flag("halted") for scene in (first, second)] == [True, False]


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("channel", ["offload", "prefetch"])
def test_a_word_that_is_lost_at_rest_stops_no_channel_in_silence(channel: str) -> None:
    """Of a slot that is not in use it does not matter; otherwise a descriptor says `MEMORY`. The pin tells in both cases."""
    lying = re.compile(rf"{channel}\.slots\.(routes|ends)\.|\.coalescer\.cycles\.")
    with Machine(_PARITY) as machine:
        scene = Scene(machine, f"{channel} zvc ring fast", 3)
        ended = {}
        for place, array in enumerate(machine.arrays):
            if not lying.search(array.path):
                continue
            scene.prepare()
            assert not scene.look().alert
            machine.flip(place, 1, 0)
            statuses = [_alone(scene, made) for made in (*scene.transfers, scene.after)]
            scene.quiet()
            assert machine.peek("engine.flips", "lost")
            assert scene.look().alert
            ended[array.path] = statuses.count(Status.MEMORY)
        assert len(ended) == 3
        assert set(ended.values()) <= {0, 1}


@pytest.mark.verilator
@pytest.mark.slow
def test_a_lost_time_of_coalescing_halts_nothing_over_a_soft_reset() -> None:
    with Machine(_PARITY) as machine:
        scene = Scene(machine, "offload zvc ring fast", 3)
        scene.prepare()
        [place] = [n for n, each in enumerate(machine.arrays) if ".coalescer.cycles." in each.path]
        machine.flip(place, 1, 0)
        machine.run(200)
        machine.poke("engine.command", soft_reset=1)
        assert machine.expect("engine.status", 4000, resetting=0)
        machine.run(200)
        for channel in ("offload", "prefetch"):
            assert not machine.peek(f"{channel}.status", "halted")
            assert not machine.peek(f"{channel}.status", "stuck")
        assert scene.look().alert
        scene.software.start(table=scene.table)
        scene.follow()


def _alone(scene: Scene, made: Transfer) -> int:
    """The status of a transfer by itself, which is right or ends in a lost word; the channel is halted only then."""
    scene.software.submit([made.record()])
    completion = scene.wait()
    lost = completion["status"] == Status.MEMORY
    if lost:
        assert scene.machine.expect(f"{scene.channel}.status", 4000, halted=1, aborting=0)
        scene.software.command(resume=1)
    else:
        scene.completes(made, completion)
        assert not scene.software.flag("halted")
    return completion["status"]


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_an_engine_that_never_tells_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(check: WordCheck, platform: object) -> Module:
        m = Module()
        m.d.comb += check.word.eq(check.coded[: check.bits])
        return m

    monkeypatch.setattr(WordCheck, "elaborate", deaf)
    tally = _run(_PLAIN, 211, engine_verilog(_PLAIN.config, name=_PLAIN.top))
    assert tally.failed
