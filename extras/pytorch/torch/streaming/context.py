"""The executor: weights come unit by unit, ahead of the module that needs them, and go behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.format import Format

from .away import Away
from .codecs import Codec
from .depot import Lane, Passed, Place, Ring
from .plan import Cold, Measured, Order, Plan, measured, plan
from .units import Streamed, StreamReport, holders, units_of

#: Rounds of which the device's verdict is not there yet; then the oldest is waited for.
_ROUNDS = 2
#: Modules whose weights a stream has.
_STREAMED: WeakSet[nn.Module] = WeakSet()


class WrongWeights(CdmaError):
    """Weights did not come as they were held."""


@dataclass(frozen=True)
class Settings:
    """How weights are streamed; see :func:`cdma.torch.stream`."""

    device_bytes: int
    ahead: int
    format: Format | None
    raw: bool


class Stream:
    """The context that :func:`cdma.torch.stream` gives; :attr:`report` is its account."""

    def __init__(
        self, model: nn.Module, device: torch.device, lane: Lane, codec: Codec, settings: Settings
    ) -> None:
        self._model, self._device, self._lane, self._codec = model, device, lane, codec
        self._settings = settings
        self._homes: dict[nn.Parameter, torch.device] = {}
        self._buffers: list[tuple[nn.Module, str, torch.device]] = []
        self._cold: list[Cold] = []
        self._ring: Ring | None = None
        self._order: Order
        self._expanded: Place | None = None
        self._taken: dict[Cold, Place] = {}
        self._handles: list[Any] = []
        self._entered = False
        self._streamed: list[nn.Module] = []
        self._grad = torch.no_grad()
        # Waits of this round, and of those whose end the device has not passed.
        self._waits: list[tuple[str, Any, Any]] = []
        self._rounds: deque[_Round] = deque()
        self._needed = 0
        self._report = StreamReport()

    @property
    def report(self) -> StreamReport:
        """What stays and what has come until now; waits for the device."""
        self._turn()
        self._settle(0)
        self._count()
        return self._report

    def __enter__(self) -> Stream:
        if self._entered:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        modules = list(self._model.modules())
        if not _STREAMED.isdisjoint(modules):
            raise ParameterError(
                "the model, or a part of it, is streamed already; one stream has its weights"
            )
        self._homes = {weight: weight.device for weight in self._model.parameters()}
        self._report = StreamReport()
        try:
            with self._on_device():
                self._place(self._planned())
        except BaseException:
            with self._on_device():
                self._restore()
            raise
        away = {id(weight) for unit in self._cold for weight in unit.measured.unit.weights}
        for module in modules:
            if module is self._model or any(id(weight) in away for weight in module.parameters()):
                self._handles.append(module.register_state_dict_pre_hook(_refuse))
        for unit in self._cold:
            for module in holders(unit.measured.unit):
                # Hooks of the module's own may read its weights.
                self._handles += [
                    module.register_forward_pre_hook(partial(self._enter, unit), prepend=True),
                    module.register_forward_hook(partial(self._leave, unit), always_call=True),
                ]
        self._handles.append(self._model.register_forward_pre_hook(self._begin_pass, prepend=True))
        _STREAMED.update(modules)
        self._streamed = modules
        self._entered = True
        self._grad.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._grad.__exit__(kind, error, trace)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        _STREAMED.difference_update(self._streamed)
        self._streamed, self._entered = [], False
        with self._on_device():
            self._count()
            self._restore()

    def __reduce__(self) -> Any:
        # A copy of the model copies what its hooks are of.
        _refuse()

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        if self._ring is not None:
            self._ring.synchronize()

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """Whatever mode the caller computes in, weights are ordinary tensors: others choose other kernels, and cannot be
        trained."""
        device = torch.cuda.device(self._device) if self._device.type == "cuda" else nullcontext()
        with device, torch.inference_mode(False), torch.no_grad():
            yield

    def _planned(self) -> Plan:
        settings = self._settings
        units = [
            measured(unit, self._codec, self._device, settings.format, raw=settings.raw)
            for unit in units_of(self._model)
        ]
        inside = {id(weight) for unit in units for weight in unit.unit.weights}
        rest = [
            tensor
            for tensor in (*self._model.parameters(), *self._model.buffers())
            if id(tensor) not in inside
        ]
        always = sum(tensor.numel() * tensor.element_size() for tensor in rest)
        made = plan(units, always, settings.device_bytes, settings.ahead + 1)
        report = self._report
        report.raw = sum(weight.numel() * weight.element_size() for weight in self._model.parameters())
        report.cold = sum(unit.raw for unit in made.cold)
        report.hot = report.raw - report.cold
        report.held = sum(unit.held for unit in made.cold)
        report.device = made.nbytes + always
        for unit in units:
            hot = unit in made.hot
            report.rows[unit.unit.name] = Streamed(unit.raw, unit.raw if hot else unit.held, hot)
        return made

    def _place(self, made: Plan) -> None:
        """Brings what comes to the host, and what stays to the device."""
        for each in made.cold:
            self._hold(each)
        for weight in self._model.parameters():
            if type(weight) is not Away:
                weight.data = weight.data.to(self._device)
        for module in self._model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.device != self._device:
                    self._buffers.append((module, name, buffer.device))
                    module._buffers[name] = buffer.to(self._device)
        if self._cold:
            self._ring = Ring(self._lane, self._device, made.slots, made.slot)
            self._order = Order(self._cold)
            if made.expanded:
                self._expanded = Place(made.expanded, self._device, self._lane)
            self._fetch()

    def _fetch(self) -> None:
        """Has the units come that are needed next."""
        assert self._ring is not None
        self._ring.fetch(self._order.following(self._ring.places))

    def _hold(self, each: Measured) -> None:
        cold = Cold(each, self._codec, self._device, self._lane.memory)
        self._cold.append(cold)
        cold.hide()

    def _begin_pass(self, _: nn.Module, inputs: Any) -> None:
        self._report.passes += 1
        for unit in self._cold:
            if unit.running:
                # PyTorch calls no hook behind a pass that was interrupted from outside.
                unit.running.clear()
                self._release(unit)

    def _enter(self, unit: Cold, module: nn.Module, inputs: Any) -> None:
        unit.running.append(module)
        if len(unit.running) > 1:
            return
        if torch.is_grad_enabled():
            raise ParameterError(
                "the model computes with gradients, which need weights that have gone; a stream of weights is for inference"
            )
        with self._on_device():
            self._order.needed(unit)
            if self._needed and self._needed % len(self._cold) == 0:
                self._turn()
                self._settle(_ROUNDS)
            self._needed += 1
            place = self._made(unit) if unit.is_packed else self._arrived(unit)
            self._taken[unit] = place
            unit.show(place.memory)
            self._fetch()

    def _leave(self, unit: Cold, module: nn.Module, inputs: Any, output: Any) -> None:
        # A call in which something failed before it was entered is left even so.
        if module in unit.running:
            unit.running.remove(module)
            if not unit.running:
                self._release(unit)

    def _release(self, unit: Cold) -> None:
        """No call needs a unit any more."""
        with self._on_device():
            unit.hide()
            place = self._taken.pop(unit, None)
            if place is not None:
                place.give_back(self._lane)
                if not unit.is_packed:
                    self._fetch()

    def _arrived(self, unit: Cold) -> Place:
        """The place in which the block of a unit has arrived, for what is computed next."""
        assert self._ring is not None
        place = self._ring.take(unit, self._order.following(self._ring.places))
        assert place.copy is not None
        begin = self._lane.mark()
        try:
            place.copy.wait()
        except BaseException:
            place.forget(self._lane)
            raise
        self._waits.append((unit.measured.unit.name, begin, self._lane.mark()))
        return place

    def _made(self, unit: Cold) -> Place:
        """The place in which the elements of a unit are made."""
        made = self._expanded
        assert made is not None
        assert self._ring is not None
        if made.busy:
            # A unit that is called within another one.
            self._ring.beyond += 1
            made = Place(made.memory.numel(), self._device, self._lane)
        if made.unit is not unit:
            arrived = self._arrived(unit)
            made.unit = None
            made.read.wait()
            try:
                unit.expand(self._codec, arrived.memory, made.memory)
            except BaseException:
                arrived.forget(self._lane)
                raise
            made.unit = unit
            arrived.give_back(self._lane)
        made.busy = True
        return made

    def _turn(self) -> None:
        """A round of all units ends; the verdict on its streams is on its way."""
        if self._cold:
            with self._on_device():
                waits, self._waits = self._waits, []
                verdict = self._codec.verdict()
                self._rounds.append(_Round(waits, verdict, self._lane.now()))

    def _settle(self, most: int) -> None:
        """Looks at rounds that have ended, until at most so many are left."""
        while self._rounds and (len(self._rounds) > most or self._rounds[0].passed.there):
            round = self._rounds.popleft()
            round.passed.synchronize()
            for name, begin, end in round.waits:
                seconds = self._lane.seconds(begin, end)
                self._report.rows[name].wait += seconds
                self._report.wait += seconds
            if round.verdict is not None and int(round.verdict):
                # One error for all rounds until now, and what they were computed with is not used again.
                self._rounds.clear()
                self._forget()
                for unit in self._cold:
                    unit.check(self._codec, unit.block.to(self._device))
                raise WrongWeights("weights came to the device other than they are on the host")

    def _forget(self) -> None:
        """Has all weights come anew."""
        if self._ring is not None:
            with self._on_device():
                self._ring.forget()
        if self._expanded is not None and not self._expanded.busy:
            self._expanded.unit = None

    def _count(self) -> None:
        """Brings the report up to date."""
        report, ring = self._report, self._ring
        if ring is not None:
            report.fetches, report.moved = ring.fetches, ring.moved
            report.late, report.beyond = ring.late, ring.beyond

    def _restore(self) -> None:
        """Gives the weights back, where they were, and raises then what went wrong on the way."""
        damaged: list[CdmaError] = []
        for cold in self._cold:
            try:
                self._give_back(cold)
            except CdmaError as error:
                damaged.append(error)
        for weight, home in self._homes.items():
            if type(weight) is not Away:
                weight.data = weight.data.to(home)
        for module, name, home in self._buffers:
            buffer = module._buffers.get(name)
            if buffer is not None:
                module._buffers[name] = buffer.to(home)
        try:
            if damaged:
                raise damaged[0]
            self.synchronize()
            self._turn()
            self._settle(0)
        finally:
            self._cold, self._buffers, self._homes = [], [], {}
            self._ring = self._expanded = None
            self._taken.clear()

    def _give_back(self, cold: Cold) -> None:
        """Gives the weights of a unit back."""
        memory = block = cold.block.to(self._device)
        if cold.is_packed:
            memory = torch.empty(cold.measured.expanded, dtype=torch.uint8, device=self._device)
            cold.expand(self._codec, block, memory)
        cold.show(memory)
        for weight in cold.measured.unit.weights:
            weight.data = weight.data.to(self._homes[weight], copy=True)


@dataclass(frozen=True)
class _Round:
    """Waits of a round of units, and the verdict on its streams, which is on the host once all has ``passed``."""

    waits: list[tuple[str, Any, Any]]
    verdict: Tensor | None
    passed: Passed


def _refuse(*_: Any) -> None:
    raise ParameterError(
        "weights are away while they are streamed; read the state of the model outside of the block"
    )
