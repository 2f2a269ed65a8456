"""Cases of a test of which some are for ``make thorough``."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from _pytest.mark.structures import ParameterSet

__all__ = ["cases_of"]


def cases_of(shapes: Mapping[str, object], thorough: Collection[str]) -> list[ParameterSet]:
    """The parameters of each shape, with its name. Shapes named in ``thorough`` are those that others nearly cover."""
    unknown = set(thorough) - set(shapes)
    assert not unknown, f"no shape is called {', '.join(sorted(unknown))}"
    return [
        pytest.param(
            *(values if isinstance(values, tuple) else (values,)),
            id=name,
            marks=[pytest.mark.thorough] if name in thorough else [],
        )
        for name, values in shapes.items()
    ]
