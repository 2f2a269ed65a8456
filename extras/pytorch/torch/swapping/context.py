"""The executor: what autograd keeps goes to the host while the forward pass computes, and comes back ahead of its use."""

from __future__ import annotations

import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.profiler import record_function
from torch.utils._pytree import tree_leaves

from cdma.base.errors import ParameterError
from cdma.gpu.layout import Packed
from cdma.torch.coded import REFRESH, Codec, Expected, formats_of, looked_at
from cdma.torch.keeping import Keeping, Slot
from cdma.torch.ledger import Arriving, Departures, Mail
from cdma.torch.memory import CONVOLUTIONS, is_plain
from cdma.torch.transport import Copy, Transport, WrongReturn

from .policies import Action, Learnt, Moment, Recompute, SwapPolicy
from .pool import POISON, Block, Gauge, HostCodec, HostPool, HostStream, Leaving
from .recompute import recomputed
from .report import Moved, Profile, SwapReport, Timeline

#: Streams whose lengths may be on their way to the host: the elements of more are not there besides.
_DOUBTFUL = 8
#: What stands for the bytes of a stream that are elsewhere.
_NOTHING = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class Settings:
    """How an offload runs; see :func:`cdma.torch.offload`."""

    host_bytes: int | None
    device_bytes: int | None
    ahead: int
    debug: bool = False
    trace: bool = False


class Offload(Keeping):
    """The context that :func:`cdma.torch.offload` gives; :attr:`report` is its account."""

    def __init__(
        self, model: nn.Module, policy: SwapPolicy, transport: Transport, settings: Settings
    ) -> None:
        super().__init__(model)
        if not isinstance(policy, SwapPolicy):
            raise ParameterError(f"the policy is {policy!r}; it must be one of cdma.torch, such as Cdma()")
        policy.check(settings.device_bytes)
        self._by_module = policy if policy.by_module else None
        self._policy, self._transport, self._settings = policy, transport, settings
        self._pool = HostPool(transport, settings.host_bytes, settings.debug)
        self._host = HostCodec()
        self._profile = Profile(transport)
        self._expected: dict[tuple[Slot, int, torch.dtype], Expected] = {}
        self._spare: list[Mail] = []
        self._device = Gauge(settings.device_bytes)
        self._departures: Departures[Hold] = Departures()
        self._order: dict[int, weakref.ref[Swapped]] = {}
        self._count = 0
        # Of the pass, among those in which anything is kept, and whether it is one; others teach nothing.
        self._number, self._keeps = 0, False
        self._waits: deque[tuple[str, Any, Any]] = deque()
        self._given: dict[int, weakref.ref[Any]] = {}
        self._codec = Codec(transport.device)
        # The verdict on the streams of the passes until then, on its way.
        self._asked: tuple[Tensor | None, Any] = (None, None)
        self._lock = threading.RLock()
        self._recomputed = recomputed(model, policy.modules) if isinstance(policy, Recompute) else []
        self._running: tuple[str, Any] | None = None
        self._report = SwapReport(timeline=Timeline(transport) if settings.trace else None)
        self._follows = settings.trace

    @property
    def report(self) -> SwapReport:
        """What has moved until now; waits for the device, and raises :class:`WrongReturn` if a stream was not whole."""
        with self._lock:
            self._sweep()
            self._settle_waits(lambda mark: True)
            # No pass may follow whose beginning would look.
            self._check_verdict()
            self._check_verdict()
            report = self._report
            report.peak_device, report.over, report.peak_host = (
                self._device.peak,
                self._device.over,
                self._pool.peak,
            )
            return report

    @property
    def _account(self) -> SwapReport:
        return self._report

    def __enter__(self) -> Offload:
        super().__enter__()
        for again in self._recomputed:
            again.install()
        return self

    def __exit__(self, *error: Any) -> None:
        for again in self._recomputed:
            again.remove()
        super().__exit__(*error)

    def _begin_pass(self, inputs: Any) -> None:
        super()._begin_pass(inputs)
        # The memory of what the model was called with is the caller's, and no byte of it would be free.
        storages = [
            each.untyped_storage()
            for each in tree_leaves(inputs)
            if isinstance(each, Tensor) and is_plain(each)
        ]
        self._given = {storage.data_ptr(): weakref.ref(storage) for storage in storages}
        with self._lock:
            self._check_verdict()
            self._profile.settle()
            self._number += self._keeps
            self._keeps = False
            self._profile.active = self._policy.learns(self._number)
            for way, fit in (("compress", self._profile.compress), ("decompress", self._profile.decompress)):
                if fit is not None:
                    self._report.prediction[way], self._report.noise[way] = fit.error, fit.noise
            self._settle_waits(lambda mark: mark.query())
            self._count_anew()

    def _count_anew(self) -> None:
        """Has numbers from 0 on for what is still kept: who looks for what was kept before meets no more than that."""
        there = [one for reference in self._order.values() if (one := reference()) is not None]
        for number, one in enumerate(there):
            one.number = number
        self._order = {one.number: weakref.ref(one) for one in there}
        self._count = len(there)

    def _leaves(self, tensor: Tensor) -> bool:
        given = self._given.get(tensor.untyped_storage().data_ptr())
        return given is not None and given() is not None

    def _check_verdict(self) -> None:
        """Looks at the verdict on the streams of the passes before the last one, and asks for the next."""
        (verdict, passed), self._asked = self._asked, (self._codec.verdict(), self._transport.mark())
        if verdict is not None:
            passed.synchronize()
            if int(verdict):
                # One error for all passes until now.
                self._asked = None, None
                raise WrongReturn("a stream came back from the host that is not what was made on the GPU")

    def _entered(self, name: str) -> None:
        self._computed()
        self._running = name, self._transport.mark()

    def _left(self, module: nn.Module, output: Any) -> None:
        self._computed()

    def _computed(self) -> None:
        """Notes what was computed until now."""
        if self._running is not None and self._report.timeline is not None:
            name, begin = self._running
            self._report.timeline.add("compute", name, begin, self._transport.mark())
        self._running = None

    def _hold(self, flat: Tensor, slot: Slot) -> Swapped:
        with self._lock, record_function(f"cdma: keep {label(slot)}"):
            begin = self._mark()
            self._keeps = True
            self._device.staying = False
            self._sweep()
            raw = flat.numel() * flat.element_size()
            learnt = self._profile.of(slot, raw)
            running = self._calls.running[-1][1] if self._calls.running else None
            readers = self._readers.get(slot, set()) | {running}
            learnt.convolution = any(isinstance(module, CONVOLUTIONS) for module in readers)
            self._profile.keeping(begin)
            swapped = Swapped(self, slot, self._count, flat, learnt)
            if self._settings.debug:
                swapped.crc = _crc(flat)
            expected = self._expected_of(flat, slot, learnt) if self._policy.compresses else None
            action = self._leave(swapped, flat, self._action(flat, learnt), expected)
            if action is Action.KEEP:
                swapped.elements = flat
                self._device.make_room(raw)
                self._take(swapped.hold, raw)
            for row in (self._row(slot), self._report):
                row.kept(raw, action)
            self._departures.watch(swapped, swapped.hold)
            self._order[self._count] = weakref.ref(swapped)
            self._count += 1
            self._profile.kept(learnt, self._mark())
            return swapped

    def _mark(self) -> Any:
        """A mark of now, where times are asked for."""
        return self._transport.mark() if self._profile.active or self._report.timeline is not None else None

    def _expected_of(self, flat: Tensor, slot: Slot, learnt: Learnt) -> Expected | None:
        """What is expected of a stream, if there may be one. Of a new one, of all from time to time, and of those that are
        learnt from, what a stream would store is counted, for which the host waits."""
        if not self._may_leave(flat):
            return None
        key = slot, flat.numel(), flat.dtype
        expected = self._expected.get(key)
        if expected is None or self._profile.active or self._number - expected.since >= REFRESH:
            expected, found = looked_at(flat, formats_of(flat, self._policy.dense), self._number)
            learnt.density = found.density
            learnt.mask = found.compressed_bytes - flat.nbytes * found.density
            self._expected[key] = expected
        return expected

    def _may_leave(self, flat: Tensor) -> bool:
        return flat.nbytes >= self._transport.least_bytes and flat.device == self._transport.device

    def _action(self, flat: Tensor, learnt: Learnt) -> Action:
        """What the policy says, and what room there is."""
        if not self._may_leave(flat):
            return Action.KEEP
        moment = Moment(
            self._number,
            self._device.now,
            self._settings.device_bytes,
            self._profile.tensors,
            self._profile.rates,
            self._profile.compress,
            self._profile.decompress,
        )
        action = self._policy.action(learnt, moment)
        # The largest one must have room to come back beside what stays.
        largest = max(one.raw for one in self._profile.tensors.values())
        full = action is Action.KEEP and self._device.is_full(learnt.raw + largest)
        return Action.RAW if full else action

    def _leave(self, swapped: Swapped, flat: Tensor, action: Action, expected: Expected | None) -> Action:
        """Sends elements on their way; returns what was done in the end."""
        if action is Action.KEEP:
            return action
        if action is Action.COMPRESSED and (expected is None or expected.format is None):
            action = Action.RAW
        source, size = flat.view(torch.uint8), flat.nbytes
        if action is Action.COMPRESSED:
            assert expected is not None
            size = expected.space
        block = self._pool.take(size)
        if block is None:
            self._report.full += 1
            return Action.KEEP
        if action is Action.COMPRESSED:
            assert expected is not None
            self._device.make_room(flat.nbytes + size)
            source = self._streamed(swapped, flat, expected, size)
        else:
            self._device.make_room(flat.nbytes)
        self._send(swapped, source, block)
        if action is Action.HOST:
            swapped.hold.host = self._host.compress(self._pool, block, swapped.dtype)
        else:
            swapped.hold.block = block
        # On a processor a length is known at once.
        self._device.sweep()
        while len(self._device.doubtful) > _DOUBTFUL:
            self._device.settle()
        return action

    def _streamed(self, swapped: Swapped, flat: Tensor, expected: Expected, size: int) -> Tensor:
        """The bytes of a stream. The elements stay until it is known that it had room in so many."""
        assert expected.format is not None
        out = flat.new_empty(size, dtype=torch.uint8)
        packed = self._timed("compress", swapped, partial(self._codec.pack, flat, expected.format, out))
        swapped.packed = replace(packed, data=_NOTHING)
        self._take(swapped.hold, packed.index.nbytes + packed.length.nbytes)
        lengths, reference = Arriving(packed.length, self._spare), weakref.ref(swapped)
        known = partial(self._length_known, reference, lengths, expected)
        swapped.doubt = Leaving(lengths, flat, flat.nbytes, lambda: True, known)
        self._device.count(self._device.doubtful, swapped.doubt)
        return out

    def _length_known(self, reference: weakref.ref[Swapped], lengths: Arriving, expected: Expected) -> None:
        """Lets go of the elements of a stream that had room; else it leaves again, whole, or the elements stay."""
        (length,) = lengths.wait()
        expected.was(length)
        swapped = reference()
        if swapped is None:
            return
        doubt, swapped.doubt = swapped.doubt, None
        block = swapped.hold.block
        if doubt is None or block is None or swapped.elements is not None or length <= block.data.numel():
            return
        self._report.again += 1
        self._pool.give_back(block)
        block = swapped.hold.block = self._pool.take(length)
        flat = doubt.source
        if block is None:
            self._report.full += 1
            swapped.elements, swapped.packed, swapped.leaving = flat, None, None
            self._take(swapped.hold, swapped.raw)
            return
        assert swapped.packed is not None
        packed = self._codec.pack(flat, swapped.packed.format, flat.new_empty(length, dtype=torch.uint8))
        swapped.packed = replace(packed, data=_NOTHING)
        self._send(swapped, packed.data, block)

    def _send(self, swapped: Swapped, source: Tensor, block: Block) -> None:
        """Copies bytes to a block."""
        copy = self._transport.out([(source, block.data)])
        block.last = copy.end
        reference = weakref.ref(swapped)
        swapped.leaving = Leaving(
            copy.end,
            source,
            source.numel(),
            partial(_is_wanted, reference),
            partial(self._has_left, reference, copy.end, source),
        )
        self._device.count(self._device.leaving, swapped.leaving)
        self._noted("out", swapped, copy)

    def _has_left(self, reference: weakref.ref[Swapped], event: Any, source: Tensor) -> None:
        """Bytes of a tensor are on the host."""
        swapped = reference()
        if swapped is not None and swapped.leaving is not None and swapped.leaving.event is event:
            swapped.leaving = None
            if self._settings.debug and swapped.packed is not None:
                source.fill_(POISON)

    def _restored(self, swapped: Swapped) -> Tensor:
        with self._lock, record_function(f"cdma: give back {label(swapped.slot)}"):
            begin = self._mark()
            self._device.staying = True
            self._sweep()
            self._profile.giving(swapped.learnt, begin)
            self._computed()
            flat = swapped.elements
            if flat is None:
                flat = self._arrived(swapped) if swapped.is_away else self._held(swapped)
                swapped.elements = flat
                if swapped.crc is not None and (found := _crc(flat)) != swapped.crc:
                    raise WrongReturn(
                        f"tensor {label(swapped.slot)} of {swapped.raw} bytes came back with the CRC "
                        f"{found:#010x}; it left with {swapped.crc:#010x}"
                    )
            end = self._mark()
            self._profile.given(end)
            self._running = (f"backward behind {label(swapped.slot)}", end)
            return flat

    def _held(self, swapped: Swapped) -> Tensor:
        """The elements of a tensor that is leaving, and still there."""
        self._fetch_before(swapped)
        if swapped.doubt is None and swapped.packed is not None:
            self._device.make_room(swapped.raw)
        there = swapped.doubt or swapped.leaving
        if there is None:
            # What needed room had it go.
            return self._arrived(swapped)
        if swapped.doubt is None and swapped.packed is not None:
            return self._unpacked(swapped, there.source)
        swapped.hold.on_device += there.size
        there.size = 0
        return there.source.view(swapped.dtype)

    def _arrived(self, swapped: Swapped) -> Tensor:
        """The elements of a tensor that is away; those before it are on their way behind it."""
        if swapped.hold.coming is None:
            self._device.make_room(swapped.size)
            self._fetch(swapped)
        copy, swapped.hold.coming = swapped.hold.coming, None
        assert copy is not None
        self._fetch_before(swapped)
        begin = self._transport.mark()
        arrived = copy.take()
        self._waits.append((label(swapped.slot), begin, self._transport.mark()))
        if swapped.hold.staging is not None:
            self._pool.give_back(swapped.hold.staging)
            swapped.hold.staging = None
        if swapped.packed is None:
            return arrived.view(swapped.dtype)
        flat = self._unpacked(swapped, arrived)
        self._take(swapped.hold, -copy.nbytes)
        if self._settings.debug:
            arrived.fill_(POISON)
        return flat

    def _unpacked(self, swapped: Swapped, data: Tensor) -> Tensor:
        assert swapped.packed is not None
        self._device.make_room(swapped.raw)
        self._take(swapped.hold, swapped.raw)
        packed = replace(swapped.packed, data=data)
        made: Tensor = self._timed("decompress", swapped, partial(self._codec.unpack, packed))
        return made.view(swapped.dtype)

    def _fetch(self, swapped: Swapped) -> None:
        """Has a tensor come back, behind the copy with which it left."""
        hold = swapped.hold
        block, after = hold.block, None
        if hold.host is not None:
            block = hold.staging = self._pool.take_beyond(swapped.raw)
            after = self._host.expand(hold.host, block)
        assert block is not None
        copy = self._transport.back(block.data, after or block.last)
        block.last, hold.coming = copy.end, copy
        self._take(hold, copy.nbytes)
        self._noted("back", swapped, copy)

    def _fetch_before(self, swapped: Swapped) -> None:
        """Has those come back that were kept before it, as far ahead as is allowed."""
        ahead, expanded = 0, swapped.expanded
        for number in range(swapped.number - 1, -1, -1):
            reference = self._order.get(number)
            before = None if reference is None else reference()
            if before is None or not before.is_away:
                continue
            size = before.size
            ahead += size
            if ahead > self._settings.ahead:
                return
            # A stream needs its elements' memory, too, when its turn comes.
            expanded = max(expanded, before.expanded)
            if before.hold.coming is None:
                if self._device.is_full(size + expanded):
                    return
                self._fetch(before)

    def _take(self, hold: Hold, size: int) -> None:
        hold.on_device += size
        self._device.add(size)

    def _timed(self, way: str, swapped: Swapped, work: Callable[[], Any]) -> Any:
        """Runs a kernel, and notes how long that took."""
        began, begin = time.perf_counter(), self._mark()
        result = work()
        end = self._mark()
        self._report.seconds += time.perf_counter() - began
        self._profile.kernel(way, swapped.learnt, begin, end)
        if self._report.timeline is not None:
            self._report.timeline.add("codec", f"{way} {label(swapped.slot)}", begin, end, swapped.raw)
        return result

    def _noted(self, way: str, swapped: Swapped, copy: Copy) -> None:
        """Enters a copy in the accounts."""
        for row in (self._row(swapped.slot), self._report):
            if way == "out":
                row.moved += copy.nbytes
            else:
                row.back += copy.nbytes
        self._profile.copy(way, copy)
        if self._report.timeline is not None:
            self._report.timeline.add_copy(way, label(swapped.slot), copy)

    def _row(self, slot: Slot) -> Moved:
        return self._report.rows.setdefault(label(slot), Moved())

    def _settle_waits(self, passed: Callable[[Any], bool]) -> None:
        """Enters the waits whose ends are passed in the accounts."""
        while self._waits and passed(self._waits[0][2]):
            name, begin, end = self._waits.popleft()
            seconds = self._transport.seconds(begin, end)
            for row in (self._report.rows[name], self._report):
                row.wait += seconds
            if self._report.timeline is not None:
                self._report.timeline.add("wait", name, begin, end)

    def _sweep(self) -> None:
        """Returns what tensors had that are gone, and what has left the device."""
        self._device.sweep()
        for hold in self._departures.gone():
            self._device.add(-hold.on_device)
            # A copy that nobody needs keeps its memory until it has ended.
            hold.coming = None
            for block in (hold.block, hold.staging):
                if block is not None:
                    self._pool.give_back(block)
            if hold.host is not None:
                hold.host.give_back()


@dataclass
class Hold:
    """What a tensor has of the device's and the host's memory, and must return.

    ``coming``: The copy with which it comes back.
    """

    on_device: int = 0
    block: Block | None = None
    coming: Copy | None = None
    host: HostStream | None = None
    staging: Block | None = None


class Swapped:
    """A tensor that autograd keeps, wherever its elements are.

    ``elements``: Those of a tensor that stays, or has come back: autograd lets go of this when it needs them no more.
    ``leaving``: Its bytes, or those of its stream, as long as they are on the device.
    ``doubt``: Its elements, as long as it is not known whether its stream had room.
    ``packed``: Its stream, if it is compressed; its bytes are elsewhere.
    """

    def __init__(self, context: Offload, slot: Slot, number: int, flat: Tensor, learnt: Learnt) -> None:
        self._context, self.slot, self.number, self.learnt = context, slot, number, learnt
        # What is learnt of a slot is of its last tensor.
        self.dtype, self.raw = flat.dtype, flat.nbytes
        self.hold = Hold()
        self.elements: Tensor | None = None
        self.packed: Packed | None = None
        self.leaving: Leaving | None = None
        self.doubt: Leaving | None = None
        self.crc: int | None = None

    @property
    def is_away(self) -> bool:
        """Whether its elements must come back before they are read."""
        return self.elements is None and self.leaving is None and self.doubt is None

    @property
    def size(self) -> int:
        """The bytes that come back."""
        return self.raw if self.hold.block is None else self.hold.block.data.numel()

    @property
    def expanded(self) -> int:
        """The bytes that are made of what comes back."""
        return 0 if self.packed is None else self.raw

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        return self._context._restored(self)


def _is_wanted(reference: weakref.ref[Swapped]) -> bool:
    """Whether a tensor is there, and was not given back yet."""
    swapped = reference()
    return swapped is not None and swapped.elements is None


def label(slot: Slot) -> str:
    """The name of a tensor of a pass: that of the module, and its number there, if it is not the first."""
    name, number = slot
    return f"{name}[{number}]" if number else name


def _crc(flat: Tensor) -> int:
    return zlib.crc32(flat.cpu().view(torch.uint8).numpy())
