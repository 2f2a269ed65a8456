"""The regression on a matrix of configurations: every lane count, word, window and code, the variants, and pipelined.

``cdma verify`` runs the same tests, with more packets, on any configuration.
"""

from __future__ import annotations

import json

import pytest

from cdma import CodecConfig, Format, ParameterError
from cdma.app import main
from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.codec import regression
from cdma.verif.codec.design import CodecDesign
from cdma.verif.codec.regression import Regression, choose_tests, replay_options, verify
from cdma.verif.simulator.simulate import Outcome

#: Word bits, lanes, window, code bits, values, run-time table, initial values.
MATRIX = {
    "the standard": (CodecConfig(), True),
    "one lane of bytes, no initial values": (CodecConfig(Format(8, 32), 1), False),
    "two lanes, half-word table": (CodecConfig(Format(16, 32, 2, (0, 0x3F80, 7)), 2), True),
    "four lanes, header of two beats": (CodecConfig(Format(8, 64, 1), 4), True),
    "sixteen lanes, run-time table": (CodecConfig(Format(16, 64, 4, (0, 1)), 16, True), True),
    "thirty-two lanes of bytes, no initial values": (CodecConfig(Format(8, 32, 1, (0xFF,)), 32), False),
    "sixty-four lanes, window of a beat": (CodecConfig(Format(8, 64, 4, tuple(range(15))), 64), True),
    "pipelined, the standard": (CodecConfig(pipelined=True), True),
    "pipelined, one lane, header of eight beats, run-time table, no initial values": (
        CodecConfig(Format(8, 32, 2, (0, 1)), 1, runtime_values=True, pipelined=True),
        False,
    ),
}
CASES = [
    pytest.param(CodecDesign(block, config, init), id=f"{block}: {name}")
    for name, (config, init) in MATRIX.items()
    for block in BLOCKS
]


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("design", CASES)
def test_matrix(design: CodecDesign) -> None:
    result = verify(design, packets=min(1000, 150 * design.config.lanes))
    failures = [
        f"{outcome.test}: {outcome.failure}\n"
        + replay_options(design, outcome.test, result.seed, result.packets)
        for outcome in result.outcomes
        if outcome.failure
    ]
    assert not failures, "\n".join(failures)
    assert result.passed
    assert {outcome.test for outcome in result.outcomes} == {point.name for point in choose_tests(design)}
    assert all(outcome.packets and outcome.checks for outcome in result.outcomes)


def test_matrix_covers_what_it_says() -> None:
    configs = [config for config, _ in MATRIX.values()]
    pipelined = [(config, init) for config, init in MATRIX.values() if config.pipelined]
    assert {config.lanes for config in configs} == {1, 2, 4, 8, 16, 32, 64}
    assert {config.format.word_bits for config in configs} == {8, 16, 32}
    assert {config.format.window for config in configs} == {32, 64}
    assert {config.format.code_bits for config in configs} == {1, 2, 4}
    assert any(config.runtime_values for config in configs)
    assert not all(init for _, init in MATRIX.values())
    assert any(config.format.header_words > config.lanes for config in configs)
    # A keep of one bit is no vector.
    assert any(config.lanes * config.format.word_bits == 8 for config in configs)
    assert {config.lanes for config, _ in pipelined} == {1, 8}
    assert any(config == CodecConfig(pipelined=True) for config, _ in pipelined)
    assert any(config.runtime_values for config, _ in pipelined)
    assert any(config.format.header_words > config.lanes for config, _ in pipelined)
    assert not all(init for _, init in pipelined)


def test_nothing_passes_by_running_nothing() -> None:
    assert not Regression(CodecDesign("compressor"), 1, 1, []).passed
    with pytest.raises(ParameterError, match="tests is empty; a regression that runs nothing proves nothing"):
        verify(CodecDesign("compressor"), tests=[])
    with pytest.raises(
        ParameterError, match="packets is 0; a regression that sends no packet proves nothing"
    ):
        verify(CodecDesign("compressor"), packets=0)
    with pytest.raises(
        ParameterError, match="tests has 'corrupt'; the tests of the compressor are lengths, soak"
    ):
        verify(CodecDesign("compressor"), tests=["corrupt"])


def _with_outcomes(monkeypatch: pytest.MonkeyPatch, **failures: str | None) -> None:
    def fake(design: CodecDesign, **options: object) -> Regression:
        outcomes = [Outcome(test, failure, 3, 30, 300) for test, failure in failures.items()]
        return Regression(design, 7, 50, outcomes)

    monkeypatch.setattr(regression, "verify", fake)


def test_status_and_replay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _with_outcomes(monkeypatch, soak=None, bound="one cycle too many")
    assert main(["verify", "decompressor", "--lanes", "4", "--no-init"]) == 1
    printed = capsys.readouterr().out
    assert "bound failed: one cycle too many" in printed
    assert (
        "cdma verify decompressor --word-bits 32 --lanes 4 --window 32 --code-bits 1 --values 0x0 --no-init "
        "--tests bound --seed 7 --packets 50 --waves" in printed
    )
    assert main(["verify", "compressor", "--pipelined"]) == 1
    assert "--values 0x0 --pipelined --tests bound --seed 7" in capsys.readouterr().out
    _with_outcomes(monkeypatch, soak=None)
    assert main(["verify", "compressor"]) == 0


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _with_outcomes(monkeypatch, soak=None, bound=None)
    assert main(["verify", "compressor", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["passed"] is True
    assert (result["packets"], result["words"], result["checks"], result["seed"]) == (6, 60, 600, 7)
    assert [row["test"] for row in result["tests"]] == ["soak", "bound"]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "compressor", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        point.name for point in choose_tests(CodecDesign("compressor"))
    ]
