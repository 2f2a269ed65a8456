"""What a lost job and a lost worker cost. Threads that wait for processes: what they have started ends with whoever
gives up, and is nobody's result. What a tool in Python said, without the lines of its program.
"""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from itertools import count
from threading import Event

import pytest

from cdma.base.errors import ToolError
from cdma.base.spread import Lost, ending_with_thread, last_words, spread, tool_threads
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


#: Seconds that nothing here takes.
FAR = 30.0


def _wait(begun: Event, ended: Event) -> str:
    """What a thread does that waits for a process."""
    with ending_with_thread(ended.set):
        begun.set()
        assert ended.wait(FAR)
    return "a result"


def test_an_interrupted_thread_ends_without_a_result() -> None:
    futures: list[Future[str]] = []
    begun, ended = Event(), Event()
    with suppress(KeyboardInterrupt), tool_threads(1) as pool:
        futures = [pool.submit(_wait, begun, ended), pool.submit(_wait, Event(), Event())]
        assert begun.wait(FAR)
        raise KeyboardInterrupt
    with pytest.raises(CancelledError):
        futures[0].result(0)
    assert futures[1].cancelled(), "it had not begun"


def test_threads_of_threads() -> None:
    begun, ended = Event(), Event()

    def outer() -> str:
        with tool_threads(1) as pool:
            return pool.submit(_wait, begun, ended).result()

    with suppress(SystemExit), tool_threads(1) as pool:
        future = pool.submit(outer)
        assert begun.wait(FAR)
        raise SystemExit
    assert isinstance(future.exception(0), CancelledError)


def test_a_process_started_after_an_interrupt_ends_at_once() -> None:
    begun, first, second = Event(), Event(), Event()

    def one_after_the_other() -> str:
        with suppress(CancelledError):
            _wait(begun, first)
        return _wait(Event(), second)

    with suppress(KeyboardInterrupt), tool_threads(1) as pool:
        future = pool.submit(one_after_the_other)
        assert begun.wait(FAR)
        raise KeyboardInterrupt
    assert isinstance(future.exception(0), CancelledError)
    assert second.is_set()


def test_a_result_is_a_result() -> None:
    ended = Event()

    def done() -> int:
        with ending_with_thread(ended.set):
            return 5

    with tool_threads(2) as pool:
        assert pool.submit(done).result() == 5
    assert done() == 5, "in no such thread"
    assert not ended.is_set()


_FAILED = """\
something before
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    raise a.Wrong("b: c")
a.b.Wrong: no cache in /nowhere

Caused by:
    Not a directory (os error 20)
"""


def test_of_a_traceback_the_exception_is_left_in_one_line() -> None:
    assert last_words(_FAILED) == "no cache in /nowhere, Not a directory (os error 20)"


def test_of_several_tracebacks_the_last_one_counts() -> None:
    assert last_words(f"{_FAILED}\nTraceback (most recent call last):\nMemoryError: all\n") == "all"


def test_other_words_stay() -> None:
    assert last_words("ERROR: no module: a\n") == "ERROR: no module: a"
