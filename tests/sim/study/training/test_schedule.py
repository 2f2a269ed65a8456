"""What a schedule of training refuses."""

import math

import pytest

from cdma import ParameterError
from cdma.sim.study.training.schedule import Schedule


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be a whole number, 1 or more"),
        ({"points": 1}, "points is 1; it must be a whole number, 2 or more"),
        ({"batch": 1501}, "batch is 1501; there are 1500 training images"),
        ({"learning_rate": math.nan}, "learning_rate is nan; it must be more than 0"),
    ],
)
def test_schedule_refusals(settings, message):
    with pytest.raises(ParameterError, match=message):
        Schedule(**settings)
