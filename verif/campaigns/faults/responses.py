"""Bus errors, aborts and resets, everywhere in a transfer.

Each response of each transfer in turn is SLVERR or DECERR. The fault must be reported once, with its status and
address, in the completion and in the error registers; every other transfer must be right.

An abort or a reset comes at each cycle of a transfer, and so in each state of the engine. A transfer that has not
completed is cut short and reports it, no transaction is left open, nothing is written afterwards, and the next transfer
is right.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.memory import GUARD
from cdma.verif.engine.transfer import Transfer

from .machine import Channel, Event
from .scene import Scene, Silent, Verdict, Wrong
from .software import ErrorRecord

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

    ``what``: It answers a ``read`` or a ``write`` of data, a ``fetch``, or the write of a ``completion``.
    ``victim``: The number of its transfer.
    ``expected``: The expected error registers.
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
    if scene.of_record(event):
        what = "fetch" if event.channel == Channel.R else "completion"
        find = software.slot if what == "fetch" else software.completion_slot
        slots = {find(index): index for index in range(len(scene.transfers))}
        at = event.address // 64 * 64
        victim = slots[at]
        tag = 0 if what == "fetch" else scene.transfers[victim].descriptor["tag"]
    else:
        what = "read" if event.channel == Channel.R else "write"
        field = "source" if what == "read" else "destination"
        # At a device port a read with an ID is one of a base.
        starts = [made.descriptor[made.base_field if event.id else field] for made in scene.transfers]
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
    capacity = made.capacity
    got = scene.machine.read(scene.sides.write, made.descriptor["destination"], capacity)
    if got != bytes([GUARD]) * capacity:
        raise Wrong("data were written for a descriptor that could not be fetched")


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
