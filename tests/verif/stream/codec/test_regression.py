"""The regression on a matrix of configurations: every lane count, word, window and code, the variants, and pipelined.

``cdma verify`` runs the same tests, with more packets, on any configuration.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma import CodecConfig, Format
from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.blocks import plan_of
from cdma.verif.regression import replay_command, verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.thorough import cases_of

#: Word bits, lanes, window, code bits, values, run-time table, initial values.
MATRIX = {
    "the standard": (CodecConfig(), True),
    "one lane of bytes, no initial values": (CodecConfig(Format(8, 32), 1), False),
    "two lanes, half-word table": (CodecConfig(Format(16, 32, 2, (0, 0x3F80, 7)), 2), True),
    "four lanes, header of two beats": (CodecConfig(Format(8, 64, 1), 4), True),
    "sixteen lanes, run-time table": (CodecConfig(Format(16, 64, 4, (0, 1)), 16, True), True),
    "thirty-two lanes of bytes, no initial values": (CodecConfig(Format(8, 32, 1, (0xFF,)), 32), False),
    "sixty-four lanes, window of a beat": (CodecConfig(Format(8, 64, 4, tuple(range(15))), 64), True),
    "sixteen lanes of bf16": (CodecConfig(Format.preset("bf16"), 16), True),
    "thirty-two lanes of bytes, window of two padded beats": (CodecConfig(Format.preset("aie2p"), 32), True),
    "sixteen lanes, field without zero, window of four beats, no initial values": (
        CodecConfig(Format(16, 64, 2, (0x7D, 0), field_bits=8), 16),
        False,
    ),
    "two lanes of fp32, header of a beat and a half, run-time table": (
        CodecConfig(Format.preset("fp32"), 2, runtime_values=True),
        True,
    ),
    "four lanes, field of two bytes without zero, header of two beats, no initial values": (
        CodecConfig(Format(32, 64, 4, (0, 0x3F80), field_bits=16), 4),
        False,
    ),
    "codes of three bits, header of a beat and a half": (CodecConfig(Format(32, 32, 3, (0, 1, 2)), 2), True),
    "no queue": (CodecConfig(queue=0), True),
    "a queue of one beat, header of a beat, register slices at the inputs, no initial values": (
        CodecConfig(Format(8, 32, 2, (0, 1)), 8, queue=1, register_slices="in"),
        False,
    ),
    "no queue, header of two beats": (CodecConfig(Format(16, 64, 2, (0, 1)), 4, queue=0), True),
    "pipelined, the standard": (CodecConfig(pipelined=True), True),
    "pipelined, one lane, header of eight beats, run-time table, no initial values": (
        CodecConfig(Format(8, 32, 2, (0, 1)), 1, runtime_values=True, pipelined=True),
        False,
    ),
    "register slices, half-word table": (
        CodecConfig(Format(16, 32, 2, (0, 5)), 4, register_slices="in,out"),
        False,
    ),
    "pipelined, with register slices": (
        CodecConfig(Format(8), 2, pipelined=True, register_slices="in,out"),
        True,
    ),
    "thirty-two lanes of bytes, padded windows": (CodecConfig(Format.preset("aie-ml"), 32), True),
    "four lanes, field, windows padded to a beat": (
        CodecConfig(replace(Format.preset("bf16"), align=8), 4, runtime_values=True),
        False,
    ),
    "no queue, padded windows": (CodecConfig(Format.preset("aie-ml"), 8, queue=0), True),
    "no queue, bf16": (CodecConfig(Format.preset("bf16"), 4, queue=0), True),
    "no queue, sixteen lanes of bf16": (CodecConfig(Format.preset("bf16"), 16, queue=0), True),
    "register slices at the inputs": (CodecConfig(Format(8), 2, register_slices="in"), True),
}
#: Which are nearly covered by others.
THOROUGH = {
    "two lanes, half-word table",
    "four lanes, header of two beats",
    "sixteen lanes, field without zero, window of four beats, no initial values",
    "codes of three bits, header of a beat and a half",
    "no queue, header of two beats",
    "register slices, half-word table",
    "no queue, bf16",
    "no queue, sixteen lanes of bf16",
    "register slices at the inputs",
}
DESIGNS = {
    f"{block}: {name}": CodecDesign(block, config, init)
    for name, (config, init) in MATRIX.items()
    for block in BLOCKS
}
CASES = cases_of(DESIGNS, {f"{block}: {name}" for name in THOROUGH for block in BLOCKS})


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("design", CASES)
def test_matrix(design: CodecDesign) -> None:
    result = verify(design, packets=min(200, 50 * design.config.lanes))
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


def test_matrix_covers_what_it_says() -> None:
    configs = [config for config, _ in MATRIX.values()]
    pipelined = [(config, init) for config, init in MATRIX.values() if config.pipelined]
    assert {config.lanes for config in configs} == {1, 2, 4, 8, 16, 32, 64}
    assert {config.format.word_bits for config in configs} == {8, 16, 32}
    assert {config.format.window for config in configs} == {32, 64}
    assert {config.format.code_bits for config in configs} == {1, 2, 3, 4}
    assert any(config.runtime_values for config in configs)
    assert {config.queue for config in configs} == {0, 1, 2}
    assert not all(init for _, init in MATRIX.values())
    assert any(config.format.header_words > config.lanes for config in configs)
    # A keep of one bit is no vector.
    assert any(config.lanes * config.format.word_bits == 8 for config in configs)
    assert {config.lanes for config, _ in pipelined} == {1, 2, 8}
    assert {config.register_slices for config in configs} == {"none", "in", "in,out"}
    assert any(config == CodecConfig(pipelined=True) for config, _ in pipelined)
    assert any(config.runtime_values for config, _ in pipelined)
    assert any(config.format.header_words > config.lanes for config, _ in pipelined)
    assert not all(init for _, init in pipelined)
