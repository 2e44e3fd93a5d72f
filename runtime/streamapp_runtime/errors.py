"""Errors of a running app: each says what, where, why, and what to do."""

from collections.abc import Sequence

from streamapp_core.control.messages import UndecodableMessageError
from streamapp_core.job_model.errors import JobModelOutdatedError, JobModelUnreadableError
from streamapp_core.problems import Problem
from streamapp_systems.protocols import StreamSystemError


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
    """A processor died; the message says which one and what it said last."""


FAILURES = (RuntimeFailure, StreamSystemError, UndecodableMessageError, JobModelUnreadableError, JobModelOutdatedError)
"""What a person is told by its message alone; anything else is a bug and comes with its trace."""
