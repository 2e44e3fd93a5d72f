"""Errors of a running app: each says what, where, why, and what to do."""

from collections.abc import Sequence

from streamapp_core.control.messages import UndecodableMessageError
from streamapp_core.job_model.job_model_errors import JobModelOutdatedError, JobModelUnreadableError
from streamapp_core.problems import Problem
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, Unavailable


class RuntimeFailure(Exception):  # noqa: N818 - a failure is what the driver reports, whatever raised it
    """The app can't continue; the message is for the person who runs it."""


class PlanRefused(RuntimeFailure):
    """The spec can't be right, or `why` says what else is wrong; nothing was started."""

    def __init__(self, problems: Sequence[Problem], why: str = "the spec is refused") -> None:
        super().__init__(f"{why}:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = tuple(problems)


class SpecChanged(RuntimeFailure):
    """A run can't continue, or has completed, as another app than the one that it began with; the message says so."""


class NotSupported(RuntimeFailure):
    """The spec is right, but not here: the message says what and where."""


class ClaimBroken(RuntimeFailure):
    """Rows are not where the declared key of their stream says: results would be wrong; the message says what to do."""


class ProcessorFailed(RuntimeFailure):
    """A processor can't continue, or died again and again; the message has its name and last error."""


class SystemAway(RuntimeFailure):
    """A system did not answer for so long that the driver gave up; the message names who waited, and for what."""


class Superseded(RuntimeFailure):
    """A later driver of the app has taken over: this one must end, and change nothing more."""


class SideInputChanged(RuntimeFailure):
    """A file that fills a table is not the one that the run reads: all processors start again with the new version."""


class JobModelLost(RuntimeFailure):
    """The documents of a run are gone while its streams exist; the message says what to do."""


class Drained(Exception):  # noqa: N818 - what happened
    """A run was stopped before its end, after a last commit of all its processors: it continues when started again."""


class ProcessorLost(Exception):  # noqa: N818 - what happened
    """A processor ended before its work was done; a restart may succeed."""


class DriverLost(Exception):  # noqa: N818 - what happened
    """The driver is gone or has declared this incarnation dead: end without another commit."""


FAILURES = (RuntimeFailure, StreamSystemError, UndecodableMessageError, JobModelUnreadableError, JobModelOutdatedError)
"""Errors that are shown by their message alone; anything else is a bug and is shown with its traceback."""

TRANSIENT = (ProcessorLost, DriverLost, Fenced, CommitUnknown, Unavailable, SideInputChanged)
"""Errors that end an incarnation of a processor and not the run: the next one continues from the last commit."""

OUTAGES = (CommitUnknown, Unavailable)
"""Errors of the driver's own calls that say nothing about the app: a system is away, and the call is made again."""
