"""Descriptors and completions in memory."""

from __future__ import annotations

from cdma.sim.engine.descriptors import Completion
from cdma.sim.engine.driver import Status


def test_records_survive_memory():
    done = Completion(0xFFFFFFFF, Status.ABORTED, 1 << 33, 3, 4, 5, 1 << 63)
    for phase in (0, 1):
        raw = done.pack(phase)
        assert raw[63] >> 7 == phase
        assert Completion.unpack(raw) == done
