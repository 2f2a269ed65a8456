"""The executor: what autograd keeps goes to the host while the forward pass computes, and comes back ahead of its use."""

from __future__ import annotations

import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.profiler import record_function
from torch.utils.checkpoint import checkpoint

from cdma.base.errors import CdmaError, ParameterError

from ..departures import Departures
from ..keeping import Keeping, Slot
from ..observed import CONVOLUTIONS
from .hostside import HostCodec, HostStream
from .link import Copy, Link
from .packing import Packing, pack
from .policies import Action, Learnt, Moment, Recompute, SwapPolicy
from .pool import POISON, Block, HostPool
from .profile import Profile
from .report import Moved, SwapReport
from .timeline import Timeline

__all__ = ["Offload", "Settings", "WrongReturn"]

#: Tensors of fewer bytes stay where they are.
_LEAST_BYTES = 1024
#: The first passes, in which a policy that asks for it learns.
_PROFILED = 2


class WrongReturn(CdmaError):
    """A tensor did not come back as it left."""


@dataclass(frozen=True)
class Settings:
    """How an offload runs; see :func:`cdma.torch.offload`."""

    host_bytes: int | None
    device_bytes: int | None
    ahead: int
    debug: bool
    trace: bool


class Offload(Keeping):
    """The context that :func:`cdma.torch.offload` gives; :attr:`report` is its account."""

    def __init__(self, model: nn.Module, policy: SwapPolicy, link: Link, settings: Settings) -> None:
        super().__init__(model)
        if not isinstance(policy, SwapPolicy):
            raise ParameterError(f"the policy is {policy!r}; it must be one of cdma.torch, such as Cdma()")
        policy.check(settings.device_bytes)
        self._policy, self._link, self._settings = policy, link, settings
        self._pool = HostPool(link, settings.host_bytes, settings.debug)
        self._host = HostCodec()
        self._profile = Profile(link, active=policy.refresh > 0)
        self._device = _Gauge(settings.device_bytes)
        self._departures: Departures[Hold] = Departures()
        self._order: dict[int, weakref.ref[Swapped]] = {}
        self._count = 0
        self._waits: list[tuple[str, Any, Any]] = []
        self._own_device = next((one.device for one in model.parameters()), torch.device("cpu"))
        self._lock = threading.RLock()
        self._recomputed = _recomputed(model, policy.modules) if isinstance(policy, Recompute) else []
        # The forward methods that these had of their own, while others stand in their place.
        self._forwards: list[Any] = []
        self._running: tuple[str, Any] | None = None
        self._report = SwapReport(timeline=Timeline(link) if settings.trace else None)

    @property
    def report(self) -> SwapReport:
        """What has moved until now."""
        with self._lock:
            self._sweep()
            self._settle_waits()
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
        for module in self._recomputed:
            self._forwards.append(vars(module).get("forward"))
            module.forward = partial(checkpoint, module.forward, use_reentrant=False)
        return self

    def __exit__(self, *error: Any) -> None:
        for module, own in zip(self._recomputed, self._forwards, strict=True):
            # Behind it is the method of the class.
            del module.forward
            if own is not None:
                module.forward = own
        self._forwards.clear()
        super().__exit__(*error)

    def _begin_pass(self) -> None:
        super()._begin_pass()
        with self._lock:
            self._profile.settle()
            for way, fit in (("compress", self._profile.compress), ("decompress", self._profile.decompress)):
                if fit is not None:
                    self._report.prediction[way] = fit.error
            self._settle_waits()
            self._order = {number: one for number, one in self._order.items() if one() is not None}

    def _entered(self, name: str) -> None:
        if self._report.timeline is not None:
            self._computed()
            self._running = name, self._link.mark()

    def _left(self, module: nn.Module, output: Any) -> None:
        if self._report.timeline is not None:
            self._computed()

    def _computed(self) -> None:
        """Notes what was computed until now."""
        if self._running is not None and self._report.timeline is not None:
            name, begin = self._running
            self._report.timeline.add("compute", name, begin, self._link.mark())
        self._running = None

    def _hold(self, flat: Tensor, slot: Slot) -> Swapped:
        with self._lock, record_function(f"cdma: keep {label(slot)}"):
            begin = self._link.mark()
            self._sweep()
            raw = flat.numel() * flat.element_size()
            learnt = self._profile.of(slot, raw)
            running = self._calls.running[-1][1] if self._calls.running else None
            readers = self._readers.get(slot, set()) | {running}
            learnt.convolution = any(isinstance(module, CONVOLUTIONS) for module in readers)
            self._profile.keeping(begin)
            if self._counts_zeros:
                self._profile.count(learnt, flat)
            swapped = Swapped(self, slot, self._count, flat.dtype, learnt)
            if self._settings.debug:
                swapped.crc = _crc(flat)
            action = self._leave(swapped, flat, self._action(flat, learnt))
            if action is Action.KEEP:
                swapped.elements = flat
                self._device.make_room(raw)
                self._take(swapped.hold, raw)
            for row in (self._row(slot), self._report):
                row.kept(raw, action)
            self._departures.watch(swapped, swapped.hold)
            self._order[self._count] = weakref.ref(swapped)
            self._count += 1
            self._profile.kept(learnt, self._link.mark())
            return swapped

    @property
    def _counts_zeros(self) -> bool:
        refresh, number = self._policy.refresh, self._report.passes - 1
        return refresh > 0 and (number < _PROFILED or number % refresh == 0)

    def _action(self, flat: Tensor, learnt: Learnt) -> Action:
        """What the policy says, and what room there is."""
        if learnt.raw < _LEAST_BYTES or flat.device != self._own_device:
            return Action.KEEP
        moment = Moment(
            max(0, self._report.passes - 1),
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

    def _leave(self, swapped: Swapped, flat: Tensor, action: Action) -> Action:
        """Sends elements on their way; returns what was done in the end."""
        if action is Action.KEEP:
            return action
        source, own = flat.view(torch.uint8), False
        if action is Action.COMPRESSED:
            stream, packing = self._timed("compress", swapped, partial(pack, flat))
            if stream.numel() < source.numel():
                source, own, swapped.packing = stream, True, packing
            else:
                action = Action.RAW
        block = self._pool.take(source.numel())
        if block is None:
            swapped.packing = None
            self._report.full += 1
            return Action.KEEP
        self._device.make_room(source.numel())
        copy = self._link.out(source, block.data, block.last)
        block.last = copy
        self._device.leaving(copy, source if own and self._settings.debug else None)
        self._noted("out", swapped, copy)
        if action is Action.HOST:
            swapped.hold.host = self._host.compress(self._pool, block, swapped.dtype)
        else:
            swapped.hold.block = block
        return action

    def _restored(self, swapped: Swapped) -> Tensor:
        with self._lock, record_function(f"cdma: give back {label(swapped.slot)}"):
            begin = self._link.mark()
            self._sweep()
            self._profile.giving(swapped.learnt, begin)
            self._computed()
            flat = swapped.there()
            if flat is None:
                flat = self._arrived(swapped)
                if swapped.crc is not None and _crc(flat) != swapped.crc:
                    raise WrongReturn(
                        f"tensor {label(swapped.slot)} of {swapped.learnt.raw} bytes came back with the CRC "
                        f"{_crc(flat):#010x}; it left with {swapped.crc:#010x}"
                    )
                swapped.storage = weakref.ref(flat.untyped_storage())
            end = self._link.mark()
            self._profile.given(end)
            self._running = (f"backward behind {label(swapped.slot)}", end)
            return flat

    def _arrived(self, swapped: Swapped) -> Tensor:
        """The elements of a tensor that is away; those before it are on their way behind it."""
        if swapped.coming is None:
            self._device.make_room(swapped.size)
            self._fetch(swapped)
        copy, swapped.coming = swapped.coming, None
        assert copy is not None
        self._fetch_before(swapped)
        begin = self._link.mark()
        copy.wait()
        self._waits.append((label(swapped.slot), begin, self._link.mark()))
        self._take(swapped.hold, -copy.nbytes)
        if swapped.hold.staging is not None:
            self._pool.give_back(swapped.hold.staging)
            swapped.hold.staging = None
        if swapped.packing is None:
            return copy.target.view(swapped.dtype)
        flat = self._timed("decompress", swapped, partial(swapped.packing.unpack, copy.target))
        if self._settings.debug:
            copy.target.fill_(POISON)
        return flat

    def _fetch(self, swapped: Swapped) -> None:
        """Has a tensor come back, behind the copy with which it left."""
        hold = swapped.hold
        block, after = hold.block, None
        if hold.host is not None:
            block = hold.staging = self._pool.take_beyond(swapped.learnt.raw)
            after = self._host.expand(hold.host, block)
        assert block is not None
        copy = self._link.back(block.data, after or block.last)
        block.last = swapped.coming = copy
        self._take(hold, copy.nbytes)
        self._noted("back", swapped, copy)

    def _fetch_before(self, swapped: Swapped) -> None:
        """Has those come back that were kept before it, as far ahead as is allowed."""
        ahead = 0
        for number in range(swapped.number - 1, -1, -1):
            reference = self._order.get(number)
            before = None if reference is None else reference()
            if before is None or not before.is_away:
                continue
            size = before.size
            ahead += size
            if ahead > self._settings.ahead:
                return
            if before.coming is None:
                if self._device.is_full(size):
                    return
                self._fetch(before)

    def _take(self, hold: Hold, size: int) -> None:
        hold.on_device += size
        self._device.add(size)

    def _timed(self, way: str, swapped: Swapped, work: Callable[[], Any]) -> Any:
        """Runs a kernel, and notes how long that took."""
        began, begin = time.perf_counter(), self._link.mark()
        result = work()
        end = self._link.mark()
        self._report.seconds += time.perf_counter() - began
        self._profile.kernel(way, swapped.learnt, begin, end)
        if self._report.timeline is not None:
            self._report.timeline.add("codec", f"{way} {label(swapped.slot)}", begin, end, swapped.learnt.raw)
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

    def _settle_waits(self) -> None:
        for name, begin, end in self._waits:
            seconds = self._link.seconds(begin, end)
            for row in (self._report.rows[name], self._report):
                row.wait += seconds
            if self._report.timeline is not None:
                self._report.timeline.add("wait", name, begin, end)
        self._waits.clear()

    def _sweep(self) -> None:
        """Returns what tensors had that are gone, and what has left the device."""
        self._device.sweep()
        for hold in self._departures.gone():
            self._device.add(-hold.on_device)
            for block in (hold.block, hold.staging):
                if block is not None:
                    self._pool.give_back(block)
            if hold.host is not None:
                hold.host.give_back()


@dataclass
class Hold:
    """What a tensor has of the device's and the host's memory, and must return."""

    on_device: int = 0
    block: Block | None = None
    host: HostStream | None = None
    staging: Block | None = None


class Swapped:
    """A tensor that autograd keeps, wherever its elements are.

    ``elements``
        Those of a tensor that stays.
    ``packing``
        How its stream is read, if it is compressed.
    ``coming``
        The copy with which it comes back.
    ``storage``
        The memory of its elements after they have come back, as long as that is there.
    """

    def __init__(self, context: Offload, slot: Slot, number: int, dtype: torch.dtype, learnt: Learnt) -> None:
        self._context, self.slot, self.number, self.dtype, self.learnt = context, slot, number, dtype, learnt
        self.hold = Hold()
        self.elements: Tensor | None = None
        self.packing: Packing | None = None
        self.coming: Copy | None = None
        self.storage: weakref.ref[Any] | None = None
        self.crc: int | None = None

    @property
    def is_away(self) -> bool:
        """Whether its elements must come back before they are read."""
        return self.there() is None

    @property
    def size(self) -> int:
        """The bytes that come back."""
        return self.learnt.raw if self.hold.block is None else self.hold.block.data.numel()

    def there(self) -> Tensor | None:
        """The elements, where they are on the device."""
        if self.elements is not None:
            return self.elements
        storage = None if self.storage is None else self.storage()
        if storage is None:
            return None
        return torch.empty(0, dtype=self.dtype, device=storage.device).set_(storage)

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        return self._context._restored(self)


class _Gauge:
    """Bytes on the device that are held for the backward pass."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.now = self.peak = self.over = 0
        # Copies on their way out, and what must be overwritten behind them.
        self._leaving: deque[tuple[Copy, Tensor | None]] = deque()

    def add(self, size: int) -> None:
        """Counts more, or fewer, bytes."""
        self.over += size > 0 and self.is_full(size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def is_full(self, size: int) -> bool:
        """Whether there is no room for so many bytes more."""
        return self._limit is not None and self.now + size > self._limit

    def leaving(self, copy: Copy, spoil: Tensor | None) -> None:
        """Counts bytes until they have left; their memory is then overwritten, if it is given."""
        self.add(copy.nbytes)
        self._leaving.append((copy, spoil))

    def make_room(self, size: int) -> None:
        """Waits until so many bytes more have room, as far as leaving copies give any."""
        while self._leaving and self.is_full(size):
            self._leaving[0][0].synchronize()
            self.sweep()

    def sweep(self) -> None:
        """Strikes out what has left."""
        while self._leaving and self._leaving[0][0].finished:
            copy, spoil = self._leaving.popleft()
            self.now -= copy.nbytes
            if spoil is not None:
                spoil.fill_(POISON)


def label(slot: Slot) -> str:
    """The name of a tensor of a pass: that of the module, and its number there, if it is not the first."""
    name, number = slot
    return f"{name}[{number}]" if number else name


def _recomputed(model: nn.Module, names: tuple[str, ...]) -> list[nn.Module]:
    if not names:
        return list(model.children())
    modules = dict(model.named_modules())
    for name in names:
        if name not in modules:
            raise ParameterError(
                f"the model has no module {name!r}; it has {', '.join(filter(None, modules))}"
            )
    return [modules[name] for name in names]


def _crc(flat: Tensor) -> int:
    return zlib.crc32(flat.cpu().view(torch.uint8).numpy())
