"""Aborts and resets at each cycle of a transfer, and so in each state of the engine.

What has not completed is cut short and says so, no transaction is left open, nothing is written afterwards, and the next
transfer is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cdma.hdl.spec.records import Status

from .scene import Scene
from .verdict import Verdict, Wrong

__all__ = ["abort_cases", "reset_cases"]

#: Cycles within which an abort or a reset ends.
_LIMIT = 4000
#: Cycles after the end of all transfers in which one is still tried.
_BEYOND = 20
#: Cycles after a reset in which nothing may be written.
_SILENCE = 100


def abort_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on an abort in each cycle: in one of ``every``, or in the case ``only``."""
    yield from _cases(scene, "abort", _abort, every, only)


def reset_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on a soft and on a hard reset in each cycle: in one of ``every``, or in the case ``only``."""
    yield from _cases(scene, "soft reset", _soft_reset, every, only)
    yield from _cases(scene, "hard reset", _hard_reset, every, only)


def _cases(
    scene: Scene, kind: str, stop: Callable[[Scene], None], every: int, only: str | None
) -> Iterator[Verdict]:
    cycles, _ = scene.measure()
    for cycle in range(cycles + _BEYOND):
        case = f"{kind} {cycle}"
        if only != case if only else not scene.takes(cycle, every):
            continue

        def run(cycle: int) -> None:
            scene.prepare()
            scene.submit()
            scene.machine.run(cycle)
            stop(scene)

        yield scene.verdict(kind, case, partial(run, cycle))


def _abort(scene: Scene) -> None:
    software, machine = scene.software, scene.machine
    software.command(abort_now=1)
    cut, left = [], list(scene.transfers)
    # Without a ring, the abort is over when software has popped what has started; a descriptor that has not is waiting.
    if software.way == "direct" and software.ready(0, _LIMIT // 4):
        cut.append(scene.ends(left.pop(0), software.take(), (Status.ABORTED,)))
    if not machine.expect(f"{scene.channel}.status", _LIMIT, aborting=0):
        raise TimeoutError("the abort does not end")
    if not software.flag("halted"):
        raise Wrong("the channel is not halted")
    # Descriptors may still be fetched: they wait for the end of the halt.
    if scene.look().open_data:
        raise Wrong("transactions are open after the end of an abort")
    software.command(resume=1)
    cut += [scene.ends(made, scene.wait(_LIMIT), (Status.ABORTED,)) for made in left]
    found = software.error()
    if any(cut) != (found is not None) or (found and found.status != Status.ABORTED):
        raise Wrong(f"{sum(cut)} completions are aborted, and the error registers have {found}")


def _soft_reset(scene: Scene) -> None:
    machine = scene.machine
    machine.poke("engine.command", soft_reset=1)
    if not machine.expect("engine.status", _LIMIT, resetting=0):
        raise TimeoutError("the soft reset does not end")
    if scene.look().open:
        raise Wrong("transactions are open after a soft reset")
    _begin_anew(scene)


def _hard_reset(scene: Scene) -> None:
    scene.machine.reset(1)
    _begin_anew(scene)


def _begin_anew(scene: Scene) -> None:
    """Nothing more is written; what had completed is right; the channel begins."""
    software = scene.software
    completed = scene.completed()
    scene.forbid()
    scene.machine.run(_SILENCE)
    for made, completion in zip(scene.transfers, completed, strict=False):
        scene.completes(made, completion)
    for name in ("busy", "halted", "aborting", "stuck"):
        if software.flag(name):
            raise Wrong(f"the channel is {name} after a reset")
    if software.error():
        raise Wrong("the error registers are valid after a reset")
    scene.allow(scene.after)
    software.start(table=scene.table)
