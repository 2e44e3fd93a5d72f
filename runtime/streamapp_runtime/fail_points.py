"""Fail-points: named places where a process may be made to die, to prove that nothing is lost there.

Off unless the environment variable names some: `STREAMAPP_FAIL_POINT=commit-2:before:3` kills the process with SIGKILL
the third time it is about to take step 2 of a commit, `commit-2:before:3:5` only if it is the worker of incarnation 5.
Several are separated by commas. The names are the steps of `docs/protocols.md`.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

VARIABLE = "STREAMAPP_FAIL_POINT"


class FailPoint(StrEnum):
    """A step of the protocols; a process can be made to die before it and after it."""

    COMMIT_FLUSH = "commit-1"
    COMMIT_STAGE = "commit-2"
    COMMIT_TRANSACTION = "commit-3"
    COMMIT_PUBLISH = "commit-4"
    COMMIT_STATE = "commit-5"
    PROCESSOR_OPEN = "processor-1"
    PROCESSOR_CHECK = "processor-2"
    TASK_LOCK = "task-1"
    TASK_RESTORE = "task-2"
    TASK_PUBLISH = "task-3"
    PROCESSOR_REPORT = "processor-3"
    REPLACE_FENCE = "replace-1"
    REPLACE_START = "replace-2"
    HANDOVER_MODEL = "handover-1"
    HANDOVER_DRAIN = "handover-2"
    HANDOVER_FENCE = "handover-3"
    HANDOVER_START = "handover-4"
    RUN_RECORD = "run-1"
    RUN_FENCE = "run-2"
    RUN_STREAMS = "run-3"
    RUN_FINISH = "run-4"
    SOURCE_STAGE = "source-1"
    SOURCE_PUBLISH = "source-2"
    UPKEEP_WRITE = "upkeep-1"
    UPKEEP_COMMIT = "upkeep-2"
    OUTPUT_WRITE = "output-1"
    OUTPUT_NOTE = "output-2"


class Moment(StrEnum):
    """Before or after a step."""

    BEFORE = "before"
    AFTER = "after"


class _Armed:
    """An armed fail-point: where this process dies, at which pass, and in which incarnation (None: any)."""

    def __init__(self, setting: str) -> None:
        point, moment, times, *incarnation = setting.split(":")
        self.place = (FailPoint(point), Moment(moment))
        self.left = int(times)
        self.incarnation = int(incarnation[0]) if incarnation else None


_armed: list[_Armed] = []
_incarnation: int | None = None


def arm(settings: str) -> None:
    """Arm fail-points, several separated by commas, in place of those that were armed."""
    _armed[:] = [_Armed(setting) for setting in settings.split(",") if setting]


arm(os.environ.get(VARIABLE, ""))


def set_incarnation(incarnation: int) -> None:
    """Note that this process is the worker of an incarnation: some fail-points are only for one of them."""
    global _incarnation  # noqa: PLW0603 - there is one per process
    _incarnation = incarnation


def reach(point: FailPoint, moment: Moment) -> None:
    """Kill this process if this fail-point is armed and has been passed often enough."""
    for armed in _armed:
        if armed.place == (point, moment) and armed.incarnation in (None, _incarnation):
            armed.left -= 1
            if armed.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def fail_point(point: FailPoint) -> Iterator[None]:
    """Pass a fail-point before the block and, unless the block raises, after it."""
    reach(point, Moment.BEFORE)
    yield
    reach(point, Moment.AFTER)
