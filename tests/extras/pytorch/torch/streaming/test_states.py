"""Optimisers within ``cdma.torch.stream``: parameters and states bit for bit, and what comes and goes when."""

from __future__ import annotations

import random
from functools import partial

import pytest
import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.sim.codec.model import CorruptStream
from cdma.torch import coded, ledger, stream
from cdma.torch.coded import Codec
from cdma.torch.streaming import states as states_of
from cdma.torch.streaming.depot import Depot
from cdma.torch.streaming.states import States
from cdma.torch.transport import Transport
from tests.extras.pytorch.clockwork_link import CPU, Awaited, Delayed, HeldLink

pytestmark = pytest.mark.usefixtures("one_thread")

INPUTS = torch.linspace(-1, 1, 4 * 96).view(4, 96)
#: Room for the states of Adam of some of the layers, whose largest have 72 KiB, beside those that come and go.
ROOM = 6 * 73_728 + 80_000

OPTIMIZERS = [
    torch.optim.Adam,
    partial(torch.optim.AdamW, foreach=True, amsgrad=True),
    partial(torch.optim.SGD, lr=0.1, momentum=0.9),
]
NAMES = ["adam", "amsgrad, all at once", "sgd"]


class Training:
    """A few layers and their optimiser; the last layer is not always trained."""

    def __init__(self, made=torch.optim.Adam) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(*[nn.Linear(96, 96) for _ in range(5)])
        self.optimizer = made(self.model.parameters())

    def steps(self, count: int) -> None:
        for step in range(count):
            self.optimizer.zero_grad()
            layers = self.model if step % 2 else self.model[:-1]
            torch.relu(layers(INPUTS)).square().mean().backward()
            self.optimizer.step()

    def all(self) -> list[torch.Tensor]:
        states = self.optimizer.state_dict()["state"].values()
        found = [state for each in states for state in each.values() if isinstance(state, torch.Tensor)]
        return [*self.model.parameters(), *found]


def are_equal(one: Training, other: Training) -> bool:
    return len(one.all()) == len(other.all()) and all(map(torch.equal, one.all(), other.all()))


def trained(made, *steps: int) -> Training:
    """After so many steps, and then so many; each time the first leaves the last layer out."""
    training = Training(made)
    for count in steps:
        training.steps(count)
    return training


@pytest.mark.parametrize("made", OPTIMIZERS, ids=NAMES)
@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("before", [0, 2], ids=["new", "resumed"])
def test_parameters_and_states_are_those_of_plain_training(made, raw, before):
    training = trained(made, before)
    kinds = {0: 2, 1: 3, 2: 1}[OPTIMIZERS.index(made)]
    with stream(training.optimizer, device_bytes=ROOM * kinds // 2, raw=raw) as states:
        training.steps(20)
    report = states.report
    assert are_equal(training, trained(made, before, 20))
    assert report.passes == 20
    assert 0 < report.cold < report.raw
    assert report.left >= 10 * report.held
    assert (report.ratio > 1.1) is not raw


def test_what_has_room_stays_from_the_second_step_on():
    training = Training()
    with stream(training.optimizer, device_bytes=1 << 30) as states:
        training.steps(2)
        moved = states.report.moved
        training.steps(4)
    assert (states.report.cold, states.report.moved) == (0, moved)


def test_too_little_room_is_one_error_that_says_how_much_is_needed():
    training = trained(torch.optim.Adam, 2)
    with pytest.raises(ParameterError, match="device_bytes is 1,000; ") as error:
        stream(training.optimizer, device_bytes=1000).__enter__()
    needed = int(str(error.value).split("; ")[1].split()[0].replace(",", ""))
    with stream(training.optimizer, device_bytes=needed) as states:
        training.steps(3)
    assert states.report.device <= needed
    assert are_equal(training, trained(torch.optim.Adam, 2, 3))


def test_states_come_ahead_of_their_step():
    training = trained(torch.optim.Adam, 2)
    with stream(training.optimizer, device_bytes=ROOM) as states:
        training.steps(2)
        late = states.report.late
        training.steps(4)
        assert states.report.late == late


def test_hooks_and_schedules_see_one_step_of_the_whole_optimiser():
    training, seen = Training(), []
    schedule = torch.optim.lr_scheduler.StepLR(training.optimizer, 1)
    training.optimizer.register_step_post_hook(
        lambda optimizer, *_: seen.append([len(group["params"]) for group in optimizer.param_groups])
    )
    with stream(training.optimizer, device_bytes=ROOM):
        for _ in range(3):
            training.steps(1)
            schedule.step()
    assert seen == [[10]] * 3
    assert training.optimizer.param_groups[0]["lr"] == pytest.approx(1e-6)


def test_what_needs_all_states_at_once_is_refused():
    training = Training()
    state = training.optimizer.state_dict()
    with stream(training.optimizer, device_bytes=ROOM):
        training.steps(1)
        with pytest.raises(ParameterError, match="step has a closure"):
            training.optimizer.step(lambda: 0.0)
        with pytest.raises(ParameterError, match="outside of the block"):
            training.optimizer.state_dict()
        with pytest.raises(ParameterError, match="outside of the block"):
            training.optimizer.load_state_dict(state)
    with pytest.raises(ParameterError, match="the device is given"):
        stream(training.optimizer, device_bytes=ROOM, device="cpu")
    with pytest.raises(ParameterError, match=r"must be a torch\.nn\.Module or a torch\.optim\.Optimizer"):
        stream(3, device_bytes=ROOM)


def streamed(training: Training, link: Transport, *, raw: bool = True, leaving: int = 2) -> States:
    return States(training.optimizer, Depot(link, Codec(CPU), leaving, None, raw=raw), ROOM, 2)


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
def test_delays_at_random_change_no_bit(raw):
    training, source = Training(), random.Random(1)
    link = Delayed(lambda: source.choice((0, 0, 1e-3, 4e-3)))
    with streamed(training, link, raw=raw):
        training.steps(6)
    assert are_equal(training, trained(torch.optim.Adam, 6))


def test_a_damaged_stream_is_an_error_and_the_others_come_back():
    training = Training()
    states = streamed(training, Delayed(), raw=False)
    states.__enter__()
    training.steps(3)
    states.synchronize()
    unit = next(unit for unit in states._units if unit.held and unit.held.bundle.is_packed)
    states._depot.get(unit.held, unit.name)
    unit.held.block[:64] ^= 0x55
    with pytest.raises(CorruptStream):
        states.__exit__(None, None, None)
    empty = [state for state in training.all() if not state.numel()]
    assert len(empty) == len(unit.tensors)


class Decayed(torch.optim.Adam):
    """Its step is that of another class, and something of its own."""

    def step(self, closure=None):
        found = super().step(closure)
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.mul_(0.999)
        return found


def test_an_optimiser_whose_step_is_made_of_that_of_its_class():
    # Only then PyTorch has hooks around the step of the class, too.
    Training()
    training = trained(Decayed, 2)
    with stream(training.optimizer, device_bytes=ROOM) as states:
        training.steps(6)
    assert states.report.passes == 6
    assert states.report.cold > 0
    assert are_equal(training, trained(Decayed, 2, 6))


def test_a_second_stream_of_an_optimiser_is_refused():
    training = Training()
    with stream(training.optimizer, device_bytes=ROOM):
        training.steps(2)
        with (
            pytest.raises(ParameterError, match="is streamed already"),
            stream(training.optimizer, device_bytes=ROOM),
        ):
            pass
        training.steps(2)
    with stream(training.optimizer, device_bytes=ROOM):
        training.steps(2)
    assert are_equal(training, trained(torch.optim.Adam, 6))


class Wide:
    """Layers whose weights and biases fit what the largest one takes, and their optimiser."""

    def __init__(self, foreach: bool | None = None) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(96, 384), nn.ReLU(), nn.Linear(384, 16))
        self.model.extend(layer for _ in range(4) for layer in (nn.Linear(16, 96), nn.Linear(96, 16)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), foreach=foreach)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(INPUTS).square().mean().backward()
        self.optimizer.step()


def test_parameters_are_stepped_in_groups_and_those_that_stay_at_once(monkeypatch):
    stepped, make = [], states_of._step
    monkeypatch.setattr(
        states_of,
        "_step",
        lambda part: stepped.append(sum(len(group["params"]) for group in part.param_groups)) or make(part),
    )
    training, plain = Wide(foreach=True), Wide(foreach=True)
    largest = 2 * 4 * 96 * 384
    with stream(training.optimizer, device_bytes=6 * (largest + largest // 8)) as states:
        for step in range(4):
            stepped.clear()
            training.step()
            plain.step()
            # The first layer, and all others, which are no larger together; these have room, and stay.
            assert stepped == ([2, 18] if step == 0 else [2])
    assert states.report.passes == 4
    assert all(map(torch.equal, training.model.parameters(), plain.model.parameters()))


def test_a_step_waits_for_nothing_that_it_has_begun(monkeypatch):
    """A GPU that is far behind: lengths, verdicts and copies come when they are awaited, and not before."""
    training, looked, ages, puts = trained(torch.optim.Adam, 2), [], [], [0]
    analyse, wait, put = coded.analyse, ledger.Arriving.wait, Depot.put
    monkeypatch.setattr(coded, "analyse", lambda *these: looked.append(0) or analyse(*these))

    def noted_put(self, *these):
        puts[0] += 1
        held = put(self, *these)
        if held.lengths is not None:
            held.lengths.since = puts[0]
        return held

    def noted_wait(self):
        ages.append(puts[0] - self.since)
        return wait(self)

    monkeypatch.setattr(Depot, "put", noted_put)
    monkeypatch.setattr(ledger.Arriving, "wait", noted_wait)
    monkeypatch.setattr(ledger.Arriving, "query", lambda self: False)

    class Behind(HeldLink):
        rounds, awaited = 0, []

        def mark(self):
            mark, of = super().mark(), self.rounds
            found = Awaited(lambda: self.awaited.append(self.rounds - of))
            found.time = mark.time
            return found

    link = Behind()
    with streamed(training, link, raw=False) as states:
        for _ in range(10):
            if link.rounds == 3:
                looked.clear()
                ages.clear()
                link.awaited.clear()
            link.rounds += 1
            training.steps(1)
        # Nothing is counted, no length is awaited before two more blocks have left, and no round before two more.
        assert looked == []
        assert len(ages) > 10
        assert min(ages) >= 2
        assert min(link.awaited) >= 2
        assert states._depot.report.again == 0
