"""``cdma bench advisor``: what is chosen for a tensor, beside how it is swapped sooner."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from cdma.torch.bench.advisor_bench import BothWays, Swap  # noqa: E402
from cdma.torch.transport import WrongReturn  # noqa: E402

COMMAND = ["bench", "advisor", "--batch", "8", "--rounds", "3", "--age", "1"]


@pytest.mark.slow
@pytest.mark.thorough
def test_over_a_slow_link_zeros_are_worth_it_and_over_a_fast_one_they_are_not(printed, monkeypatch):
    from tests.extras.pytorch.clockwork_link import ClockworkLink

    monkeypatch.setattr("cdma.torch.bench.swap_training.Paced", ClockworkLink)
    slow = {row["tensor"]: row for row in printed(*COMMAND, "--link", "0.002")}
    fast = {row["tensor"]: row for row in printed(*COMMAND, "--link", "1000")}
    assert slow.keys() == fast.keys()
    # Half zeros: the copies are half as long, and kernels take little beside them.
    large = slow["relu0"]
    assert large["bytes"] == 8 * 16 * 32 * 32 * 4
    assert 0.4 < large["density"] < 0.6
    assert large["raw_ms"] > 1.5 * large["compressed_ms"] > 0
    assert (large["chosen"], large["fresh"], large["better"], large["right"]) == (*3 * ["compressed"], True)
    assert fast["relu0"]["chosen"] == "raw"
    assert fast["relu0"]["better"] == "raw"
    for row in (*slow.values(), *fast.values()):
        assert (row["network"], row["batch"], row["age"], row["mask"]) == ("vgg", 8, 1, True)
        assert (row["right"] is None) == (row["better"] == "even")
        # Hidden times are measured again for the truth.
        assert all(
            now != then for now, then in zip(row["hidden_ms"], row["hidden_ms_then"], strict=True) if then
        )


def test_tables_show_tensors_and_sizes(shown):
    text = shown(*COMMAND, "--link", "0.01", "--no-mask", "--markdown")
    tensors, sizes = text.split("| bytes | tensors |")
    assert "| vgg | relu0 | 524288 |" in tensors
    assert "| 524288 to 1048576 | " in sizes
    assert sizes.splitlines()[-1].startswith("| all | ")


def test_what_is_exposed_is_what_computing_does_not_hide():
    swap = Swap(out=3.0, back=5.0, compress=0.25, decompress=0.5)
    assert swap.exposed(0.0, 0.0) == 8.75
    assert swap.exposed(1.0, 9.0) == 2.75


def test_sizes_are_counted_and_what_is_even_or_not_advised_is_not():
    from cdma.torch.bench.advisor_bench import by_size

    def row(size, raw, compressed, chosen, right):
        return {"bytes": size, "raw_ms": raw, "compressed_ms": compressed, "chosen": chosen, "right": right}

    rows = [
        row(1024, 4.0, 3.0, "raw", False),
        row(2047, 4.0, 3.0, "compressed", True),
        row(1500, 2.0, 2.5, "compressed", None),
        row(4096, 1.0, 9.0, "raw", True),
        row(8192, 1.0, 9.0, None, None),
    ]
    small, large, everything = by_size(rows)
    assert (small["bytes"], large["bytes"], everything["bytes"]) == ("1024 to 2048", "4096 to 8192", "all")
    assert (small["tensors"], small["even"], small["right"], small["share"]) == (3, 1, 1, 0.5)
    assert (small["lost_ms"], large["lost_ms"]) == (1.0, 0)
    assert (small["raw_ms"], small["compressed_ms"]) == (10.0, 8.5)
    assert (small["chosen_ms"], small["least_ms"]) == (9.5, 8.0)
    assert (everything["tensors"], everything["share"]) == (4, 2 / 3)


def _settings():
    from cdma.torch.swapping.context import Settings

    return Settings(None, None, 1 << 20, False, False)


def test_advice_is_not_of_times_that_it_is_judged_by():
    """Kernels are fast for tensors of one octave alone, which is not to be known of a tensor of that octave."""
    from cdma.torch.bench.advisor_bench import Advising
    from cdma.torch.swapping.policies import Cswap
    from tests.extras.pytorch.clockwork_link import ClockworkLink

    context = Advising(torch.nn.Linear(1, 1), Cswap(), ClockworkLink(), _settings())
    slot, other = ("large", 0), ("other", 0)
    large = context._profile.of(slot, 1 << 20)
    large.density = 0.5
    _copied(context, other, 1.0)
    assert context.compresses(slot, 0.5, 0.0) is None
    for samples in context._profile._samples.values():
        for size in (1 << 10, 1 << 12, 1 << 14, 1 << 20):
            samples.append((size, 0.5, 1e-6 if size == 1 << 20 else size / 1e5))
    everything = context._profile.fits()
    assert everything is not None
    assert Cswap().shortens(large, (1e6, 1e6), everything)
    assert context.compresses(slot, 0.5, 0.0) is False
    for samples in context._profile._samples.values():
        samples.extend((size, 0.5, size / 1e9) for size in (*[1 << 10] * 20, *[1 << 12] * 20))
    assert context.compresses(slot, 0.5, 0.0) is True
    # Its own copies are much faster, which is not to be known either.
    for _ in range(3):
        _copied(context, slot, 1e-9)
    assert context.compresses(slot, 0.5, 0.0) is True
    assert context._profile.rates_without() != context._profile.rates_without(large)
    # What becomes no smaller goes as it is, whatever the equations say.
    assert context.compresses(slot, 1.0, 1 << 15) is False


def _copied(context, slot, seconds):
    """A mebibyte of a tensor goes out in so many seconds."""
    from cdma.torch.transport import Copy
    from tests.extras.pytorch.clockwork_link import CPU, ClockworkLink

    target = torch.empty(1 << 20, dtype=torch.uint8)
    copy = Copy([(target, target)], *map(ClockworkLink()._at, (0.0, seconds)), CPU)
    context._profile.active = True
    context._profile.copy("out", context._profile.of(slot, 1 << 20), copy)


def test_the_truth_is_of_passes_that_no_advice_is_of():
    """Computing takes longer when the truth is timed, and each swap exposes so much less: the advice does not know."""
    from cdma.torch.bench.advisor_bench import Advising, Judging
    from cdma.torch.swapping.policies import Cswap
    from tests.extras.pytorch.clockwork_link import ClockworkLink

    link = ClockworkLink(1e8, 1e8)

    class Computing(torch.nn.Module):
        seconds = 0.0

        def forward(self, inputs):
            link.passes(self.seconds)
            return inputs

    computing = Computing()
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 512), torch.nn.ReLU(), computing, torch.nn.Linear(512, 8), torch.nn.ReLU()
    )
    inputs = torch.randn(256, 8)

    def step(context):
        with context:
            loss = model(inputs).square().mean()
        loss.backward()

    advice = Advising(model, Cswap(), link, _settings())
    truth = Judging(model, link, _settings(), rounds=3)
    for _ in range(4):
        step(advice)
    computing.seconds = 0.05
    for _ in range(2):
        step(truth)
    for _ in range(3):
        step(truth)
        truth.watched()
    slot = next(slot for slot, one in truth.judged.items() if one.bytes == 256 * 512 * 4)
    judged = truth.judged[slot]
    assert len(judged.swaps) == len(judged.hidden) == 3
    assert all(forward > 0.05 for forward, _ in judged.hidden)
    assert advice.learnt(slot).forward < 0.05
    # The copy of 5 ms is hidden, and the way back is not.
    raw, compressed = judged.exposed()
    for seconds, (swap, _), (_, backward) in zip(raw, judged.swaps, judged.hidden, strict=True):
        assert seconds == max(swap.back - backward, 0.0)
        assert swap.out > 0.005
    assert all(swap.decompress > 0 for _, swap in judged.swaps)
    assert len(compressed) == 3


def test_a_tensor_that_does_not_come_back_as_it_left_is_an_error(monkeypatch):
    from cdma.hdl.spec.format import Format
    from cdma.torch.bench.swap_training import Paced
    from cdma.torch.coded import Codec

    ways = BothWays(torch.rand(1000), Paced(1e9, 1e9), Format())
    assert ways.raw().compress == 0
    assert ways.compressed().compress > 0
    monkeypatch.setattr(Codec, "unpack", lambda self, packed: torch.zeros(1000))
    with pytest.raises(WrongReturn, match="4000 bytes did not come back"):
        ways.compressed()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "2"], "rounds is 2"),
        (["--age", "-1"], "age is -1"),
        (["--networks", "lenet"], "network is 'lenet'; it must be one of"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message, refused):
    assert message in refused("bench", "advisor", *arguments)
