"""The way between a GPU and its host, with stand-ins for CUDA streams and events: what each copy comes behind."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch

from cdma.base.errors import ParameterError
from cdma.torch.ledger import Arriving
from cdma.torch.transport import Transport


class Event:
    """Has passed when the test says so."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.passed = False

    def record(self, queue) -> None:
        queue.did.append(("records", self))

    def query(self) -> bool:
        return self.passed

    def synchronize(self) -> None:
        self.passed = True


class Queue:
    """Notes what it is told."""

    def __init__(self, device=None) -> None:
        self.did: list[tuple[str, object]] = []

    def wait_stream(self, other) -> None:
        self.did.append(("behind", other))

    def wait_event(self, event) -> None:
        self.did.append(("behind", event))


@pytest.fixture
def card(monkeypatch):
    """A transport that takes the processor for a GPU, and the CUDA stream that computes."""
    computing = Queue()

    @contextmanager
    def current(queue):
        queue.did.append(("copies", None))
        yield

    for name, stand_in in (
        ("Event", Event),
        ("Stream", Queue),
        ("stream", current),
        ("current_stream", lambda device=None: computing),
    ):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    made = Transport(torch.device("cpu"))
    made._on_card, made._queues = True, [Queue(), Queue()]
    return made, computing


def test_copies_are_behind_what_computes_and_behind_the_copy_before(card):
    transport, computing = card
    source, host = torch.arange(8, dtype=torch.uint8), torch.empty(8, dtype=torch.uint8)
    out = transport.out([(source, host)])
    back = transport.back(host, out.end)
    going, coming = (queue.did for queue in transport._queues)
    assert going == [("behind", computing), ("records", out.begin), ("copies", None), ("records", out.end)]
    assert coming[:2] == [("behind", computing), ("behind", out.end)]
    assert coming[3:] == [("copies", None), ("records", back.end)]
    back._device = torch.device("cuda")
    assert torch.equal(back.take(), source)
    # What computes comes behind the copy, and the host has waited for nothing.
    assert computing.did == [("behind", back.end)]
    assert not out.end.passed
    assert back.target.numel() == 0


def test_memory_is_held_until_its_copy_has_ended(card):
    transport, _ = card
    copies = [transport.out([(torch.empty(8), torch.empty(8))]) for _ in range(3)]
    assert list(transport._under_way) == copies
    copies[0].end.passed = copies[2].end.passed = True
    transport.out([(torch.empty(8), torch.empty(8))])
    # In the order of the queue.
    assert list(transport._under_way)[:2] == copies[1:]
    assert copies[0]._memory == ()


def test_lengths_of_a_large_group_come_together():
    spare = []
    for count in (3, 100, 100, 3):
        assert Arriving(torch.arange(count), spare).wait() == list(range(count))
    assert len(spare) == 2


def test_another_device_is_refused():
    with pytest.raises(ParameterError, match="the device is meta; tensors move from and to a CUDA GPU"):
        Transport(torch.device("meta"))
