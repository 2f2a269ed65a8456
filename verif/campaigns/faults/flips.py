"""Flipped bits in the memories of an engine whose words have checks, at any time of a few transfers.

A word with one wrong bit is put right, and every byte and completion is as without it. A lost word ends what may depend on
it with ``MEMORY``, and the channel goes on after ``resume``, or at the latest after a soft reset and new windows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial

from cdma.hdl.spec.records import Status
from cdma.verif.engine.transfer import Transfer

from .arrays import Array
from .scene import Scene
from .verdict import Verdict, Wrong, judged

__all__ = ["flip_cases"]

#: Flips of each kind in each memory of a scene.
_EACH = 7
#: Words of a memory that half of the flips are in, because transfers that are short use them.
_FIRST = 8
#: Cycles in which a transfer completes, and a channel goes on.
_LIMIT = 4000
#: Transfers after a flip, of which one must be right.
_TRIES = 4
#: The memories in whose words parity finds one flip, and not two.
_OF_DATA = re.compile(r"(?<!\.list)\.(reader|writer)\.store\.")
#: What is said of beats that are lost, and have no strobes for that.
_NOT_WRITTEN = re.compile(r"(\w+: a write beat has no strobe(; )?)+")
_ENDED = (Status.MEMORY, Status.ABORTED)


def flip_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on each flip: on one of ``every``, or on the case ``only``."""
    cycles, _ = scene.measure()
    for place, array in enumerate(scene.machine.arrays):
        most = 1 if scene.config.memories_protect == "parity" and _OF_DATA.search(array.path) else 2
        for number, wrong in ((number, 1 + wrong) for number in range(_EACH) for wrong in range(most)):
            case = f"{array.path} {wrong} {number}"
            if only != case if only else not scene.takes(2 * (_EACH * place + number) + wrong, every):
                continue
            rng = random.Random(f"{scene.seed}/{scene.name}/{case}")
            kind = f"{'a bit' if wrong == 1 else 'two bits'}, {scene.config.memories_protect}"
            outcome, reason = judged(partial(_run, scene, place, array, wrong, rng.randrange(cycles), rng))
            scene.look()
            yield Verdict(kind, case, outcome, scene.outside, reason)


def _run(scene: Scene, place: int, array: Array, wrong: int, cycle: int, rng: random.Random) -> str:
    machine = scene.machine
    scene.prepare()
    scene.submit()
    machine.run(cycle)
    word = rng.randrange(min(array.words, _FIRST) if rng.random() < 0.5 else array.words)
    group = rng.randrange(0, array.bits, array.group)
    for bit in rng.sample(range(group, group + array.group), wrong):
        machine.flip(place, word, bit)
    try:
        ended = sum(_ends(scene, made) for made in scene.transfers)
        _follow(scene)
    except TimeoutError:
        if not _lost(scene):
            raise
        ended = 0
        _begin_anew(scene)
    corrected, lost = machine.peek("engine.flips", "corrected"), _lost(scene)
    if ended and not lost:
        raise Wrong("a transfer is said to depend on a lost word, and none is counted")
    if lost and wrong == 1 and scene.config.memories_protect == "secded":
        raise Wrong("one wrong bit is not put right")
    try:
        scene.quiet()
    except Wrong as error:
        if not lost or not _NOT_WRITTEN.fullmatch(str(error)):
            raise
        scene.quiet()
    return "detected" if corrected or lost else "harmless"


def _lost(scene: Scene) -> int:
    return scene.machine.peek("engine.flips", "lost")


def _ends(scene: Scene, made: Transfer) -> bool:
    """Waits for the completion of a transfer; whether a lost word has ended it. Otherwise all of it is right."""
    software, before = scene.software, _lost(scene)
    if not software.ready(software.done, _LIMIT):
        _go_on(scene)
    completion = scene.wait(_LIMIT)
    # The numbers of a completion in registers may be lost when software reads them.
    in_registers = software.way == "direct" and completion["status"] == Status.OK
    if completion["status"] in _ENDED or (in_registers and _lost(scene) != before):
        return True
    scene.completes(made, completion)
    return False


def _follow(scene: Scene) -> None:
    """The transfer after the flip, which is right as soon as no lost word is read any more."""
    for _ in range(_TRIES):
        _go_on(scene)
        scene.software.submit([scene.after.record()])
        if not _ends(scene, scene.after):
            return
        scene.lay(scene.after)
    raise Wrong("a lost word ends one transfer after the other")


def _go_on(scene: Scene) -> None:
    if scene.software.flag("halted"):
        scene.machine.expect(f"{scene.channel}.status", _LIMIT, aborting=0)
        scene.software.command(resume=1)


def _begin_anew(scene: Scene) -> None:
    """A soft reset, and windows that are written again: what is lost belongs to no descriptor."""
    machine = scene.machine
    machine.poke("engine.command", soft_reset=1)
    if not machine.expect("engine.status", _LIMIT, resetting=0):
        raise TimeoutError("the soft reset does not end")
    machine.open_windows()
    scene.lay(scene.after)
    scene.software.start(table=scene.table)
    _follow(scene)
