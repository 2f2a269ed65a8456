"""The best design within limits, and the Pareto front of area and step."""

from __future__ import annotations

from cdma.sim.study.system.designs import Design, Evaluation, Limits
from cdma.sim.study.system.objective import best, objective, pareto_front
from cdma.sim.study.tuner.search import Space

LIMITS = Limits(500.0, 0.9)
SPACE = Space(
    Design,
    {
        "lanes": (2, 4, 8),
        "word_bits": (32,),
        "window": (32,),
        "code_bits": (1,),
        "units": (1, 2, 4),
        "queue": (0, 2),
        "outstanding": (4, 16),
        "read_buffer_beats": (128, 512),
    },
)


def made_up(design: Design) -> Evaluation:
    """A step that wider engines shorten, and no other parameter changes."""
    width = design.lanes * design.units
    return Evaluation(20.0 * width + design.queue, 1.0, 1 / min(width, 16))


def test_designs_beyond_a_limit_are_not_chosen() -> None:
    known = {design: made_up(design) for design in SPACE}
    chosen = best(known, Limits(170.0, 0.9))
    assert chosen is not None
    assert chosen.lanes * chosen.units == 8
    assert chosen.queue == 0
    assert best(known, Limits(170.0, 2.0)) is None
    assert objective(None, LIMITS) > objective(Evaluation(501.0, 1.0, 1e-3), LIMITS) > 999
    steps = [found.step_s for _, found in pareto_front(known, LIMITS)]
    assert steps == sorted(steps, reverse=True) == [1 / width for width in (2, 4, 8, 16)]
