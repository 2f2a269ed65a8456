"""What the sequencer of the rings does: a list of jobs, and of the errors that it logs."""

from amaranth.lib import data, enum

__all__ = ["Cause", "Job", "Wish"]


class Job(enum.Enum):
    """A job of the sequencer."""

    #: Requests a descriptor from its ring.
    FETCH = 0
    #: Copies a pushed descriptor to where the fetched ones are.
    PUSH = 1
    #: Writes a completion into its ring.
    SEND = 2
    #: Writes a completion into the registers.
    SHOW = 3
    #: Writes an error into the registers: that of a completion, or one of a ring.
    LOG = 4


class Cause(enum.Enum):
    """The error that a ``LOG`` writes."""

    #: The completion at the input reports it.
    OWN = 0
    #: The slot of that completion is outside the window.
    REFUSED = 1
    #: The write of an earlier completion was answered with an error.
    ANSWER = 2
    #: The port does not answer the fetch of a descriptor.
    FETCH_LOST = 3
    #: The port does not answer the write of a completion.
    SEND_LOST = 4


#: The next job of a channel. It stays until the sequencer has done it, or until its reason is gone.
Wish = data.StructLayout({"valid": 1, "job": Job, "cause": Cause})
