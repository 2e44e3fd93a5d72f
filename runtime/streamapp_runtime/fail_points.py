"""Fail-points: named places where a process may be made to die, to prove that nothing is lost there.

Off unless the environment variable names some: `STREAMAPP_FAIL_POINT=commit-2:before:3` kills the process with SIGKILL
the third time it is about to take step 2 of a commit, `commit-2:before:3:5` only if it is the worker of incarnation 5.
Several are separated by commas. The names are the steps of `docs/protocols.md`.
"""

import os
import signal
from enum import StrEnum

VARIABLE = "STREAMAPP_FAIL_POINT"


class FailPoint(StrEnum):
    """Every step of the protocols; each can be died before and after."""

    COMMIT_FLUSH = "commit-1"
    COMMIT_STAGE = "commit-2"
    COMMIT_LOG = "commit-3"
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


class Moment(StrEnum):
    """Before or after a step."""

    BEFORE = "before"
    AFTER = "after"


class _Armed:
    """A place where this process is to die, how often it still passes it, and in which incarnation (None: any)."""

    def __init__(self, setting: str) -> None:
        step, moment, times, *incarnation = setting.split(":")
        self.place = (FailPoint(step), Moment(moment))
        self.left = int(times)
        self.incarnation = int(incarnation[0]) if incarnation else None


_armed = [_Armed(setting) for setting in os.environ.get(VARIABLE, "").split(",") if setting]
_incarnation: int | None = None


def enter(incarnation: int) -> None:
    """Say that this process is the worker of an incarnation."""
    global _incarnation  # noqa: PLW0603 - there is one per process
    _incarnation = incarnation


def reach(step: FailPoint, moment: Moment) -> None:
    """Die here if this is the place and the time; else nothing."""
    for armed in _armed:
        if armed.place == (step, moment) and armed.incarnation in (None, _incarnation):
            armed.left -= 1
            if armed.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Taking:
    """A step under way: `with Taking(Step.COMMIT_LOG): ...` passes its fail-points before and after."""

    def __init__(self, step: FailPoint) -> None:
        self._step = step

    def __enter__(self) -> None:
        reach(self._step, Moment.BEFORE)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            reach(self._step, Moment.AFTER)
