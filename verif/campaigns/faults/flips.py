"""Flipped bits in the memories of an engine whose words have checks, at any time of a few transfers.

With ``secded`` a word with one wrong bit is put right, and every byte and completion is as without it. A lost word ends what
may depend on it with ``MEMORY``, and the channel goes on after ``resume``, or at the latest after a soft reset and new
windows. With several queue pairs a second one transfers beside the first, and each is judged; a lost word of one ends
nothing of the other. The pin ``alert`` is high where a lost word is counted, and nowhere else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial

from cdma.hdl.spec.records import Status
from cdma.verif.engine.transfer import Transfer

from .machine import Array
from .scene import Scene, Verdict, Wrong, judged

#: Flips of each kind in each memory of a scene.
_EACH = 7
#: Words of a memory that half of the flips are in, because transfers that are short use them.
_FIRST = 8
#: Cycles in which a transfer completes, and a channel goes on.
_LIMIT = 4000
#: Transfers after a flip, of which one must be right.
_TRIES = 4
#: What is said of beats that are lost, and have no strobes for that.
_NOT_WRITTEN = re.compile(r"(\w+: a write beat has no strobe(; )?)+")
_ENDED = (Status.MEMORY, Status.ABORTED)
#: Where all lies that a second pair has; and the memories that are a pair's own.
_OF_SECOND = 0x80000
_OF_PAIR = re.compile(r"\.pair_(\d)\.")


def flip_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on each flip: on one of ``every``, or on the case ``only``."""
    scenes = [scene, *_second_pair(scene)]
    cycles = len(scenes) * scene.measure()[0]
    for place, array in enumerate(scene.machine.arrays):
        # Of two flips parity sees nothing.
        most = 1 if scene.config.memories_protect == "parity" else 2
        for number, wrong in ((number, 1 + wrong) for number in range(_EACH) for wrong in range(most)):
            case = f"{array.path} {wrong} {number}"
            if only != case if only else not scene.takes(2 * (_EACH * place + number) + wrong, every):
                continue
            rng = random.Random(f"{scene.seed}/{scene.name}/{case}")
            kind = f"{'a bit' if wrong == 1 else 'two bits'}, {scene.config.memories_protect}"
            outcome, reason = judged(partial(_run, scenes, place, array, wrong, rng.randrange(cycles), rng))
            scene.look()
            yield Verdict(kind, case, outcome, scene.outside, reason)


def _second_pair(scene: Scene) -> list[Scene]:
    """The transfers of a second pair, on the same channel of the data path."""
    if scene.config.channels == 1:
        return []
    name = f"{scene.channel} zvc ring fast"
    return [Scene(scene.machine.of_pair(1), name, scene.seed, _OF_SECOND)]


def _run(scenes: list[Scene], place: int, array: Array, wrong: int, cycle: int, rng: random.Random) -> str:
    scene, *others = scenes
    machine = scene.machine
    scene.prepare()
    for each in others:
        each.machine.open_windows()
        each.join()
    for each in scenes:
        each.submit()
    machine.run(cycle)
    word = rng.randrange(min(array.words, _FIRST) if rng.random() < 0.5 else array.words)
    group = rng.randrange(0, array.bits, array.group)
    for bit in rng.sample(range(group, group + array.group), wrong):
        machine.flip(place, word, bit)
    of = _OF_PAIR.search(array.path)
    for number, each in enumerate(scenes):
        ended = _ended(each)
        if ended and not _lost(each):
            raise Wrong("a transfer is said to depend on a lost word, and none is counted")
        if ended and of and int(of[1]) != number:
            raise Wrong(f"a lost word of pair {of[1]} ends a transfer of pair {number}")
    corrected = any(each.machine.peek("engine.flips", "corrected") for each in scenes)
    lost = any(_lost(each) for each in scenes)
    if lost and wrong == 1 and scene.config.memories_protect == "secded":
        raise Wrong("one wrong bit is not put right")
    try:
        scene.quiet()
    except Wrong as error:
        if not lost or not _NOT_WRITTEN.fullmatch(str(error)):
            raise
        scene.quiet()
    _tells(scenes)
    return "detected" if corrected or lost else "harmless"


def _tells(scenes: list[Scene]) -> None:
    """The pin shows for each queue pair whether a lost word is counted."""
    counted = sum(bool(_lost(each)) << number for number, each in enumerate(scenes))
    # With other clocks it comes later.
    scenes[0].machine.run(10 * scenes[0].machine.pace)
    alert = scenes[0].look().alert & ((1 << len(scenes)) - 1)
    if alert != counted:
        raise Wrong(f"alert is {alert:#b}, and words are lost of {counted:#b}")


def _ended(scene: Scene) -> int:
    """How many transfers a lost word has ended; after them one is right."""
    try:
        ended = sum(_ends(scene, made) for made in scene.transfers)
        goes_on = _follows(scene)
    except TimeoutError:
        if not _lost(scene):
            raise
        ended, goes_on = 0, False
    if not goes_on:
        _begin_anew(scene)
    return ended


def _lost(scene: Scene) -> int:
    return scene.machine.peek("engine.flips", "lost")


def _ends(scene: Scene, made: Transfer) -> bool:
    """Waits for the completion of a transfer; whether a lost word has ended it. Otherwise everything is right."""
    software = scene.software
    if not software.ready(software.done, _LIMIT):
        _go_on(scene)
    if not software.ready(software.done, _LIMIT):
        raise TimeoutError("no completion")
    before, completion = _lost(scene), software.take()
    # The numbers of a completion in registers may be lost when software reads them.
    in_registers = software.way == "direct" and completion["status"] == Status.OK
    # A lost edge closes an address window, until software writes it.
    closed = completion["status"] == Status.WINDOW and before
    if completion["status"] in _ENDED or closed or (in_registers and _lost(scene) != before):
        return True
    scene.completes(made, completion)
    return False


def _follows(scene: Scene) -> bool:
    """Whether a transfer after the flip is right, as one is as soon as no lost word is read any more."""
    for _ in range(_TRIES):
        _go_on(scene)
        scene.software.submit([scene.after.record()])
        if not _ends(scene, scene.after):
            return True
        scene.lay(scene.after)
    return False


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
    if not _follows(scene):
        raise Wrong("a lost word ends one transfer after the other")
