"""A bus that stops for ever: each channel of each port, before each of its transfers.

The watchdog must report it, with an address of what was open. When the port answers again, or after a reset, all goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from cdma.hdl.spec.records import RECORD_BYTES, Status
from cdma.verif.engine.transfer import Transfer

from .machine import Channel
from .scene import Scene
from .software import ErrorRecord
from .verdict import Verdict, Wrong

__all__ = ["stall_cases"]

#: Cycles of the watchdog: more than the memories take, and than the software leaves the ring of completions full.
_WATCHDOG = 400
#: Cycles after the watchdog within which its error is in the registers: those of a completion, and of reading them.
_LOGGED = 100
#: Cycles within which everything must end that has nothing to wait for.
_LIMIT = 4000


def stall_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on each place and each end of a stall: on one of ``every``, or on the case ``only``."""
    cycles, events = scene.measure()
    counts: Counter[tuple[int, Channel]] = Counter()
    number = 0
    for event in events:
        place = event.port, event.channel
        index = counts[place]
        counts[place] += 1
        kind = event.channel.name
        for end in _END:
            number += 1
            case = f"{scene.machine.ports[event.port]}.{kind.lower()} {index} {end}"
            if only != case if only else not scene.takes(number, every):
                continue

            def run(place: tuple[int, Channel, int], at_data: bool = not event.id, end: str = end) -> str:
                scene.prepare(watchdog=_WATCHDOG)
                scene.machine.stall(*place)
                scene.submit()
                _is_reported(scene, place[0], cycles)
                if at_data:
                    _is_completed(scene, place)
                _END[end](scene)
                scene.follow()
                scene.quiet()
                return "detected"

            yield scene.verdict(kind, case, partial(run, (event.port, event.channel, index)))


def _is_reported(scene: Scene, port: int, cycles: int) -> None:
    software = scene.software
    # The watchdog is an eighth and ten cycles late at most.
    latest = cycles + _WATCHDOG * 9 // 8 + 10 + _LOGGED
    if not scene.machine.expect(f"{scene.channel}.error", latest, valid=1):
        raise TimeoutError("the watchdog is silent")
    found = software.error()
    assert found is not None
    if found.status != Status.WATCHDOG:
        raise Wrong(f"the error registers have {found}")
    _look_at_address(scene, port, found)
    if not software.flag("stuck"):
        raise Wrong("the channel is not stuck")


def _look_at_address(scene: Scene, port: int, found: ErrorRecord) -> None:
    """The address must be of something that the stopped port had to do."""
    side = "host" if port == len(scene.machine.ports) - 1 else "dev"
    beat = scene.config.data_bits(side) // 8
    areas = []
    for made in scene.transfers:
        if scene.sides.read == side:
            start = made.descriptor["source"]
            areas.append((start // beat * beat, start + len(made.source)))
        if scene.sides.write == side:
            start = made.descriptor["destination"]
            areas.append((start, start + made.descriptor["capacity"]))
    if side == "host" and scene.software.way == "ring":
        for index in range(len(scene.transfers)):
            for start in (scene.software.slot(index), scene.software.completion_slot(index)):
                areas.append((start, start + RECORD_BYTES))
    if not any(start <= found.address < end for start, end in areas):
        raise Wrong(f"the watchdog reports {found.address:#x}, where nothing was open")


def _is_completed(scene: Scene, place: tuple[int, Channel, int]) -> None:
    """The oldest descriptor has completed, if a completion can be written."""
    software = scene.software
    of_host = place[0] == len(scene.machine.ports) - 1
    if software.way == "ring" and of_host and place[1] in (Channel.AW, Channel.W, Channel.B):
        return
    if software.way == "direct":
        if not software.ready(0, _LOGGED):
            raise TimeoutError("the watchdog's completion does not come")
        if scene.machine.peek(f"{scene.channel}.completion_result", "status") != Status.WATCHDOG:
            raise Wrong("the completion has not the watchdog's status")
        return
    for index in range(len(scene.transfers)):
        if not software.ready(index, _LOGGED):
            raise TimeoutError("the watchdog's completion does not come")
        if software.peek(index)["status"] == Status.WATCHDOG:
            return
    raise Wrong("no completion has the watchdog's status")


def _answer(scene: Scene) -> None:
    scene.machine.heal()
    _go_on(scene)


def _abort(scene: Scene) -> None:
    scene.software.command(abort_now=1)
    scene.machine.run(50)
    scene.machine.heal()
    _go_on(scene)


def _go_on(scene: Scene) -> None:
    """Everything ends as after an abort."""
    software, machine = scene.software, scene.machine
    # Without a ring, the end is when software has popped what there is.
    first = len(scene.transfers) if software.way == "direct" else 0
    for made in scene.transfers[:first]:
        _completes(scene, made)
    if not machine.expect(f"{scene.channel}.status", _LIMIT, aborting=0, stuck=0):
        raise TimeoutError("the channel does not recover")
    if not software.flag("halted"):
        raise Wrong("the channel is not halted")
    software.command(resume=1)
    for made in scene.transfers[first:]:
        _completes(scene, made)
    software.error()


def _completes(scene: Scene, made: Transfer) -> None:
    scene.ends(made, scene.wait(_LIMIT), (Status.ABORTED, Status.WATCHDOG))


def _soft_reset(scene: Scene) -> None:
    scene.machine.poke("engine.command", soft_reset=1)
    scene.machine.run(50)
    scene.machine.heal()
    if not scene.machine.expect("engine.status", _LIMIT, resetting=0):
        raise TimeoutError("the soft reset does not end")
    scene.software.start(table=scene.table)


def _hard_reset(scene: Scene) -> None:
    scene.machine.reset()
    scene.software.start(table=scene.table)


#: What ends a stall: the port answers again, as it is or after an abort or a soft reset; or a reset ends all.
_END = {"answer": _answer, "abort": _abort, "soft_reset": _soft_reset, "hard_reset": _hard_reset}
