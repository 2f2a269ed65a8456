"""Certificates of made-up results: what holds, what does not, and what was not done."""

from __future__ import annotations

import hashlib

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.certificate.certificate import Certificate, Shown
from cdma.verif.campaigns.certificate.markdown import markdown
from cdma.verif.campaigns.mutation.campaign import KILLED, SURVIVED, Verdict
from cdma.verif.campaigns.mutation.mutants import Mutant
from cdma.verif.proofs.result import FAILED, PROVEN, UNKNOWN, Result
from cdma.verif.regression import Regression
from cdma.verif.simulator.simulate import Outcome
from cdma.verif.stream.codec.design import CodecDesign

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def _regression(failure: str | None = None) -> Regression:
    tests = [point.name for point in plan_of(TINY).choose(TINY)]
    return Regression(TINY, 3, 9, [Outcome(name, failure, 1, 2, 3, 4) for name in tests])


def _result(status: str, detail: str = "") -> Result:
    return Result("packer", "2 lanes", "pdr", None, status, 1.0, 2, "words come out", detail=detail)


def _verdict(result: str) -> Verdict:
    return Verdict(
        Mutant("compressor.core", "m", "mutate", "", "bit 0 of A inverted"), result, "", "not decided"
    )


def test_all_is_well() -> None:
    certificate = Certificate(
        "module x; endmodule\n",
        _regression(),
        "verilator",
        proofs=[Shown(_result(PROVEN), True)],
        mutants=[_verdict(KILLED)],
        coverage={"lines": 100.0},
    )
    assert (certificate.fails, certificate.open) == ([], [])
    assert certificate.sha256 == hashlib.sha256(b"module x; endmodule\n").hexdigest()
    assert "**Everything that was tried holds.**" in markdown(certificate)


def test_each_thing_that_does_not_hold_is_said() -> None:
    failing = Certificate(
        "",
        _regression("17 < 18"),
        "verilator",
        proofs=[
            Shown(_result(FAILED, "packer.py:3"), False),
            Shown(_result(UNKNOWN, "no answer within 9 s"), False),
        ],
        long_proofs=["lossless (2 lanes)"],
        mutants=[_verdict(SURVIVED), _verdict(KILLED)],
        other_text=True,
    )
    text = "\n".join(failing.fails)
    assert "cdma_compressor.v in this folder is not the Verilog that was verified" in text
    assert "test soak: 17 < 18 (again: cdma verify compressor --lanes 2" in text
    assert "--tests soak --seed 3 --packets 9)" in text
    assert "proof packer (2 lanes): failed, packer.py:3" in text
    assert "50.0 % of the mutants were found; the goal is 95 %" in text
    assert failing.open == [
        "proof packer (2 lanes): no answer within 9 s",
        "proofs that take long and were not run: lossless (2 lanes)",
        "mutant of compressor.core survived: bit 0 of A inverted; not decided",
        "coverage was not measured",
    ]
    assert "**Something does not hold.**" in markdown(failing)
    assert failing.as_json()["holds"] is False


def test_the_certificate_says_what_was_not_done() -> None:
    run = Regression(TINY, 1, 9, _regression().outcomes[:1])
    bare = Certificate("", run, "verilator")
    assert bare.fails == []
    assert bare.open[0].startswith("tests that were left out: endings, soak, ")
    assert bare.open[1:] == ["no proof was run", "no mutant was run", "coverage was not measured"]
    smaller = Certificate("", run, "verilator", proofs=[Shown(_result(PROVEN), False)])
    assert "proven in other, mostly smaller configurations alone: packer" in smaller.open
