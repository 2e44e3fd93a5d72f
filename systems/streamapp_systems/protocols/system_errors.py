"""The errors of systems."""

from streamapp_core.ssp import Ssp


class StreamSystemError(Exception):
    """A system can't do what was asked; the message says which stream or partition, why, and what to do."""


class BadRecord(StreamSystemError):  # noqa: N818 - the error is the record's
    """One record can't be read; `ssp` and `offset` say which. The consumer that raised this goes on after it."""

    def __init__(self, ssp: Ssp, offset: int, reason: str) -> None:
        super().__init__(ssp, offset, reason)
        self.ssp = ssp
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.ssp}, offset {self.offset}: {self.reason}"


class VersionGone(StreamSystemError):  # noqa: N818 - what happened to the version
    """The version of a table or folder that is to be read is there no more: only a later one can be read."""


class Fenced(StreamSystemError):  # noqa: N818 - what happened to the producer
    """A newer owner of the transactional id has taken over: nothing of ours is written any more. Stop."""


class Unavailable(StreamSystemError):  # noqa: N818 - the state of the system
    """The system does not answer at the moment, or has lost what was in flight: try again, or check the system."""


class CommitUnknown(StreamSystemError):  # noqa: N818 - what is known of the commit
    """Nobody answered whether the transaction was committed. Commit again, or exit; it can't be aborted any more."""
