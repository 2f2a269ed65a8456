"""What a tool in Python said, without the lines of its program."""

from cdma.base.spread import last_words

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
