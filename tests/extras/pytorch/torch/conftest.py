"""What the tests of training share. Without PyTorch, which the extra ``torch`` brings, there are none."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") and find_spec("sklearn") else ["*"]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch with one thread and the same random numbers for every test."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
