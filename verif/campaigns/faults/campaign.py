"""Campaigns of faults: their parts, and what runs each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import MEMORY_CODES
from cdma.verif.campaigns.regression import Campaign
from cdma.verif.engine.design import EngineDesign

from .flips import flip_cases
from .hostile import hostile_cases
from .machine import Machine
from .responses import abort_cases, reset_cases, response_cases
from .scene import Scene, Tally, Verdict, Wrong, scene_names
from .stalls import stall_cases
from .streams import BATCH, stream_cases

#: The one that needs an engine whose words in memories have checks; another has it with each code.
_MEMORIES = "memories"
#: The campaigns whose faults meet a scene of transfers. A further one is a line here.
_SCENES: dict[str, Callable[[Scene, int, str | None], Iterator[Verdict]]] = {
    "responses": response_cases,
    "stalls": stall_cases,
    "aborts": abort_cases,
    "resets": reset_cases,
    _MEMORIES: flip_cases,
}
_STREAMS, _HOSTILE = "streams", "hostile"
#: Every campaign.
CAMPAIGNS = (*_SCENES, _STREAMS, _HOSTILE)

#: The format of the design itself.
OWN = "own"
#: What stands behind a format for an engine with a CRC.
_WITH_CRC = "+crc"
#: The formats of corrupted streams by default.
FORMATS = (OWN, "zvc32", "zvc8", "bf16", "aie-ml", OWN + _WITH_CRC)

#: An attack takes the time of so many streams, which a count is of.
_STREAMS_PER_ATTACK = 10
#: Cases of a part of the corrupted streams.
_PART = 36 * BATCH


@dataclass(frozen=True)
class Part:
    """A part of a campaign.

    ``name``: The scene, or the format of the streams.
    ``every``: One of so many places of a scene gets a fault.
    ``first``, ``count``: The numbers of the streams.
    ``only``: The one case to run, if any.
    """

    campaign: str
    design: EngineDesign
    name: str
    seed: int
    every: int = 1
    first: int = 0
    count: int = 0
    only: str | None = None

    def __str__(self) -> str:
        return f"{self.campaign} {self.name}"


def campaigns_for(design: EngineDesign) -> Sequence[str]:
    """The campaigns of an engine: flips need checks in its memories."""
    try:
        parts_of(_MEMORIES, design, seed=0)
    except ParameterError:
        return [name for name in CAMPAIGNS if name != _MEMORIES]
    return CAMPAIGNS


def parts_of(
    campaign: str,
    design: EngineDesign,
    *,
    seed: int,
    every: int = 1,
    count: int = 0,
    formats: Sequence[str] = FORMATS,
    only: str | None = None,
) -> list[Part]:
    """The parts of a campaign; of the one ``only``, if a case is named (``part: case``)."""
    wanted, _, case = (only or "").partition(": ")
    made: list[Part] = []
    codes = [design.config.memories_protect]
    if campaign == _MEMORIES and not design.config.coded_memories:
        codes = list(MEMORY_CODES[1:])
    if campaign in _SCENES:
        coded = [replace(design, config=replace(design.config, memories_protect=code)) for code in codes]
        made = [
            Part(campaign, each, name, seed, every) for each in coded for name in scene_names(each.config)
        ]
    else:
        if campaign == _HOSTILE:
            count, formats = -(-count // _STREAMS_PER_ATTACK), (OWN,)
        for index, name in enumerate(formats):
            other = _with_format(design, name)
            share = count // len(formats) + (index < count % len(formats))
            for first in range(0, share, _PART):
                made.append(Part(campaign, other, name, seed, 1, first, min(_PART, share - first)))
    if only is None:
        return made
    found = {part.design: part for part in reversed(made) if part.name == wanted}
    chosen = [replace(part, only=case, first=0, count=BATCH) for part in found.values()]
    if not chosen:
        names = sorted({part.name for part in made})
        raise ParameterError(f"case is {only!r}; it must begin with one of {', '.join(names)} and a colon")
    return chosen


def _with_format(design: EngineDesign, name: str) -> EngineDesign:
    config = design.config
    if name.endswith(_WITH_CRC):
        config = replace(config, crc=True)
    form = name.removesuffix(_WITH_CRC)
    if form != OWN:
        config = replace(config, format=Format.preset(form))
    return replace(design, config=config)


def run_part(part: Part, verilog: str | None = None, plusargs: tuple[str, ...] = ()) -> Tally:
    with Machine(part.design, verilog, plusargs, seed=crc32(f"{part.seed} {part.name}".encode())) as machine:
        if part.campaign in _SCENES:
            scene = Scene(machine, part.name, part.seed)
            return Tally.of(_guarded(scene, _SCENES[part.campaign](scene, part.every, part.only)))
        numbers = range(part.first, part.first + part.count)
        cases = hostile_cases if part.campaign == _HOSTILE else stream_cases
        return Tally.of(cases(machine, part.seed, numbers, part.only))


def _guarded(scene: Scene, verdicts: Iterator[Verdict]) -> Iterator[Verdict]:
    """Verdicts, and one more if the transfers fail without a fault: then there is nothing to put one into."""

    def fail(error: Exception) -> None:
        raise error

    try:
        yield from verdicts
    except (TimeoutError, Wrong) as error:
        yield scene.verdict("none", "none", partial(fail, error))


def run_parts(
    parts: Sequence[Part], *, jobs: int = 1, scheduler: str | None = None
) -> Iterator[tuple[Part, Tally]]:
    """The tallies of parts, kept ones first."""

    def build(waiting: Sequence[Part]) -> None:
        for design in {part.design: None for part in waiting}:
            Machine(design).close()

    campaign: Campaign[Part] = Campaign(
        "faults", _counts, key=lambda part: (part.design.verilog(), repr(part)), prepare=build
    )
    for part, found in campaign.results(parts, jobs=jobs, scheduler=scheduler):
        yield part, Tally(found["counts"], found["failures"])


def _counts(part: Part) -> dict[str, Any]:
    tally = run_part(part)
    return {"counts": tally.counts, "failures": tally.failures}
