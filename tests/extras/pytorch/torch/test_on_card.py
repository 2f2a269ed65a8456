"""Tensors that stay on a GPU, in Triton's interpreter, which takes the CPU for one: what comes back, and what is held."""

from __future__ import annotations

import pytest

from tests.extras.pytorch.interpreted import Waits, torch

from torch import nn  # isort: skip
from cdma.hdl.spec.format import Format
from cdma.torch import coded, context, on_card
from cdma.torch import ledger as mail
from cdma.torch.coded import Codec
from cdma.torch.context import Saved
from cdma.torch.ledger import Ledger, Mail
from cdma.torch.on_card import Card, WrongStream, held_by
from cdma.torch.policies import Bound, Lossless
from cdma.torch.streaming.units import bundled, fitted

pytestmark = pytest.mark.usefixtures("one_thread")

SLOT = ("layer", 0)


def card(dense=False):
    return Card(Ledger(), 1 << 10, dense)


def numbers(density, count=1 << 11, dtype=torch.float32):
    """Random numbers of which about that part are not zero."""
    return torch.where(torch.rand(count) < density, torch.randn(count), 0).to(dtype)


def kept_in_a_pass(card, *tensors):
    card.begin_pass()
    kept = [card.hold(tensor, ("layer", place)) for place, tensor in enumerate(tensors)]
    card.settle()
    return kept


@pytest.fixture
def packs(monkeypatch):
    """Counts the streams that are made."""
    made = []

    def compress(flat, format, capacity):
        made.append(format)
        return original(flat, format, capacity=capacity)

    original = on_card.compress
    monkeypatch.setattr(on_card, "compress", compress)
    return made


@pytest.fixture
def nothing_comes(monkeypatch):
    """No length has come before it is waited for."""
    monkeypatch.setattr(mail.Arriving, "query", lambda _: False)


def test_gradients_are_those_of_plain_training_and_shared_tensors_are_held_once(monkeypatch):
    monkeypatch.setattr(context, "CARDS", frozenset({"cpu"}))
    monkeypatch.setattr(context, "LEAST_ON_CARD", 1 << 10)
    # The output of the ReLU is kept by it and by the second convolution.
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
    images = torch.randn(2, 1, 14, 14)

    def gradients(saved=None):
        model.zero_grad()
        if saved is None:
            loss = model(images).square().mean()
        else:
            with saved:
                loss = model(images).square().mean()
        loss.backward()
        return [each.grad.clone() for each in model.parameters()]

    expected, saved = gradients(), Saved(model, Lossless())
    for _ in range(2):
        assert all(map(torch.equal, gradients(saved), expected))
    assert saved.report.ratio > 1.3
    assert saved.report.shared == 2 * 2
    # All of it is gone.
    assert saved.now == (0, 0)


def test_a_stream_without_space_is_made_again_from_the_elements(packs):
    passes, tried = card(), numbers(0.5)
    kept_in_a_pass(passes, numbers(0.1))
    packs.clear()
    (kept,) = kept_in_a_pass(passes, tried.clone())
    assert len(packs) == 2
    assert kept.elements is None
    assert kept.entry.held == kept.entry.there < 0.7 * tried.nbytes
    assert torch.equal(kept.restored(), tried)
    # The next pass knows.
    kept_in_a_pass(passes, tried)
    assert len(packs) == 3


def test_a_stream_that_is_a_little_longer_has_space(packs, monkeypatch):
    monkeypatch.setattr(on_card, "_space", lambda length: length)
    passes, first = card(), numbers(0.5)
    more = first.clone()
    more[(more == 0).nonzero()[:4]] = 1
    kept_in_a_pass(passes, first)
    packs.clear()
    (kept,) = kept_in_a_pass(passes, more.clone())
    assert len(packs) == 1
    assert torch.equal(kept.restored(), more)


def test_tensors_that_do_not_pay_stay_as_they_are_until_the_refresh(packs, monkeypatch):
    looked = []
    analyse = coded.analyse
    monkeypatch.setattr(coded, "analyse", lambda *these: looked.append(0) or analyse(*these))
    monkeypatch.setattr(on_card, "REFRESH", 4)
    passes, full = card(), numbers(1)
    kept_in_a_pass(passes, numbers(0.1))
    # It is tried with the space of the last pass, and not made again.
    (kept,) = kept_in_a_pass(passes, full)
    assert (len(packs), len(looked)) == (2, 1)
    assert kept.restored().data_ptr() == full.data_ptr()
    assert kept.entry.held == full.nbytes
    for _ in range(2):
        (kept,) = kept_in_a_pass(passes, numbers(0.1))
        assert kept.elements is not None
    assert (len(packs), len(looked)) == (2, 1)
    (kept,) = kept_in_a_pass(passes, sparse := numbers(0.1))
    assert (len(packs), len(looked)) == (3, 2)
    assert kept.elements is None
    assert torch.equal(kept.restored(), sparse)


@pytest.mark.parametrize(
    ("density", "copies", "pays"),
    [(0.8, 2, True), (0.9, 2, False), (0.9, 0, True), (0.8, 5, False), (0.99, 0, False)],
)
def test_a_stream_pays_by_its_time(monkeypatch, density, copies, pays):
    monkeypatch.setattr(on_card, "copies", lambda format, device: copies)
    (kept,) = kept_in_a_pass(card(), numbers(density))
    assert (kept.elements is None) == pays
    (kept,) = kept_in_a_pass(card(dense=True), numbers(density))
    assert (kept.elements is None) == (density < 0.95)


def test_a_model_in_which_nothing_pays_is_left_alone_until_the_refresh(monkeypatch):
    monkeypatch.setattr(context, "CARDS", frozenset({"cpu"}))
    monkeypatch.setattr(context, "LEAST_ON_CARD", 1 << 10)
    monkeypatch.setattr(on_card, "REFRESH", 4)
    model, inputs = nn.Sequential(nn.Linear(64, 64), nn.Tanh()), torch.randn(64, 64)
    model(inputs).sum().backward()
    plain = model[0].weight.grad
    saved, counted = Saved(model, Lossless()), []
    for _ in range(2 * on_card.ALONE + 6):
        model.zero_grad()
        before = saved.report.tensors
        with saved:
            loss = model(inputs).sum()
        loss.backward()
        assert torch.equal(model[0].weight.grad, plain)
        counted.append(saved.report.tensors > before)
    assert counted == [True] * 3 + [False] * 4 + [True] * 3 + [False] * 2
    # What was written to is noticed there, too.
    with saved:
        hidden = model(inputs)
        hidden.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        hidden.sum().backward()


def test_exponents_are_coded_where_asked():
    dense = numbers(1, dtype=torch.bfloat16)
    (kept,) = kept_in_a_pass(card(), dense)
    assert kept.elements is not None
    (kept,) = kept_in_a_pass(card(dense=True), dense.clone())
    assert kept.elements is None
    assert kept.packed.format.field_bits
    assert torch.equal(kept.restored(), dense)


def test_small_tensors_are_kept_as_they_are(packs):
    small = torch.zeros(255)
    (kept,) = kept_in_a_pass(card(), small)
    assert not packs
    assert kept.restored().data_ptr() == small.data_ptr()


@pytest.mark.slow
def test_few_bytes_are_there_twice(nothing_comes):
    ledger = Ledger()
    passes, tensors = Card(ledger, 1 << 10, False), [numbers(0.1, 1 << 9) for _ in range(16)]
    raw = tensors[0].nbytes
    kept_in_a_pass(passes, *(each.clone() for each in tensors))
    passes.begin_pass()
    kept = []
    for place, tensor in enumerate(tensors):
        kept.append(passes.hold(tensor.clone(), ("layer", place)))
        # An eighth of the last pass, and the tensor itself.
        assert sum(each.elements is not None for each in kept) <= 2 + 1
    streams = sum(held_by(each.packed) for each in kept)
    assert ledger.now == (16 * raw, streams + 3 * raw)
    passes.settle()
    assert ledger.now[1] == sum(each.entry.held for each in kept) < 6 * raw
    assert all(each.elements is None for each in kept)
    for each, tensor in zip(kept, tensors, strict=True):
        assert torch.equal(each.restored(), tensor)
    assert ledger.now == (16 * raw, 16 * raw)


def test_a_tensor_may_go_before_its_length_comes(nothing_comes):
    passes = card()
    passes.begin_pass()
    passes.hold(numbers(0.1), SLOT)
    assert passes._in_doubt
    passes.settle()
    assert not passes._in_doubt
    assert passes._ledger.now == (0, 0)


def test_a_tensor_is_given_back_before_its_length_comes(nothing_comes):
    passes, tensor = card(), numbers(0.1)
    passes.begin_pass()
    kept = passes.hold(tensor, SLOT)
    assert kept.restored().data_ptr() == tensor.data_ptr()
    passes.settle()
    assert kept.restored().data_ptr() == tensor.data_ptr()


@pytest.fixture
def launches(monkeypatch):
    """How many tensors each launch of many has, there and back."""
    made = {"there": [], "back": []}

    def counted(name, function):
        return lambda these, *rest: made[name].append(len(these)) or function(these, *rest)

    monkeypatch.setattr(on_card, "packed_many", counted("there", on_card.packed_many))
    monkeypatch.setattr(on_card, "restored_many", counted("back", on_card.restored_many))
    return made


def kept_in_groups(passes, tensors):
    """Tensors of a second pass, behind a large one of the first, so that all of them wait for each other."""
    kept_in_a_pass(passes, *tensors, numbers(0.1, 1 << 17))
    passes.begin_pass()
    return [passes.hold(each.clone(), ("layer", place)) for place, each in enumerate(tensors)]


def test_tensors_of_one_format_are_in_one_launch_there_and_back(packs, launches):
    passes = card()
    tensors = [numbers(0.3, 1 << 8) for _ in range(3)] + [
        numbers(0.3, 1 << 9, torch.float16) for _ in range(2)
    ]
    kept = kept_in_groups(passes, tensors)
    packs.clear()
    assert all(each.elements is not None for each in kept)
    assert passes._ledger.now[1] == sum(each.nbytes for each in tensors)
    passes.settle()
    assert (launches["there"], packs) == ([3, 2], [])
    assert all(each.elements is None for each in kept)
    for each, tensor in zip(reversed(kept), reversed(tensors), strict=True):
        assert torch.equal(each.restored(), tensor)
    assert launches["back"] == [2, 3]
    passes.begin_pass()
    passes.begin_pass()


def test_what_is_kept_behind_a_tensor_does_not_come_back_with_it(launches):
    tensors = [numbers(0.3, 1 << 8) for _ in range(4)]
    passes = card()
    kept = kept_in_groups(passes, tensors)
    passes.settle()
    assert torch.equal(kept[1].restored(), tensors[1])
    assert [each.elements is None for each in kept] == [False, False, True, True]
    for each, tensor in zip(kept, tensors, strict=True):
        assert torch.equal(each.restored(), tensor)
    assert launches["back"] == [2]


def test_what_goes_or_comes_back_before_its_group_is_a_stream_becomes_none(launches):
    tensors = [numbers(0.3, 1 << 8) for _ in range(4)]
    passes = card()
    kept = kept_in_groups(passes, tensors)
    assert torch.equal(kept[0].restored(), tensors[0])
    del kept[1]
    passes.settle()
    assert launches["there"] == [2]
    assert [each.elements is None for each in kept] == [False, True, True]
    for each, tensor in zip(kept, [tensors[0], *tensors[2:]], strict=True):
        assert torch.equal(each.restored(), tensor)


def test_a_stream_of_a_group_without_space_is_made_again(packs, nothing_comes):
    tensors = [numbers(0.1, 1 << 10) for _ in range(3)]
    passes = card()
    kept_in_a_pass(passes, *tensors, numbers(0.1, 1 << 17))
    packs.clear()
    passes.begin_pass()
    tensors[1] = numbers(0.6, 1 << 10)
    kept = [passes.hold(each.clone(), ("layer", place)) for place, each in enumerate(tensors)]
    passes.settle()
    assert len(packs) == 1
    assert all(each.elements is None for each in kept)
    for each, tensor in zip(kept, tensors, strict=True):
        assert torch.equal(each.restored(), tensor)


def test_any_stream_of_a_group_that_changed_is_noticed():
    passes = card()
    kept = kept_in_groups(passes, [numbers(0.3, 1 << 8) for _ in range(3)])
    passes.settle()
    kept[0].packed.data[:8] = 255
    kept[2].restored()
    passes.begin_pass()
    with pytest.raises(WrongStream):
        passes.begin_pass()


def test_what_is_known_to_stay_is_counted_and_costs_no_more(monkeypatch):
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Tanh())
    monkeypatch.setattr(context, "CARDS", frozenset({"cpu"}))
    monkeypatch.setattr(context, "LEAST_ON_CARD", 1 << 10)
    saved, inputs = Saved(model, Lossless()), torch.randn(64, 64)
    held, hold = [], Card.hold
    monkeypatch.setattr(Card, "hold", lambda self, *these: held.append(0) or hold(self, *these))
    for number in range(1, 4):
        with saved:
            loss = model(inputs).square().mean()
        # Inputs, the outputs of both, the second of which the loss reads once more, outside of the model.
        assert (saved.report.tensors, saved.report.shared) == (3 * number, number)
        assert saved.now == (3 * inputs.nbytes, 3 * inputs.nbytes)
        loss.backward()
    assert len(held) == 3
    del loss
    assert saved.now == (0, 0)


def test_memory_for_lengths_is_used_again(monkeypatch):
    made = []
    monkeypatch.setattr(mail, "Mail", lambda *these: made.append(0) or Mail(*these))
    passes = card()
    for _ in range(3):
        kept_in_a_pass(passes, numbers(0.1), numbers(0.1))
    assert len(made) == 1


def test_a_stream_that_changed_is_noticed_two_passes_later():
    passes = card()
    (kept,) = kept_in_a_pass(passes, numbers(0.1))
    kept.packed.data[:8] = 255
    kept.restored()
    passes.begin_pass()
    with pytest.raises(WrongStream):
        passes.begin_pass()


class _Work:
    """A CUDA stream, and what waits for it."""

    def __init__(self):
        self.waited_for = []

    def wait_stream(self, other):
        self.waited_for.append(other)


def test_another_stream_of_work_waits_for_the_one_that_made_it(monkeypatch):
    first, second = _Work(), _Work()
    used = []
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda tensor, work: used.append((work, tensor.data_ptr()))
    )
    monkeypatch.setattr(on_card, "cuda_stream", lambda device: now[0])
    now, passes, tensor = [first], card(), numbers(0.1)
    (kept,) = kept_in_a_pass(passes, tensor)
    # The elements go before they are read.
    assert used == [(first, tensor.data_ptr())]
    used.clear()
    now[0] = second
    streams = {each.data_ptr() for each in (kept.packed.data, kept.packed.index, kept.packed.length)}
    kept.restored()
    assert (first.waited_for, second.waited_for) == ([], [first])
    assert {place for work, place in used if work is second} == streams
    used.clear()
    # And now the first one reads what the second one made.
    now[0] = first
    elements = kept.restored()
    assert first.waited_for == [second]
    assert used == [(first, elements.data_ptr())]


def test_a_policy_with_an_error_makes_the_gradients_of_the_host(monkeypatch):
    model, images = (
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)),
        torch.randn(2, 1, 14, 14),
    )

    def gradients():
        model.zero_grad()
        with (saved := Saved(model, Bound(relative=-6, bits=(8,)))):
            loss = model(images).square().mean()
        loss.backward()
        return saved.report, [each.grad.clone() for each in model.parameters()]

    host, expected = gradients()
    monkeypatch.setattr(context, "CARDS", frozenset({"cpu"}))
    monkeypatch.setattr(context, "LEAST_ON_CARD", 1 << 10)
    monkeypatch.setattr(context, "coded", lambda _: pytest.fail("a tensor came to the host"))
    card, found = gradients()
    assert all(map(torch.equal, found, expected))
    assert card.error == host.error > 0
    assert card.relative_error == pytest.approx(host.relative_error)
    assert card.ratio > 2


def test_a_stream_of_states_whose_length_is_known_waits_for_nothing():
    codec, flat = Codec(torch.device("cpu"), kernels=True), torch.randn(9000)
    flat[::3] = 0
    found = fitted(codec, flat, Format())
    assert found.format == Format()
    bundle = bundled([flat], [found], codec, exact=True)
    block, back = torch.zeros(bundle.held, dtype=torch.uint8), torch.empty(36000, dtype=torch.uint8)
    with Waits() as waits:
        (length,) = bundle.pack([flat], codec, block)
        bundle.expand(codec, block, back)
    assert waits.count == 0
    assert int(length) == found.length
    assert torch.equal(back.view(torch.float32), flat)
    bundle.check(codec, block)
    assert codec.verdict().tolist() == [0]
