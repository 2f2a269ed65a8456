"""The port ``step`` of a stage: right only when it must be."""

from __future__ import annotations

import random
from typing import Any

from cdma.verif.simulator.monitors.stream_ends import StreamSource

from .packet import StagePacket

__all__ = ["StepPort"]


class StepPort:
    """Drives the step of the beat at the head of a source's queue, and anything while there is none.

    ``a_cycle_before``
        Says whether a beat has to wait until its step has been there for a cycle.
    """

    def __init__(self, port: Any, source: StreamSource, rng: random.Random, *, a_cycle_before: bool) -> None:
        self._port, self._source, self._rng = port, source, rng
        self._a_cycle_before = a_cycle_before
        #: The steps of the beats that are queued and have been taken.
        self._steps: list[int] = []
        self._driven: int | None = None
        self._asked = False
        source.gate = self._waits
        port.value = 0

    def offer(self, packet: StagePacket) -> None:
        """A packet has been queued."""
        self._steps += [packet.step] * len(packet.beats)

    def after_input(self, moved: bool) -> None:
        """The source has seen a clock edge."""
        if moved and not self._asked:
            # No beat is on offer, and none waits for its step.
            self._drive(None)
        self._asked = False

    def forget(self) -> None:
        """Nothing is queued any more."""
        self._steps.clear()
        self._driven = None

    def _waits(self) -> bool:
        """Whether the beat at the head of the queue waits for its step."""
        self._asked = True
        step = self._steps[len(self._source.taken)]
        if self._driven == step:
            return False
        self._drive(step)
        return self._a_cycle_before

    def _drive(self, step: int | None) -> None:
        self._port.value = self._rng.getrandbits(len(self._port)) if step is None else step
        self._driven = step
