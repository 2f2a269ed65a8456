"""What a lost job and a lost worker cost."""

import os
import signal
import subprocess
from itertools import count

import pytest

from cdma.base.errors import ToolError
from cdma.base.spread import Lost, ending_with_thread, spread
from tests.support.patience import PATIENCE


def test_a_point_that_fails_costs_only_itself():
    def halve(number):
        if number % 2:
            raise ToolError(f"{number} is odd")
        return number // 2

    assert dict(spread(halve, [4, 5, 6], jobs=2)) == {0: 2, 1: Lost("5 is odd"), 2: 3}


def test_a_mistake_of_ours_is_not_a_lost_point():
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda number: 1 // number, [0], jobs=1))


def test_what_still_runs_when_the_time_is_over_is_given_up():
    ends = []

    def work(number):
        if number:
            with subprocess.Popen(["sleep", "3600"]) as process, ending_with_thread(process.kill):
                ends.append(process.wait())
        return number

    assert dict(spread(work, count(), jobs=2, seconds=1.0)) == {0: 0}
    assert set(ends) == {-signal.SIGKILL}


@pytest.mark.slow
def test_a_job_that_kills_its_workers_costs_only_itself(cluster):
    def work(number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 10

    found = dict(spread(work, list(range(6)), scheduler=cluster.scheduler_address, patience=PATIENCE))
    assert found.pop(2) == Lost("the workers that tried it died")
    assert found == {number: number * 10 for number in (0, 1, 3, 4, 5)}


def test_the_job_of_a_lost_worker_is_done_by_another(cluster, tmp_path):
    marks = str(tmp_path)

    def work(number):
        mark = os.path.join(marks, str(number))
        if number == 0 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert dict(spread(work, [0, 1, 2], scheduler=cluster.scheduler_address, patience=PATIENCE)) == {
        0: 0,
        1: 1,
        2: 2,
    }
    assert os.listdir(tmp_path) == ["0"]


def test_failures_on_the_cluster_say_why(cluster):
    def work(number):
        raise ValueError(f"no {number}")

    found = dict(spread(work, [7], scheduler=cluster.scheduler_address, patience=PATIENCE))
    assert found == {0: Lost("ValueError: no 7")}


def test_no_scheduler():
    pytest.importorskip("distributed")
    with pytest.raises(ToolError, match=r"^there is no Dask scheduler at tcp://127\.0\.0\.1:1: "):
        list(spread(abs, [1], scheduler="tcp://127.0.0.1:1", patience=1.0))


def test_a_cluster_without_workers():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(ToolError, match=r"^the Dask scheduler at tcp://\S+ has had no worker for 1 s$"),
    ):
        list(spread(abs, [1], scheduler=empty.scheduler_address, patience=1.0))
