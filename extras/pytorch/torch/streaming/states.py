"""An optimiser's states on the host: those of a few parameters come before their step, and leave behind it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from weakref import WeakSet

from torch import Tensor, nn
from torch.optim import Optimizer

from cdma.base.errors import CdmaError, ParameterError
from cdma.torch.memory import is_plain

from .depot import ROUNDS, Depot, Held
from .units import Streamed, StreamReport

#: A unit has no more than the largest parameter, and so many parts of it.
_MORE = 8
#: Optimisers whose states a stream has.
_STREAMED: WeakSet[Optimizer] = WeakSet()


@dataclass(eq=False)
class _Unit:
    """The states of parameters that are stepped together, each with the number of its group.

    ``planned``: Whether it is known where they are between steps.
    ``held``: What they are on the host; None where they are on the device.
    ``tensors``: Those that go and come.
    """

    name: str
    members: list[tuple[int, nn.Parameter]]
    planned: bool = False
    held: Held | None = None
    tensors: list[Tensor] = field(default_factory=list)

    @property
    def steps(self) -> bool:
        """Whether the next step is about one of them."""
        return any(parameter.grad is not None for _, parameter in self.members)

    @property
    def stays(self) -> bool:
        """Whether its states are on the device, and known to stay there."""
        return self.planned and self.held is None

    @property
    def raw(self) -> int:
        """Bytes of the states."""
        return self.held.bundle.raw if self.held else sum(tensor.nbytes for tensor in self.tensors)


class States:
    """The context that :func:`cdma.torch.stream` gives for an optimiser; :attr:`report` is its account."""

    def __init__(self, optimizer: Optimizer, depot: Depot, device_bytes: int, ahead: int) -> None:
        self._optimizer, self._depot = optimizer, depot
        self._device_bytes, self._ahead = device_bytes, ahead
        self._units: list[_Unit] = []
        self._known: set[nn.Parameter] = set()
        self._handles: list[Any] = []

    @property
    def report(self) -> StreamReport:
        """What stays and what has moved until now; waits for the device."""
        self._settle(0)
        return self._depot.report

    def __enter__(self) -> States:
        if self._handles:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        if self._optimizer in _STREAMED:
            raise ParameterError("the optimiser is streamed already; one stream has its states")
        self._depot.report = StreamReport()
        self._find()
        state = self._optimizer.state
        self._plan([unit for unit in self._units if any(state.get(each) for _, each in unit.members)])
        optimizer = self._optimizer
        _STREAMED.add(optimizer)
        self._handles = [
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._behind),
            optimizer.register_state_dict_pre_hook(_refuse),
            optimizer.register_load_state_dict_pre_hook(_refuse),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        _STREAMED.discard(self._optimizer)
        damaged: list[CdmaError] = []
        cold = self._cold()
        brought = [unit.held for unit in cold if unit.held]
        for unit in cold:
            try:
                self._keep(unit)
            except CdmaError as broken:
                damaged.append(broken)
        self._units, self._known = [], set()
        self._depot.turn()
        self._depot.settle(brought)
        if damaged:
            raise damaged[0]

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        self._depot.synchronize()

    def _before(self, _: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes the step of each parameter whose states do not stay; leaves the optimiser those of the others."""
        if any(each is not None for each in (*args[1:], *kwargs.values())):
            raise ParameterError("step has a closure; an optimiser whose states are on the host takes none")
        self._depot.report.passes += 1
        self._find()
        apart = [unit for unit in self._units if unit.steps and not unit.stays]
        for place, unit in enumerate(apart):
            before = unit.held
            self._bring(unit)
            self._fetch(apart[place + 1 : place + 1 + self._ahead])
            _step(self._part([unit]))
            self._send(unit, before)
        staying = self._part([unit for unit in self._units if unit.stays])
        return (staying, *args[1:]), kwargs

    def _behind(self, *_: Any) -> None:
        """Behind a step: plans what there is to plan, and has what the next one begins with come."""
        self._depot.turn()
        self._settle(ROUNDS)
        if any(unit.steps and self._is_new(unit) for unit in self._units):
            self._plan([unit for unit in self._units if unit.planned or unit.steps])
        self._count()
        self._fetch(self._cold()[: self._ahead])

    def _is_new(self, unit: _Unit) -> bool:
        """Whether a unit, or one of its parameters, had no states when the others were planned."""
        return not unit.planned or (unit.held is None and len(self._large(unit)) != len(unit.tensors))

    def _settle(self, most: int) -> None:
        self._depot.settle([unit.held for unit in self._units if unit.held], most)

    def _find(self) -> None:
        """Makes units of parameters that are in none: of those that follow each other, about as much as of the largest."""
        groups = self._optimizer.param_groups
        largest = max((each.nbytes for group in groups for each in group["params"]), default=0)
        room = -1
        for number, group in enumerate(groups):
            names = group.get("param_names", ())
            for place, parameter in enumerate(group["params"]):
                if parameter in self._known:
                    continue
                self._known.add(parameter)
                room -= parameter.nbytes
                if room < 0:
                    name = names[place] if place < len(names) else f"{number}.{place}"
                    self._units.append(_Unit(name, []))
                    room = largest + largest // _MORE - parameter.nbytes
                self._units[-1].members.append((number, parameter))

    def _plan(self, known: Sequence[_Unit]) -> None:
        """Has states stay for which there is room: the largest if there is none to bring them, and then in the order of the
        parameters."""
        for unit in known:
            if unit.held is None:
                unit.tensors = self._large(unit)
        by_size = sorted(known, key=lambda unit: -unit.raw)
        needed = [
            sum(unit.raw for unit in by_size[:count]) + self._passage(by_size[count:])
            for count in range(len(by_size) + 1)
        ]
        if min(needed) > self._device_bytes:
            raise ParameterError(
                f"device_bytes is {self._device_bytes:,}; {min(needed):,} are needed: "
                f"{2 * self._ahead + 2} times the states of the largest parameter, on their way and while it is stepped"
            )
        count = next(count for count, each in enumerate(needed) if each <= self._device_bytes)
        room = self._device_bytes - needed[count]
        staying = set(map(id, by_size[:count]))
        for unit in known:
            if id(unit) not in staying and unit.raw <= room:
                room -= unit.raw
                staying.add(id(unit))
            if id(unit) in staying:
                self._keep(unit)
            elif unit.held is None:
                self._send(unit, None)
            unit.planned = True
        self._count()

    def _passage(self, units: Iterable[_Unit]) -> int:
        """Bytes of the device through which states come and go: ``ahead`` of the largest each way, those that have arrived
        or are about to leave, and their elements."""
        return (2 * self._ahead + 2) * max((unit.raw for unit in units), default=0)

    def _large(self, unit: _Unit) -> list[Tensor]:
        """The states that are worth a copy."""
        return [
            state
            for _, parameter in unit.members
            for state in self._optimizer.state.get(parameter, {}).values()
            if isinstance(state, Tensor)
            and state.device == self._depot.device
            and is_plain(state)
            and state.nbytes >= self._depot.transport.least_bytes
        ]

    def _cold(self) -> list[_Unit]:
        return [unit for unit in self._units if unit.held is not None]

    def _fetch(self, units: Sequence[_Unit]) -> None:
        for unit in units:
            if unit.held is not None:
                self._depot.fetch(unit.held)

    def _bring(self, unit: _Unit) -> None:
        """Lets states have their elements; from now on those of the device are the true ones."""
        if unit.held is not None:
            for state, tensor in zip(unit.tensors, self._depot.get(unit.held, unit.name), strict=True):
                state.data = tensor
            unit.held = None

    def _keep(self, unit: _Unit) -> None:
        """Lets states have their elements, in memory of their own."""
        if unit.held is not None:
            self._bring(unit)
            for state in unit.tensors:
                state.data = state.data.clone()

    def _send(self, unit: _Unit, before: Held | None) -> None:
        """Has states leave, if they have elements; ``before`` is what they were on the host."""
        unit.tensors = self._large(unit)
        if unit.tensors:
            unit.held = self._depot.put(unit.tensors, before)
            for state in unit.tensors:
                state.data = state.data.new_empty(0)

    def _part(self, units: Sequence[_Unit]) -> Optimizer:
        """The optimiser as if it had these parameters alone: with the same states and settings."""
        part = object.__new__(type(self._optimizer))
        part.__dict__ = {
            **self._optimizer.__dict__,
            # A step may be made of that of another class, which would call them anew.
            "_optimizer_step_pre_hooks": OrderedDict(),
            "_optimizer_step_post_hooks": OrderedDict(),
            "param_groups": [
                {**group, "params": [each for unit in units for own, each in unit.members if own == number]}
                for number, group in enumerate(self._optimizer.param_groups)
            ],
        }
        return part

    def _count(self) -> None:
        """Brings the report up to date."""
        report, units = self._depot.report, self._units
        cold = self._cold()
        report.raw = sum(unit.raw for unit in units)
        report.cold = sum(unit.raw for unit in cold)
        report.hot = report.raw - report.cold
        report.held = sum(unit.held.bundle.held for unit in cold if unit.held)
        report.device = report.hot + self._passage(cold)
        for unit in units:
            row = report.rows.setdefault(unit.name, Streamed(0, 0, True))
            row.raw, row.hot = unit.raw, unit.held is None
            row.held = unit.held.bundle.held if unit.held else unit.raw


def _step(part: Optimizer) -> None:
    """A step of a part of an optimiser, without the hooks of the whole."""
    type(part).step.__wrapped__(part)


def _refuse(*_: Any) -> None:
    raise ParameterError(
        "states are away while they are streamed; read or load the state of the optimiser outside of the block"
    )
