"""What waits for a GPU, without one."""

from __future__ import annotations

from tests.extras.pytorch.interpreted import torch

from torch.utils._python_dispatch import TorchDispatchMode  # isort: skip


class Waits(TorchDispatchMode):
    """Counts the numbers that come to the host, for each of which it waits."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))
