"""Transfers of a tensor, and whether compression is worth it."""

import math
import re
from dataclasses import replace

import pytest

from cdma import ParameterError
from cdma.sim.codec.tensor_profile import profile
from cdma.sim.study.profile.link import Hidden, Settings, Transfer
from cdma.sim.study.system.assumptions import load_assumptions
from cdma.sim.study.system.cswap import KernelTimes
from tests.support.tensors import noise


class TestTransfer:
    array = profile("t", noise(0.25, 32 * 1024))  # 131072 bytes become 36864: ratio 3.56
    raw, small = 131072, 36864

    def test_compressed_bytes(self):
        assert (self.array.raw, self.array.best.compressed) == (self.raw, self.small)

    def test_the_link_limits(self):
        transfer = Transfer(self.array, Settings(link=1e9, link_back=2e9))
        assert transfer.plain == (self.raw / 1e9, self.raw / 2e9)
        assert transfer.compressed() == (self.small / 1e9, self.small / 2e9)
        assert transfer.units == 1

    def test_the_units_limit(self):
        transfer = Transfer(self.array, Settings(link=10e9, unit_rate=12e9))
        assert transfer.compressed() == (self.raw / 12e9, self.raw / 12e9)
        assert transfer.units == 3  # 10 GB/s times 3.56 is 35.6 GB/s of raw data
        assert transfer.compressed(3) == (self.small / 10e9, self.small / 10e9)

    def test_worth(self):
        dense = profile("d", noise(1.0))
        assert Transfer(self.array, Settings()).ours.worth
        assert not Transfer(dense, Settings()).ours.worth

    def test_not_worth_with_slow_units(self):
        assert not Transfer(self.array, Settings(link=10e9, unit_rate=9e9)).ours.worth

    def test_not_worth_when_hidden(self):
        hidden = Hidden(1.0, 1.0)
        verdict = Transfer(self.array, Settings(hidden=hidden)).ours
        assert (verdict.plain, verdict.compressed, verdict.worth) == (0, 0, False)

    def test_hidden_by_name(self):
        settings = Settings(link=1e9, hidden_by_name={"t": Hidden(forward=self.raw / 1e9)})
        verdict = Transfer(self.array, settings).ours
        assert verdict.plain == self.raw / 1e9
        assert verdict.compressed == self.small / 1e9

    def test_cswap_is_equations_1_to_4(self):
        hidden = Hidden(30e-6, 10e-6)
        settings = Settings(link=1e9, link_back=2e9, kernel_rate=4e9, hidden=hidden)
        verdict = Transfer(self.array, settings).cswap
        size, sparsity = self.raw, 0.75
        plain = max(size / 1e9 - 30e-6, 0) + max(size / 2e9 - 10e-6, 0)
        offload = max(size * (1 - sparsity) / 1e9 - 30e-6, 0)
        prefetch = max(size * (1 - sparsity) / 2e9 - 10e-6, 0)
        assert verdict.plain == pytest.approx(plain)
        assert verdict.compressed == pytest.approx(size / 4e9 + size / 4e9 + offload + prefetch)

    def test_cswap_has_the_kernels_of_the_model(self):
        times = KernelTimes(load_assumptions().kernels, 900e9)
        settings = Settings(link=1e9, memory=900e9)
        there, back = (times.seconds(direction, self.raw, 0.25) for direction in ("compress", "decompress"))
        assert there != back
        assert settings.kernel_seconds(self.raw, 0.25) == there + back
        verdict = Transfer(self.array, settings).cswap
        assert verdict.compressed == pytest.approx(there + back + 2 * self.raw * 0.25 / 1e9)

    def test_kernels_are_as_fast_as_memory_and_sparse_tensors_let_them(self):
        raw = 1 << 26
        slow, fast = Settings(memory=100e9), Settings(memory=1000e9)
        assert slow.kernel_seconds(raw, 0.5) > 8 * fast.kernel_seconds(raw, 0.5)
        assert slow.kernel_seconds(raw, 0.1) < slow.kernel_seconds(raw, 0.9)
        assert replace(slow, kernel_rate=4e9).kernel_seconds(raw, 0.1) == 2 * raw / 4e9

    def test_cswap_refuses_what_kernels_make_slower(self):
        settings = Settings(link=10e9, units=4, kernel_rate=5e9)
        assert Transfer(self.array, settings).ours.worth
        assert not Transfer(self.array, settings).cswap.worth

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"link": 0}, "link is 0; it must be a number of bytes per second, more than 0"),
            ({"link_back": -1.0}, "link_back is -1.0; it must be"),
            ({"unit_rate": math.nan}, "unit_rate is nan; it must be"),
            ({"memory": 0.0}, "memory is 0.0; it must be"),
            ({"kernel_rate": math.inf}, "kernel_rate is inf; it must be"),
            ({"units": 0}, "units is 0; it must be a whole number, 1 or more"),
        ],
    )
    def test_settings_refusals(self, settings, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            Settings(**settings)

    def test_negative_hidden_time(self):
        with pytest.raises(
            ParameterError, match="hidden backward is -1; it must be a number of seconds, 0 or more"
        ):
            Hidden(backward=-1)
