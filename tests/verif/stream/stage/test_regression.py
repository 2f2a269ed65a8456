"""The regression on quantisers and dequantisers of every type, and that it finds what is wrong with one. The kinds of
numbers and integers, against what the golden model makes of them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from cdma.hdl.spec.stage import NUMBERS, STAGES, Quantisation, StageConfig
from cdma.sim.codec.quantise import quantise
from cdma.verif.campaigns.regression import plan_of, replay_command, verify
from cdma.verif.stream.stage.design import StageDesign
from cdma.verif.stream.stage.packet import any_words, integer_kind, integer_kinds, number_kind, number_kinds
from tests.support.thorough import one_block_each

MATRIX = {
    "the default": (StageConfig(), True),
    "bf16 to 4 bits, nonzero kept, four lanes": (StageConfig(Quantisation("bf16", 4, True), 4), False),
    "fp16 and bytes, one lane": (StageConfig(Quantisation("fp16", 8), 1), True),
    "fp32 and 16 bits, sixteen lanes": (StageConfig(Quantisation("fp32", 16), 16), False),
}


@pytest.mark.verilator
@pytest.mark.parametrize(
    ("block", "config", "init"), one_block_each(MATRIX, STAGES, {"fp32 and 16 bits, sixteen lanes"})
)
def test_a_stage_passes(block: str, config: StageConfig, init: bool) -> None:
    design = StageDesign(block, config, init)
    run = verify(design, packets=80, seed=5)
    assert [outcome.failure for outcome in run.outcomes] == [None] * len(run.outcomes)
    assert [outcome.test for outcome in run.outcomes] == [
        point.name for point in plan_of(design).choose(design)
    ]
    assert all(outcome.checks for outcome in run.outcomes)


def test_a_failed_test_has_its_command() -> None:
    config = StageConfig(Quantisation("bf16", 4, True), 4)
    assert replay_command(StageDesign("quantiser", config, False), "rate", 3, 20) == (
        "cdma verify quantiser --number bf16 --bits 4 --keep-nonzero --lanes 4 --no-init --tests rate --seed 3 --packets 20"
    )


FORMS = [Quantisation(number, 8) for number in NUMBERS] + [Quantisation("fp32", 4), Quantisation("fp32", 16)]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("exponent", ["least", "middle", "greatest"])
def test_numbers_of_each_class_become_what_it_says(form: Quantisation, exponent: str) -> None:
    step = {"least": form.least_exponent, "middle": 0, "greatest": form.greatest_exponent}[exponent]
    words = any_words(random.Random(1), form, step, 3000)
    known = set(number_kinds(form, form.step(step)))
    for word in words:
        made = quantise(np.array([word], f"u{form.number_type.bits // 8}"), step, form)
        integer = int(made.integers[0])
        name = number_kind(word, form.step(step), form)
        assert name in known
        kind, sign = name.rsplit(", ", 1)
        assert bool(made.reported) == (kind in ("NaN", "infinite", "out of range")), name
        if kind in ("NaN", "zero", "less than half a step"):
            assert integer == 0, name
        if kind in ("infinite", "out of range", "rounded to the limit"):
            assert abs(integer) == form.limit, name
        if kind.startswith("half way"):
            assert integer % 2 == 0, name
        assert integer == 0 or (integer < 0) == (sign == "negative")


@pytest.mark.parametrize(
    "form", [Quantisation("bf16", 8), Quantisation("fp16", 8), Quantisation("bf16", 4)], ids=str
)
def test_there_are_numbers_of_each_kind_and_of_no_other(form: Quantisation) -> None:
    for step in (1, form.number_type.bias, form.greatest_step):
        words = range(1 << form.number_type.bits)
        assert {number_kind(word, step, form) for word in words} == set(number_kinds(form, step))


def test_ties_are_told_from_what_is_beside_them() -> None:
    form = Quantisation("fp32", 8)
    step = form.step(0)
    for value, kind in (
        (0.25, "less than half a step"),
        (0.5, "half way, rounded down"),
        (1.5, "half way, rounded up"),
        (1.25, "rounded down"),
        (0.75, "rounded up"),
        (3.0, "whole steps"),
        (127.0, "whole steps"),
        (127.25, "rounded to the limit"),
        (126.75, "rounded to the limit"),
        (127.5, "out of range"),
        (1e30, "out of range"),
        (np.inf, "infinite"),
        (np.nan, "NaN"),
        (0.0, "zero"),
        (1e-40, "subnormal"),
    ):
        word = int(np.array(value, np.float32).view(np.uint32))
        assert number_kind(word, step, form) == f"{kind}, positive"
        assert number_kind(word | 1 << 31, step, form) == f"{kind}, negative"


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_each_integer_has_a_kind_and_each_kind_an_integer(bits: int) -> None:
    form = Quantisation("fp32", bits)
    assert {integer_kind(word, form) for word in range(1 << bits)} == set(integer_kinds())
