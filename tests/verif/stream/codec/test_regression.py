"""The regression on a matrix of configurations that covers every value of every parameter, and on random ones.

``cdma verify`` runs the same tests, with more packets, on any configuration.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma import CodecConfig, Format
from cdma.hdl.spec.codec import BLOCKS
from cdma.verif.campaigns.regression import plan_of, replay_command, verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.stimuli import random_codecs
from tests.support.thorough import one_block_each, revision

#: A covering array: every value of every parameter, and with initial values or without. ``make thorough`` runs the rest.
COVERING = {
    "the standard": (CodecConfig(), True),
    "one lane of bytes, codes of four bits, a queue of one beat, register slices at the inputs, no initial values": (
        CodecConfig(Format(8, 32, 4, tuple(range(15))), 1, queue=1, register_slices="in"),
        False,
    ),
    "four lanes, half-word table, register slices, no initial values": (
        CodecConfig(Format(16, 32, 2, (0, 0x3F80, 7)), 4, register_slices="in,out"),
        False,
    ),
    "sixteen lanes of half bytes, half-byte table": (CodecConfig(Format(4, 32, 2, (0, 9)), 16), False),
    "thirty-two lanes of bytes, window of two padded beats": (CodecConfig(Format.preset("aie2p"), 32), True),
    "two lanes of fp32, header of a beat and a half, run-time table, no initial values": (
        CodecConfig(Format.preset("fp32"), 2, runtime_values=True),
        False,
    ),
    "no queue, codes of three bits, header of a beat and a half": (
        CodecConfig(Format(32, 32, 3, (0, 1, 2)), 2, queue=0),
        True,
    ),
    "two levels, thirty-two lanes of bytes, clock gates, no initial values": (
        CodecConfig(Format(8, levels=2), 32, clock_gates=True),
        False,
    ),
    "pipelined, the standard": (CodecConfig(pipelined=True), True),
    "pipelined, one lane, header of eight beats, run-time table, no initial values": (
        CodecConfig(Format(8, 32, 2, (0, 1)), 1, runtime_values=True, pipelined=True),
        False,
    ),
    "pipelined, two lanes of bf16, register slices": (
        CodecConfig(Format.preset("bf16"), 2, pipelined=True, register_slices="in,out"),
        True,
    ),
}
FURTHER = {
    "two levels": (CodecConfig(Format(levels=2)), True),
    "two levels, sixteen lanes": (CodecConfig(Format(16, levels=2), 16), True),
    "two levels, codes of two bits, run-time table, register slices, no initial values": (
        CodecConfig(Format(8, 32, 2, (0, 7), levels=2, group=64), 16, True, register_slices="in,out"),
        False,
    ),
    "a queue of one beat, header of a beat, register slices at the inputs": (
        CodecConfig(Format(8, 32, 2, (0, 1)), 8, queue=1, register_slices="in"),
        True,
    ),
    "sixty-four lanes, window of a beat": (CodecConfig(Format(8, 64, 4, tuple(range(15))), 64), True),
    "sixteen lanes of bf16": (CodecConfig(Format.preset("bf16"), 16), True),
    "sixteen lanes, run-time table": (CodecConfig(Format(16, 64, 4, (0, 1)), 16, True), True),
    "no queue, padded windows, no initial values": (CodecConfig(Format.preset("aie-ml"), 8, queue=0), False),
    "two lanes, half-word table": (CodecConfig(Format(16, 32, 2, (0, 0x3F80, 7)), 2), True),
    "four lanes, header of two beats": (CodecConfig(Format(8, 64, 1), 4), True),
    "thirty-two lanes of bytes, no initial values": (CodecConfig(Format(8, 32, 1, (0xFF,)), 32), False),
    "sixteen lanes, field without zero, window of four beats, no initial values": (
        CodecConfig(Format(16, 64, 2, (0x7D, 0), field_bits=8), 16),
        False,
    ),
    "four lanes, field of two bytes without zero, header of two beats, no initial values": (
        CodecConfig(Format(32, 64, 4, (0, 0x3F80), field_bits=16), 4),
        False,
    ),
    "no queue, header of two beats": (CodecConfig(Format(16, 64, 2, (0, 1)), 4, queue=0), True),
    "pipelined, with register slices": (
        CodecConfig(Format(8), 2, pipelined=True, register_slices="in,out"),
        True,
    ),
    "thirty-two lanes of bytes, padded windows": (CodecConfig(Format.preset("aie-ml"), 32), True),
    "four lanes, field, windows padded to a beat": (
        CodecConfig(replace(Format.preset("bf16"), align=8), 4, runtime_values=True),
        False,
    ),
    "no queue, bf16": (CodecConfig(Format.preset("bf16"), 4, queue=0), True),
    "no queue, sixteen lanes of bf16": (CodecConfig(Format.preset("bf16"), 16, queue=0), True),
    "register slices at the inputs": (CodecConfig(Format(8), 2, register_slices="in"), True),
}
RANDOM = {f"{design.block} {design.options()}": design for design in random_codecs(revision(), 2)}


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize(("block", "config", "init"), one_block_each(COVERING | FURTHER, BLOCKS, FURTHER))
def test_matrix(block: str, config: CodecConfig, init: bool) -> None:
    check(CodecDesign(block, config, init), packets=min(39, 13 * config.lanes))


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("design", RANDOM.values(), ids=RANDOM)
def test_random_shapes_of_this_revision(design: CodecDesign) -> None:
    check(design, packets=50)


def check(design: CodecDesign, packets: int) -> None:
    """Runs every test of the plan."""
    result = verify(design, packets=packets)
    failures = [
        f"{outcome.test}: {outcome.failure}\n"
        + replay_command(design, outcome.test, result.seed, result.packets)
        for outcome in result.outcomes
        if outcome.failure
    ]
    assert not failures, "\n".join(failures)
    assert result.passed
    assert {outcome.test for outcome in result.outcomes} == {
        point.name for point in plan_of(design).choose(design)
    }
    assert all(outcome.packets and outcome.checks for outcome in result.outcomes)


def test_matrix_covers_every_value_of_every_parameter() -> None:
    configs = [config for config, _ in COVERING.values()]
    pipelined = [(config, init) for config, init in COVERING.values() if config.pipelined]
    assert {config.lanes for config in configs} == {1, 2, 4, 8, 16, 32}
    assert {config.format.word_bits for config in configs} == {4, 8, 16, 32}
    assert {config.format.window for config in configs} == {32, 64}
    assert {config.format.code_bits for config in configs} == {1, 2, 3, 4}
    assert {config.format.field_bits for config in configs} == {0, 8}
    assert {config.format.align for config in configs} == {1, 4}
    assert {config.queue for config in configs} == {0, 1, 2}
    assert {config.register_slices for config in configs} == {"none", "in", "in,out"}
    # A keep of one bit is no vector.
    assert any(config.lanes * config.format.word_bits == 8 for config in configs)
    # Both forms of the codec: with and without initial values, a run-time table, a field, a long header.
    for form in (pipelined, [(config, init) for config, init in COVERING.values() if not config.pipelined]):
        assert {init for _, init in form} == {True, False}
        assert {config.runtime_values for config, _ in form} == {True, False}
        assert {config.format.field_bits for config, _ in form} == {0, 8}
        assert {config.format.header_words > config.lanes for config, _ in form} == {True, False}
    assert {config.lanes for config, _ in pipelined} == {1, 2, 8}
