"""Errors of a running app: each says what, where, why, and what to do."""

from collections.abc import Sequence

from streamapp_core.control.messages import UndecodableMessageError
from streamapp_core.job_model.job_model_errors import JobModelOutdatedError, JobModelUnreadableError
from streamapp_core.problems import Problem
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, Unavailable


class RuntimeFailure(Exception):  # noqa: N818 - a failure is what the driver reports, whatever raised it
    """The app can't go on; the message is for the person who runs it."""


class PlanRefused(RuntimeFailure):
    """The spec can't be right; nothing was started. Mend the problems and try again."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the spec is refused:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = tuple(problems)


class NotSupported(RuntimeFailure):
    """The spec is right, but this release can't run it; the message says what and where."""


class ProcessorFailed(RuntimeFailure):
    """A processor can't go on, or died time and again; the message says which one and what it said last."""


class Superseded(RuntimeFailure):
    """A later driver of the app has taken over: this one must end, and leave everything as it is."""


class JobModelLost(RuntimeFailure):
    """What the driver knew of a run is gone while its streams are there; the message says how to go on."""


class Drained(Exception):  # noqa: N818 - what happened
    """A run was stopped before its end, after a last commit of all its processors: it goes on when started again."""


class ProcessorLost(Exception):  # noqa: N818 - what happened
    """A processor ended before its work was done, and may do better when it is started again."""


class DriverLost(Exception):  # noqa: N818 - what happened
    """The driver is gone or has given this incarnation up: end without another commit."""


FAILURES = (RuntimeFailure, StreamSystemError, UndecodableMessageError, JobModelUnreadableError, JobModelOutdatedError)
"""What a person is told by its message alone; anything else is a bug and comes with its trace."""

TRANSIENT = (ProcessorLost, DriverLost, Fenced, CommitUnknown, Unavailable)
"""What ends an incarnation of a processor and not the run: the next one finds what was committed, and goes on."""
