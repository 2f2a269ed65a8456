"""The regression on a matrix of configurations that covers every value of every parameter, and on random ones.

``cdma verify`` runs the same tests, with more packets, on any configuration.
"""

from __future__ import annotations

import pytest

from cdma import CodecConfig
from cdma.hdl.spec.codec import BLOCKS
from cdma.verif.campaigns.regression import plan_of, replay_command, verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.commands import codecs_of
from tests.support.stimuli import random_codecs
from tests.support.thorough import one_block_each, revision

#: A covering array: every value of every parameter, and with initial values or without. ``make thorough`` runs the rest.
COVERING = codecs_of("""
# The standard.
--lanes 8
--lanes 1 --register-slices in --queue 1 --word-bits 8 --code-bits 4 --values 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 --no-init
--lanes 4 --register-slices in,out --word-bits 16 --code-bits 2 --values 0 0x3f80 7 --no-init
--lanes 16 --word-bits 4 --code-bits 2 --values 0 9 --no-init
# A window of two padded beats.
--lanes 32 --format aie2p
# A header of a beat and a half.
--lanes 2 --format fp32 --runtime-values --no-init
--lanes 2 --queue 0 --code-bits 3 --values 0 1 2
--lanes 32 --clock-gates --word-bits 8 --levels 2 --no-init
--pipelined
# A header of eight beats.
--pipelined --lanes 1 --runtime-values --word-bits 8 --code-bits 2 --values 0 1 --no-init
--pipelined --lanes 2 --format bf16 --register-slices in,out
""")
FURTHER = codecs_of("""
--levels 2
--lanes 16 --word-bits 16 --levels 2
--lanes 16 --runtime-values --register-slices in,out --word-bits 8 --code-bits 2 --values 0 7 --levels 2 --group 64 --no-init
# A header of a beat; a window of a beat; padded windows; a header of two beats.
--register-slices in --queue 1 --word-bits 8 --code-bits 2 --values 0 1
--lanes 64 --word-bits 8 --window 64 --code-bits 4 --values 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
--lanes 16 --format bf16
--lanes 16 --runtime-values --word-bits 16 --window 64 --code-bits 4 --values 0 1
--queue 0 --format aie-ml --no-init
--lanes 2 --word-bits 16 --code-bits 2 --values 0 0x3f80 7
--lanes 4 --word-bits 8 --window 64
--lanes 32 --word-bits 8 --values 0xff --no-init
# Fields without zero: a window of four beats, and a header of two.
--lanes 16 --word-bits 16 --window 64 --code-bits 2 --values 0x7d 0 --field-bits 8 --no-init
--lanes 4 --window 64 --code-bits 4 --values 0 0x3f80 --field-bits 16 --no-init
--lanes 4 --queue 0 --word-bits 16 --window 64 --code-bits 2 --values 0 1
--lanes 2 --pipelined --register-slices in,out --word-bits 8
--lanes 32 --format aie-ml
--lanes 4 --format bf16 --runtime-values --align 8 --no-init
--lanes 4 --queue 0 --format bf16
--lanes 16 --queue 0 --format bf16
--lanes 2 --register-slices in --word-bits 8
""")
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
