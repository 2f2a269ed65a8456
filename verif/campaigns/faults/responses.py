"""Errors of the bus: each response of each transfer in turn is SLVERR or DECERR.

The fault must be reported once, with its status and its address, in the completion and in the error registers; every other
transfer must be right.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.memory import GUARD
from cdma.verif.engine.transfer import Transfer

from .machine import Channel, Event
from .scene import Scene
from .software import ErrorRecord
from .verdict import Silent, Verdict, Wrong

__all__ = ["response_cases"]

#: Cycles in which an error must be in its registers once the completion is there.
_LOGGED = 500

_RESPONSES = {"slverr": 2, "decerr": 3}
_STATUS = {
    "read": (Status.READ_SLVERR, Status.READ_DECERR),
    "write": (Status.WRITE_SLVERR, Status.WRITE_DECERR),
    "fetch": (Status.FETCH_SLVERR, Status.FETCH_DECERR),
    "completion": (Status.COMPLETION_SLVERR, Status.COMPLETION_DECERR),
}


@dataclass(frozen=True)
class _Fault:
    """One response that is an error.

    ``what``
        What it answers: a ``read`` or a ``write`` of data, a ``fetch``, or the write of a ``completion``.
    ``victim``
        The number of its transfer.
    ``expected``
        What the error registers must have.
    """

    what: str
    victim: int
    expected: ErrorRecord


def response_cases(scene: Scene, every: int, only: str | None) -> Iterator[Verdict]:
    """The verdict on each response as each error: on one of ``every`` responses, or on the case ``only``."""
    _, events = scene.measure()
    counts: Counter[tuple[int, Channel]] = Counter()
    for number, event in enumerate(events):
        place = event.port, event.channel
        index = counts[place]
        counts[place] += 1
        if event.channel not in (Channel.R, Channel.B) or not scene.takes(number, every):
            continue
        for (name, response), halt in itertools.product(_RESPONSES.items(), (False, True)):
            port = scene.machine.ports[event.port]
            case = f"{port}.{event.channel.name.lower()} {index} {name}{' halt' * halt}"
            if only not in (None, case):
                continue
            fault = _fault(scene, event, response)

            fails = event.port, event.channel, index, response
            yield scene.verdict(fault.what, case, partial(_run, scene, fails, fault, halt))


def _run(scene: Scene, place: tuple[int, Channel, int, int], fault: _Fault, halt: bool) -> None:
    scene.prepare(halt=halt)
    scene.machine.fail(*place)
    scene.submit()
    _judge(scene, fault, halt)


def _fault(scene: Scene, event: Event, response: int) -> _Fault:
    """What a response belongs to, from its address."""
    software = scene.software
    if event.port == len(scene.machine.ports) - 1 and event.id:
        what = "fetch" if event.channel == Channel.R else "completion"
        find = software.slot if what == "fetch" else software.completion_slot
        slots = {find(index): index for index in range(len(scene.transfers))}
        at = event.address // 64 * 64
        victim = slots[at]
        tag = 0 if what == "fetch" else scene.transfers[victim].descriptor["tag"]
    else:
        what = "read" if event.channel == Channel.R else "write"
        field = "source" if what == "read" else "destination"
        starts = [made.descriptor[field] for made in scene.transfers]
        victim = max(index for index, start in enumerate(starts) if event.address >= start or not index)
        at = event.address if what == "read" else max(event.address, starts[victim])
        tag = scene.transfers[victim].descriptor["tag"]
    status = _STATUS[what][response == _RESPONSES["decerr"]]
    return _Fault(what, victim, ErrorRecord(int(status), at, tag))


def _judge(scene: Scene, fault: _Fault, halt: bool) -> None:
    software = scene.software
    for number, made in enumerate(scene.transfers):
        if not (software.counted(number + 1, 20000) if software.way == "ring" else software.ready(0, 20000)):
            raise TimeoutError("no completion")
        if number == fault.victim:
            _look_at_error(scene, fault, halt)
        if number == fault.victim and fault.what == "completion":
            # Its slot may or may not have it. The data are complete.
            software.skip()
            scene.holds(made)
            continue
        completion = software.take()
        if number == fault.victim:
            _look_at_completion(scene, fault, made, completion)
        else:
            scene.completes(made, completion)
    if again := software.error():
        raise Wrong(f"a second error is reported: {again}")


def _look_at_error(scene: Scene, fault: _Fault, halt: bool) -> None:
    software = scene.software
    if not scene.machine.expect(f"{scene.channel}.error", _LOGGED, valid=1):
        raise Silent("the error registers have nothing")
    if (found := software.error()) != fault.expected:
        raise Wrong(f"the error registers have {found}, not {fault.expected}")
    if software.flag("halted") != halt:
        raise Wrong(f"the channel is {'not ' if halt else ''}halted")
    if halt:
        software.command(resume=1)


def _look_at_completion(scene: Scene, fault: _Fault, made: Transfer, completion: dict[str, int]) -> None:
    want = {
        "status": fault.expected.status,
        "address": fault.expected.address,
        "tag": fault.expected.tag,
        "bytes_read": made.expected.bytes_read,
    }
    if fault.what == "fetch":
        want |= {"bytes_read": 0, "bytes_written": 0}
        _untouched(scene, made)
    elif fault.what == "write" or scene.mode == Mode.RAW:
        # What a failed read makes of a codec is anyone's guess; all else is sent all the same.
        want["bytes_written"] = made.expected.bytes_written
    wrong = {name: (completion[name], value) for name, value in want.items() if completion[name] != value}
    if wrong:
        silent = completion["status"] == Status.OK
        raise (Silent if silent else Wrong)(f"the completion has (got, want) {wrong}")
    if fault.what == "write":
        scene.holds(made)


def _untouched(scene: Scene, made: Transfer) -> None:
    capacity = made.descriptor["capacity"]
    got = scene.machine.read(scene.sides.write, made.descriptor["destination"], capacity)
    if got != bytes([GUARD]) * capacity:
        raise Wrong("data were written for a descriptor that could not be fetched")
