"""What every cocotb test of a block with streams starts from: design, bench, random numbers, and a result to leave."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Generic, TypeVar

import cocotb

from cdma.verif.simulator.monitors.pauses import Pause, pattern
from cdma.verif.simulator.monitors.rules import RuleError
from cdma.verif.simulator.monitors.tally import Tally
from cdma.verif.simulator.result import bench_settings, leave_samples, leaving_result

from .bench import Bench, Delivery
from .design import StreamDesign
from .packet import Packet

__all__ = ["Context", "stream_test"]

D = TypeVar("D", bound=StreamDesign)
P = TypeVar("P", bound=Packet)
C = TypeVar("C", bound="Context[Any, Any]")


class Context(ABC, Generic[D, P]):
    """What a test has to work with: the bench, its parameters, and its random numbers.

    A kind of block has a subclass, which says what goes in.
    """

    #: The streams that :meth:`any_pauses` draws for, in this order.
    streams: ClassVar[tuple[str, ...]]

    def __init__(self, dut: Any, design: D, name: str) -> None:
        self.settings = settings = bench_settings()
        self.design = design
        self.budget: int = settings["packets"]
        self.seed = f"{settings['seed']}/{name}"
        self.rng = random.Random(self.seed)
        self.tally = Tally()
        self.dut = dut
        self.bench: Bench[P] = Bench(dut, design, self.rng, self.tally)
        if "samples" in settings:
            self.bench.describe = self.describe

    @abstractmethod
    def any_packet(self, length: int | None = None) -> P:
        """A packet of any shape, of some length."""

    @abstractmethod
    def describe(self, before: Delivery[P] | None, this: Delivery[P]) -> Mapping[str, Any]:
        """What is told of a packet, after the one before it, to those who count situations."""

    def new_table(self) -> None:
        """Changes the run-time table, if the design has one."""

    def explain(self, error: BaseException) -> str:
        """What a failure is, in a sentence."""
        return f"cycle {self.bench.now}: {error}" if isinstance(error, RuleError) else repr(error)

    def any_pauses(self) -> dict[str, Pause]:
        """A random pattern on every stream."""
        sinks = ("output", "report")
        return {name: pattern(self.rng, sink=name in sinks)[1] for name in self.streams}


def stream_test(kind: Callable[[Any, str], C]) -> Callable[..., Any]:
    """Makes cocotb tests of functions that get a context of this ``kind``, with the bench started.

    The test leaves the tally or the failure as its result, under the function's name or another one.
    """

    def test(body: Callable[[C], Awaitable[None]], name: str = "") -> Any:
        name = name or body.__name__

        async def run(dut: Any) -> None:
            context = kind(dut, name)
            with leaving_result(name, lambda: asdict(context.tally), context.explain):
                await context.bench.start()
                await body(context)
                leave_samples(context.bench.samples)

        run.__name__ = run.__qualname__ = name
        return cocotb.test()(run)

    return test
