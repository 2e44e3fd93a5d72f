"""Fail-points: named places where a process may be made to die, to prove that nothing is lost there.

Off unless the environment variable names one: `STREAMAPP_FAIL_POINT=commit-2:before:3` kills the process with SIGKILL
the third time it is about to take step 2 of a commit. The names are the steps of `docs/protocols.md`.
"""

import os
import signal
from enum import StrEnum

VARIABLE = "STREAMAPP_FAIL_POINT"


class Step(StrEnum):
    """Every step of the protocols; each can be died before and after."""

    COMMIT_FLUSH = "commit-1"
    COMMIT_STAGE = "commit-2"
    COMMIT_LOG = "commit-3"
    COMMIT_PUBLISH = "commit-4"
    COMMIT_STATE = "commit-5"
    TASK_LOCK = "task-1"
    TASK_RESTORE = "task-2"
    TASK_PUBLISH = "task-3"
    RUN_RECORD = "run-1"
    RUN_FENCE = "run-2"
    RUN_STREAMS = "run-3"
    RUN_FINISH = "run-4"


class Moment(StrEnum):
    """Before or after a step."""

    BEFORE = "before"
    AFTER = "after"


class _Armed:
    """The one place where this process is to die, and how often it still passes it."""

    def __init__(self, setting: str) -> None:
        step, moment, times = setting.split(":")
        self.place = (Step(step), Moment(moment))
        self.left = int(times)


_armed = _Armed(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def reach(step: Step, moment: Moment) -> None:
    """Die here if this is the place and the time; else nothing."""
    if _armed is None or _armed.place != (step, moment):
        return
    _armed.left -= 1
    if _armed.left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


class Taking:
    """A step under way: `with Taking(Step.COMMIT_LOG): ...` passes its fail-points before and after."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        reach(self._step, Moment.BEFORE)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            reach(self._step, Moment.AFTER)
