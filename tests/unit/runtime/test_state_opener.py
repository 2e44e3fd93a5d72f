"""States that are opened while a previous worker still holds them."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.processor.state_opener import StateOpener, task_folder
from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_systems.clock import Clock
from support import job_models

TASKS = job_models.example().tasks


class Seconds:
    seconds = 0.0

    def sleep(self, seconds):
        self.seconds += seconds


def test_a_lock_that_a_stuck_worker_holds_fails_this_start_and_not_the_run(tmp_path):
    clock = Seconds()
    task = min(TASKS)
    holder = FolderLock(task_folder(tmp_path, task), wait_seconds=0, clock=lambda: 0.0, sleep=clock.sleep)
    with ExitStack() as handles:
        handles.callback(holder.close)
        clocks = Clock(monotonic=lambda: clock.seconds, sleep=clock.sleep, time_of_day=lambda: 0)
        context = replace(local_context(tmp_path), clock=clocks)
        opener = StateOpener(tmp_path, "r1", handles, context, None)
        with pytest.raises(ProcessorLost, match=f"a previous worker of task {task} has not ended: .* is in use"):
            opener.open(TASKS, None, None)
    assert clock.seconds >= 20.0
