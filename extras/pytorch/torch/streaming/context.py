"""The executor: weights come unit by unit, ahead of the module that needs them, and go behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any
from weakref import WeakSet

import torch
from torch import nn

from cdma.base.errors import CdmaError, ParameterError

from .depot import ROUNDS, Depot
from .plan import Away, Cold, Order, plan
from .units import Streamed, StreamReport, holders, units_of

#: Modules whose weights a stream has.
_STREAMED: WeakSet[nn.Module] = WeakSet()


class Stream:
    """The context that :func:`cdma.torch.stream` gives; :attr:`report` is its account."""

    def __init__(self, model: nn.Module, depot: Depot, device_bytes: int, ahead: int) -> None:
        self._model, self._depot, self._device = model, depot, depot.device
        self._device_bytes, self._ahead = device_bytes, ahead
        # How many blocks may be on the device, or on their way.
        self._slots = 0
        self._homes: dict[nn.Parameter, torch.device] = {}
        self._buffers: list[tuple[nn.Module, str, torch.device]] = []
        self._cold: list[Cold] = []
        self._order: Order
        self._handles: list[Any] = []
        self._entered = False
        self._streamed: list[nn.Module] = []
        self._grad = torch.no_grad()
        self._needed = 0

    @property
    def report(self) -> StreamReport:
        """What stays and what has come until now; waits for the device."""
        with self._on_device():
            self._depot.turn()
            self._settle(0)
        return self._depot.report

    def __enter__(self) -> Stream:
        if self._entered:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        modules = list(self._model.modules())
        if not _STREAMED.isdisjoint(modules):
            raise ParameterError(
                "the model, or a part of it, is streamed already; one stream has its weights"
            )
        self._homes = {weight: weight.device for weight in self._model.parameters()}
        self._depot.report = StreamReport()
        try:
            with self._on_device():
                self._place()
        except BaseException:
            with self._on_device():
                self._restore()
            raise
        away = {id(weight) for unit in self._cold for weight in unit.unit.weights}
        for module in modules:
            if module is self._model or any(id(weight) in away for weight in module.parameters()):
                self._handles.append(module.register_state_dict_pre_hook(_refuse))
        # What moves weights is no part of a graph.
        enter, leave, begin = map(torch.compiler.disable, (self._enter, self._leave, self._begin_pass))
        for unit in self._cold:
            for module in holders(unit.unit):
                # Hooks of the module's own may read its weights.
                self._handles += [
                    module.register_forward_pre_hook(partial(enter, unit), prepend=True),
                    module.register_forward_hook(partial(leave, unit), always_call=True),
                ]
        self._handles.append(self._model.register_forward_pre_hook(begin, prepend=True))
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
            self._restore()

    def __reduce__(self) -> Any:
        # A copy of the model copies what its hooks are of.
        _refuse()

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        self._depot.synchronize()

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """Whatever mode the caller computes in, weights are ordinary tensors: others choose other kernels, and cannot be
        trained."""
        device = torch.cuda.device(self._device) if self._device.type == "cuda" else nullcontext()
        with device, torch.inference_mode(False), torch.no_grad():
            yield

    def _place(self) -> None:
        """Plans, and brings what comes to the host, and what stays to the device."""
        units = [Cold(unit, self._depot) for unit in units_of(self._model)]
        inside = {id(weight) for unit in units for weight in unit.unit.weights}
        everything = (*self._model.parameters(), *self._model.buffers())
        always = sum(tensor.nbytes for tensor in everything if id(tensor) not in inside)
        made = plan(units, always, self._device_bytes, self._ahead + 1)
        report = self._depot.report
        report.raw = sum(weight.nbytes for weight in self._model.parameters())
        report.cold = sum(unit.bundle.raw for unit in made.cold)
        report.hot = report.raw - report.cold
        report.held = sum(unit.bundle.held for unit in made.cold)
        report.device = made.nbytes + always
        for unit in units:
            hot = unit in made.hot
            size = unit.bundle.raw if hot else unit.bundle.held
            report.rows[unit.unit.name] = Streamed(unit.bundle.raw, size, hot)
        for unit in made.cold:
            unit.send(self._depot)
            self._cold.append(unit)
        report.left = 0
        for weight in self._model.parameters():
            if type(weight) is not Away:
                weight.data = weight.data.to(self._device)
        for module in self._model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.device != self._device:
                    self._buffers.append((module, name, buffer.device))
                    module._buffers[name] = buffer.to(self._device)
        if self._cold:
            self._slots, self._order = made.slots, Order(self._cold)
            self._fetch()

    def _fetch(self) -> None:
        """Has the units come that are needed next, as far as there is room."""
        wanted = self._order.following(self._slots)
        for unit in wanted:
            if unit.held.coming is None and not unit.running:
                if not self._has_room(unit, wanted):
                    return
                self._depot.fetch(unit.held)

    def _has_room(self, unit: Cold, wanted: Sequence[Cold]) -> bool:
        """Whether the block of a unit has room; for that one may be dropped that comes and is not ``wanted``."""
        # What is packed leaves its block as soon as its elements are made.
        busy = sum(bool(one.running) and not one.bundle.is_packed for one in self._cold if one is not unit)
        if self._depot.coming + busy < self._slots:
            return True
        stale = next((one for one in self._cold if one.held.coming and one not in wanted), None)
        if stale is not None:
            self._depot.drop(stale.held)
        return stale is not None

    def _begin_pass(self, _: nn.Module, inputs: Any) -> None:
        self._depot.report.passes += 1
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
                self._depot.turn()
                self._settle(ROUNDS)
            self._needed += 1
            others = any(one.running and one.bundle.is_packed for one in self._cold if one is not unit)
            full = unit.held.coming is None and not self._has_room(unit, ())
            # One that is called within another one has elements beyond those of one.
            self._depot.report.beyond += full or (unit.bundle.is_packed and others)
            unit.show(self._depot.get(unit.held, unit.unit.name))
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
            if not unit.bundle.is_packed:
                self._fetch()

    def _settle(self, most: int) -> None:
        self._depot.settle([unit.held for unit in self._cold], most)

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
            self._depot.turn()
            self._settle(0)
        finally:
            for cold in self._cold:
                self._depot.drop(cold.held)
            self._cold, self._buffers, self._homes = [], [], {}

    def _give_back(self, cold: Cold) -> None:
        """Gives the weights of a unit back."""
        cold.held.sent.end.synchronize()
        memory = block = cold.held.block.to(self._device)
        if cold.bundle.is_packed:
            memory = torch.empty(cold.bundle.expanded, dtype=torch.uint8, device=self._device)
            cold.bundle.expand(self._depot.codec, block, memory)
        cold.show(cold.bundle.tensors(memory))
        for weight in cold.unit.weights:
            weight.data = weight.data.to(self._homes[weight], copy=True)


def _refuse(*_: Any) -> None:
    raise ParameterError(
        "weights are away while they are streamed; read the state of the model outside of the block"
    )
