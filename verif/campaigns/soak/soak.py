"""Random designs under random traffic, and the smallest case of the first that fails.

A design is any block, with any parameters that go together. Case N of a seed is always the same one, so that any of
them can be run again, and a soak can go on where another stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.format import PRESETS, Format
from cdma.hdl.spec.options import AXCACHE, MEMORY_CODES, NO_CLOCKS, PROTECTIONS, SIDEBAND_TARGETS
from cdma.hdl.spec.stage import NUMBERS, STAGES, StageConfig
from cdma.verif.campaigns.regression import Campaign, design_of, plan_of, replay_command, verify
from cdma.verif.simulator.simulate import Design, Outcome
from cdma.verif.simulator.toolchain import find_verilator

#: How often a value that is not the default is drawn for what most users leave alone.
_SELDOM = 0.2

_SLICES = ("none", "in", "out", "in,out")
_CLOCKS = ("host", "registers", "host,registers", "device,host,registers")


def any_design(rng: random.Random) -> Design:
    """Some block with some parameters, small enough for a simulation of seconds."""
    # A quantiser and a dequantiser are drawn as often as each of the other blocks, together.
    block = rng.choice((*BLOCKS, "engine", rng.choice(STAGES)))
    while True:
        draw = _stage if block in STAGES else _codec if block in BLOCKS else _engine
        settings = draw(rng)
        try:
            return with_settings(block, settings, init=rng.random() < 0.7)
        except ParameterError:
            # These do not go together.
            continue


def with_settings(block: str, settings: dict[str, Any], *, init: bool) -> Design:
    kind = CodecConfig if block in BLOCKS else StageConfig if block in STAGES else EngineConfig
    return design_of(block, kind.from_settings(settings), init=init)


def _format(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.4:
        return dict(Format.preset(rng.choice(list(PRESETS))).settings())
    word_bits, code_bits = rng.choice((8, 16, 32)), rng.choice((1, 1, 2, 3, 4))
    field_bits = rng.choice((8, 16)) if word_bits > 8 and rng.random() < 0.3 else 0
    most = (1 << code_bits) - 1
    values = rng.sample(range(1 << (field_bits or word_bits)), rng.randint(0, most))
    return {
        "word_bits": word_bits,
        "window": rng.choice((8, 16, 32, 64)),
        "code_bits": code_bits,
        "values": values,
        "field_bits": field_bits,
        "rotate": rng.randrange(word_bits) if field_bits else 0,
        "zero": bool(field_bits) and rng.random() < 0.7,
        "align": rng.choice((1, 1, 1, 2, 4, 8)),
    }


def _stage(rng: random.Random) -> dict[str, Any]:
    return {
        "number": rng.choice(list(NUMBERS)),
        "bits": rng.choice((4, 8, 16)),
        "keep_nonzero": rng.random() < 0.5,
        "lanes": rng.choice((1, 2, 4, 8, 16, 32, 64)),
    }


def _codec(rng: random.Random) -> dict[str, Any]:
    return _format(rng) | {
        "lanes": rng.choice((1, 2, 4, 8, 16, 32)),
        "runtime_values": rng.random() < _SELDOM,
        "pipelined": rng.random() < 0.4,
        "queue": rng.choice((2, 2, 1, 0)),
        "register_slices": rng.choice(_SLICES) if rng.random() < _SELDOM else "none",
    }


def _engine(rng: random.Random) -> dict[str, Any]:
    form, user_bits = _format(rng), rng.choice((0, 1, 7, 16))
    return form | {
        "lanes": rng.choice((1, 2, 4, 8, 16)),
        "dev_data_bits": rng.choice((32, 64, 128, 256)),
        "host_data_bits": rng.choice((32, 64, 128, 256)),
        "dev_address_bits": rng.choice((32, 40, 64)),
        "host_address_bits": rng.choice((32, 48, 64)),
        "alignment": rng.choice(("beat", "beat", "word", "byte")),
        "burst_beats": rng.choice((2, 4, 8, 16, 32, 64)),
        "outstanding": rng.choice((1, 2, 4, 8, 16)),
        "latency": rng.choice((8, 32, 100)),
        "descriptors": rng.choice((1, 2, 4, 8)),
        "ring_entries": rng.choice((2, 4, 8, 16, 64)),
        "registers": rng.random() < 0.8,
        "pipelined": rng.random() < 0.4,
        "queue": rng.choice((2, 2, 2, 1, 0)),
        "units": rng.choice((1, 1, 1, 2, 4)),
        "stripe_bytes": rng.choice((256, 512, 4096)),
        "register_slices": rng.choice(_SLICES) if rng.random() < _SELDOM else "none",
        "smallest_memory": rng.choice((100, 1000)) if rng.random() < _SELDOM else 0,
        "crc": rng.random() < _SELDOM,
        "lossy": rng.choice(LOSSY) if rng.random() < _SELDOM else LOSSY[0],
        "keep_nonzero": rng.random() < _SELDOM,
        "pages": rng.random() < _SELDOM,
        "delta": rng.random() < _SELDOM,
        "dimensions": rng.choice((1, 2, 3, 4)) if rng.random() < _SELDOM else 0,
        **{f"{target}_axcache": rng.choice(AXCACHE) for target in SIDEBAND_TARGETS},
        "axprot": rng.randrange(8),
        "axqos": rng.randrange(16),
        "axuser_bits": user_bits,
        "axuser": rng.randrange(1 << user_bits),
        "sideband_registers": rng.random() < _SELDOM,
        "open_windows": rng.random() < _SELDOM,
        "register_protection": rng.choice(PROTECTIONS) if rng.random() < _SELDOM else PROTECTIONS[0],
        "memories_protect": rng.choice(MEMORY_CODES) if rng.random() < _SELDOM else MEMORY_CODES[0],
        "clocks": rng.choice(_CLOCKS) if rng.random() < _SELDOM else NO_CLOCKS,
        "quiescence": rng.random() < _SELDOM,
        "clock_gates": rng.random() < _SELDOM,
        "stream_id_bits": rng.choice((1, 11)) if rng.random() < _SELDOM else 0,
    }


#: The largest part of a plan's budget that a case has.
_PART = 4


@dataclass(frozen=True)
class Case:
    """One run of the regression: a design, the tests (None: all of them), the seed of the traffic and the budget."""

    number: int
    design: Design
    tests: tuple[str, ...] | None
    seed: int
    packets: int


@dataclass(frozen=True)
class Result:
    """The result of a case, which passed if ``failure`` is empty; ``test`` is the first test that failed."""

    case: Case
    test: str
    failure: str
    cycles: int
    seconds: float

    @property
    def replay(self) -> str:
        """The command that runs the test that failed again, or the whole case."""
        case = self.case
        if self.test:
            return replay_command(case.design, self.test, case.seed, case.packets)
        words = ["cdma verify", case.design.block, case.design.options(), f"--seed {case.seed}"]
        return " ".join(filter(None, [*words, f"--{plan_of(case.design).unit} {case.packets}"]))

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.number,
            "design": str(self.case.design),
            "passed": not self.failure,
            "cycles": self.cycles,
            "seconds": round(self.seconds, 1),
            "test": self.test,
            "failure": self.failure,
            "replay": self.replay,
        }


def case_of(seed: int, number: int) -> Case:
    rng = random.Random(f"soak {seed}/{number}")
    design = any_design(rng)
    most = plan_of(design).budget // _PART
    return Case(number, design, None, rng.randrange(1, 1 << 31), rng.randint(most // 10, most))


def run_case(case: Case, jobs: int = 1) -> Result:
    """Runs a case. A design that cannot be built has failed, too."""
    began = time.monotonic()
    try:
        outcomes = verify(
            case.design, tests=case.tests, seed=case.seed, packets=case.packets, jobs=jobs
        ).outcomes
    except CdmaError as error:
        outcomes = [Outcome("", str(error))]
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    cycles = sum(outcome.cycles for outcome in outcomes)
    seconds = time.monotonic() - began
    if not failed:
        return Result(case, "", "", cycles, seconds)
    return Result(case, failed[0].test, str(failed[0].failure), cycles, seconds)


def soak(
    seed: int,
    first: int,
    minutes: float,
    jobs: int = 1,
    clock: Callable[[], float] = time.monotonic,
    *,
    scheduler: str | None = None,
    done: Container[int] = (),
) -> Iterator[Result]:
    """Runs case ``first`` and those after it, except those that are ``done``, until the time is over, which drops the
    rest.

    On this machine there is one case at a time, of ``jobs`` simulations. The workers of a Dask ``scheduler`` share the
    cases, which then come in the order in which they end.
    """
    end = clock() + 60 * minutes

    def cases() -> Iterator[Case]:
        number = first
        while clock() < end:
            if number not in done:
                yield case_of(seed, number)
            number += 1

    campaign: Campaign[Case] = Campaign(
        "soak",
        run_case if scheduler is not None else partial(run_case, jobs=jobs),
        lost=lambda case, reason: Result(case, "", f"the case was lost: {reason}", 0, 0.0),
    )
    if scheduler is None:
        # Else every case would fail.
        find_verilator()
    for _, result in campaign.results(cases(), scheduler=scheduler, seconds=60 * minutes):
        yield result


def reduce(found: Result, report: Callable[[str], None] | None = None) -> Result:
    """The smallest case that still fails: its one test, fewest parameters that are not at their defaults, and the smallest
    budget by halving. Another failure of the same test counts as the same."""
    best = found

    def smaller(design: Design, packets: int, what: str) -> bool:
        nonlocal best
        if report is not None:
            report(what)
        case = Case(best.case.number, design, (found.test,) if found.test else None, best.case.seed, packets)
        result = run_case(case)
        if not result.failure or result.test != found.test:
            return False
        best = result
        return True

    smaller(best.case.design, best.case.packets, f"{found.test} alone")
    defaults = type(best.case.design.config)().settings()
    for name in best.case.design.config.settings():
        settings = best.case.design.config.settings()
        if name not in settings or settings[name] == defaults.get(name):
            continue
        kept = {other: value for other, value in settings.items() if other != name}
        try:
            design = with_settings(best.case.design.block, kept, init=best.case.design.init)
        except ParameterError:
            continue
        smaller(design, best.case.packets, f"without {name}")
    while best.case.packets > 1 and smaller(
        best.case.design, best.case.packets // 2, "with half of the budget"
    ):
        pass
    return best
