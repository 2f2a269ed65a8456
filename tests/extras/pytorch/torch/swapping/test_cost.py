"""CSWAP's decisions: what the equations give for known tensors, what is learnt of kernels, and what an offload decides."""

from __future__ import annotations

import gc
import sys
from itertools import pairwise

import pytest

from cdma.torch.swapping.policies import Action, CostModel, Cswap, KernelFit, KernelSample, Learnt, Moment


def moment(compress: float, decompress: float) -> Moment:
    fits = [KernelFit((seconds, 0.0, 0.0), None) for seconds in (compress, decompress)]
    return Moment(5, 0, None, {}, (1e9, 2e9), *fits)


def test_the_equations_count_what_is_exposed():
    cost = CostModel(4e6, 0.5, 1e9, 2e9, 1e-3, 0.5e-3, mask=1e5)
    # 4 ms out of which 1 is hidden, and 2 back of which a half is.
    assert cost.plain == pytest.approx(4.5e-3)
    # 2.1 ms out, 1.05 back.
    assert cost.compressed(1e-4, 2e-4) == pytest.approx(3e-4 + 1.1e-3 + 0.55e-3)


@pytest.mark.parametrize(
    ("tensor", "action"),
    [
        # Half of 6 ms less a quarter is worth 2 ms of kernels.
        (Learnt(4_000_000, density=0.5), Action.COMPRESSED),
        # Everything is hidden.
        (Learnt(4_000_000, density=0.5, forward=5e-3, backward=5e-3), Action.RAW),
        # Nothing is zero.
        (Learnt(4_000_000, density=1.0), Action.RAW),
    ],
)
def test_a_tensor_is_compressed_where_that_exposes_less(tensor, action):
    assert Cswap().action(tensor, moment(1e-3, 1e-3)) is action


def test_the_mask_counts_if_it_is_to():
    """4 MB, of which 3.9 are not zero, and a mask of 1/8: without the mask it seems to pay."""
    tensor = Learnt(4_000_000, density=0.95, mask=500_000)
    assert Cswap().action(tensor, moment(1e-5, 1e-5)) is Action.RAW
    assert Cswap(mask=False).action(tensor, moment(1e-5, 1e-5)) is Action.COMPRESSED


def test_times_of_kernels_are_learnt_and_their_error_is_of_sizes_and_densities_not_seen():
    def seconds(size, density):
        return 1e-5 + 2e-10 * size + 3e-10 * size * density

    samples = [
        KernelSample(size, density, seconds(size, density))
        for size in (1e4, 1e5, 1e6, 1e7)
        for density in (0.1, 0.5, 0.9)
    ]
    fit = KernelFit.of(samples)
    assert fit.error == pytest.approx(0, abs=1e-6)
    assert fit.seconds(3e6, 0.3) == pytest.approx(seconds(3e6, 0.3))
    # A kernel that is twice as slow for the largest cannot be predicted from the others.
    bent = [
        KernelSample(one.size, one.density, one.seconds * (2 if one.size == 1e7 else 1)) for one in samples
    ]
    assert KernelFit.of(bent).error > 0.1
    assert fit.noise == pytest.approx(0, abs=1e-6)
    assert 0.01 < KernelFit.of(bent).noise < KernelFit.of(bent).error
    # Nor can one that is slower for the densest alone: sizes beside it say nothing of that.
    dense = [
        KernelSample(one.size, one.density, one.seconds * (2 if one.density == 0.9 else 1)) for one in samples
    ]
    assert KernelFit.of(dense).error > 0.2
    assert KernelFit.of(samples[:3]).error is None


@pytest.mark.parametrize("validates", [False, True])
def test_an_offload_learns_raw_then_compressed_and_then_decides(validates, monkeypatch):
    """A pass that keeps nothing teaches nothing, and none is counted for it."""
    import torch

    from cdma.torch.swapping.context import Offload, Settings
    from tests.extras.pytorch.clockwork_link import ClockworkLink

    torch.manual_seed(0)
    layers = [layer for _ in range(3) for layer in (torch.nn.Conv2d(4, 4, 3, padding=1), torch.nn.ReLU())]
    model, inputs = torch.nn.Sequential(*layers), torch.randn(16, 4, 32, 32)

    def actions(rate):
        context = Offload(
            model, Cswap(), ClockworkLink(rate, rate), Settings(None, None, 64 << 20, False, False)
        )
        for _ in range(6):
            with context:
                if validates:
                    with torch.no_grad():
                        model(inputs)
                loss = model(inputs).square().mean()
            loss.backward()
        return context.report

    # A law is fitted where there are new times alone: behind both compressed passes at most.
    fitted = []
    of = KernelFit.of
    monkeypatch.setattr(KernelFit, "of", lambda samples: fitted.append(len(samples)) or of(samples))
    # Over a slow link all that is sparse pays, over a fast one nothing does.
    slow = actions(2e6)
    assert slow.rows["1"].actions == {"raw": 2, "compressed": 4}
    assert len(fitted) == 2
    fast = actions(1e13)
    assert fast.rows["1"].actions == {"raw": 4, "compressed": 2}
    assert set(slow.prediction) == set(slow.noise) == {"compress", "decompress"}


def test_what_is_learnt_grows_with_no_step(one_thread, monkeypatch):
    torch = pytest.importorskip("torch")
    from cdma.torch import offload
    from cdma.torch.swapping import report

    monkeypatch.setattr(report, "_SAMPLES", 16)

    model = torch.nn.Sequential(
        *(layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU()))
    )
    context, inputs = offload(model, Cswap(refresh=2)), torch.randn(256, 64)

    def objects(steps):
        for _ in range(steps):
            with context:
                loss = model(inputs).square().mean()
            loss.backward()
        gc.collect()
        # Those that the collector does not know, too: pairs of numbers are none of its business.
        return sys.getallocatedblocks()

    # Until the samples that are kept are as many as ever.
    objects(20)
    counts = [objects(20) for _ in range(4)]
    # Each other pass is one to learn from, with some twenty copies and kernels. What else the process keeps, it keeps once.
    assert min(after - before for before, after in pairwise(counts)) < 40
