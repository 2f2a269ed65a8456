"""A bus that stops for ever: each channel of each port, before each of its transfers.

The watchdog must report it, with an address of what was open. When the port answers again, or after a reset, all goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from cdma.hdl.spec.records import RECORD_BYTES, Status
from cdma.verif.engine.transfer import Transfer

from .machine import Channel, Event, Side
from .scene import Scene, Verdict, Wrong

#: Cycles of the watchdog: more than the memories take, and than the software leaves the ring of completions full.
_WATCHDOG = 400
#: Cycles after the watchdog within which its error is in the registers: those of a completion, and of reading them.
_LOGGED = 120
#: Cycles within which everything must end that has nothing to wait for.
_LIMIT = 4000


@dataclass(frozen=True)
class _Place:
    """The place of a stall: before transfer ``index`` of a channel.

    ``oldest``: The address that is open then: of a beat that is read, of a burst that is written, or of a record.
    ``data``: It is of data, not of a record.
    """

    port: int
    channel: Channel
    index: int
    oldest: int
    data: bool


def stall_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on each place and each end of a stall: on one of ``every``, or on the case ``only``."""
    cycles, events = scene.measure(watchdog=_WATCHDOG)
    number = 0
    for place in _places(scene, events):
        kind = place.channel.name
        for end in _END:
            number += 1
            case = f"{scene.machine.ports[place.port]}.{kind.lower()} {place.index} {end}"
            if only != case if only else not scene.takes(number, every):
                continue

            def run(place: _Place, end: str) -> None:
                scene.prepare(watchdog=_WATCHDOG)
                scene.machine.stall(place.port, place.channel, place.index)
                scene.submit()
                _is_reported(scene, place, cycles)
                if place.data:
                    _is_completed(scene, place)
                _END[end](scene)

            yield scene.verdict(kind, case, partial(run, place, end))


def _places(scene: Scene, events: Sequence[Event]) -> Iterator[_Place]:
    counts: Counter[tuple[int, Channel]] = Counter()
    bursts: dict[int, list[Event]] = {}
    for event in events:
        at = event.port, event.channel
        if event.channel == Channel.AW:
            bursts.setdefault(event.port, []).append(event)
        oldest = event.address
        if event.channel == Channel.W:
            # Data follow their addresses in order.
            oldest = next(
                each.address
                for each in reversed(bursts[event.port])
                if each.id == event.id and each.address <= event.address
            )
        if of_record := scene.of_record(event):
            oldest -= oldest % RECORD_BYTES
        yield _Place(*at, counts[at], oldest, not of_record)
        counts[at] += 1


def _is_reported(scene: Scene, place: _Place, cycles: int) -> None:
    software = scene.software
    # The watchdog is an eighth and ten cycles late at most.
    latest = cycles + _WATCHDOG * 9 // 8 + 10 + _LOGGED
    if not scene.machine.expect(f"{scene.channel}.error", latest, valid=1):
        raise TimeoutError("the watchdog is silent")
    found = software.error()
    assert found is not None
    if found.status != Status.WATCHDOG:
        raise Wrong(f"the error registers have {found}")
    if not _was_open(scene, place, found.address):
        raise Wrong(f"the watchdog reports {found.address:#x}, and {place.oldest:#x} was open")
    if not software.flag("stuck"):
        raise Wrong("the channel is not stuck")


def _was_open(scene: Scene, place: _Place, address: int) -> bool:
    """Whether an address is that of the oldest open transaction."""
    config, software = scene.config, scene.software
    side = _side(scene, place)
    beat = config.data_bits(side) // 8
    several = config.striped(side) or (
        config.delta and side == "dev" and place.channel in (Channel.AR, Channel.R)
    )
    if place.data and several:
        # The unit in turn may wait for another port than the one that has stopped first, and the source for another read
        # than the base.
        field = "source" if side == scene.sides.read else "destination"
        starts = [
            (each.descriptor[name], each)
            for each in scene.transfers
            for name in (field, each.base_field)
            if name
        ]
        sizes = (max(len(each.source), each.capacity) for _, each in starts)
        return any(start <= address < start + size for (start, _), size in zip(starts, sizes, strict=True))
    if address - address % beat == place.oldest - place.oldest % beat:
        return True
    # Completions share the port with data, and one may be open, too.
    slots = [software.completion_slot(index) for index in range(len(scene.transfers))]
    return _stops_completions(scene, place) and address in slots


def _side(scene: Scene, place: _Place) -> Side:
    return "host" if place.port == len(scene.machine.ports) - 1 else "dev"


def _stops_completions(scene: Scene, place: _Place) -> bool:
    """Whether no completion can be written."""
    writes = place.channel in (Channel.AW, Channel.W, Channel.B)
    return scene.software.way == "ring" and _side(scene, place) == "host" and writes


def _is_completed(scene: Scene, place: _Place) -> None:
    """The oldest descriptor has completed, if a completion can be written."""
    software = scene.software
    if _stops_completions(scene, place):
        return
    for index in range(len(scene.transfers)):
        if not software.ready(index, _LOGGED):
            raise TimeoutError("the watchdog's completion does not come")
        if software.look(index) == Status.WATCHDOG:
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
