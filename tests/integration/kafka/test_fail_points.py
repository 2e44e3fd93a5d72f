"""One run on a broker that dies before and after each step which has to do with it, and stays exact."""

import time
import uuid
from itertools import product

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support.soak import Soak

OF_A_START = [FailPoint.RUN_FENCE, FailPoint.RUN_STREAMS]
OF_A_WORKER = [
    FailPoint.PROCESSOR_OPEN,
    FailPoint.COMMIT_TRANSACTION,
    FailPoint.PROCESSOR_CHECK,
    FailPoint.COMMIT_STATE,
    FailPoint.TASK_RESTORE,
]
"""Commits in between: a run ends when six incarnations in a row die before they have done anything."""

DEATH_OF_A_WORKER = f"{FailPoint.COMMIT_TRANSACTION}:{Moment.AFTER}:1:1"
RESTARTED = "is restarted: "
"""Said of a worker that has died at its place; on a busy machine also of one that was replaced before it got there."""


def places(steps):
    """Name the places before and after each of these steps; a commit is one that follows another."""
    return [f"{step}:{moment}:{2 if step.startswith('commit') else 1}" for step, moment in product(steps, Moment)]


def test_a_run_that_died_around_every_step_with_the_broker_is_exact(tmp_path, kafka, monkeypatch):
    drivers = places(OF_A_START) + [f"{place},{DEATH_OF_A_WORKER}" for place in places([FailPoint.REPLACE_FENCE])]
    workers = [f"{place}:{incarnation}" for incarnation, place in enumerate(places(OF_A_WORKER), 1)]
    log = tmp_path / "run.log"
    monkeypatch.setenv(VARIABLE, drivers[0])
    with Soak(tmp_path, kafka, f"steps-{uuid.uuid4().hex[:8]}", "--host", "processes") as soak:
        soak.feed(1_000)
        for place in [*drivers[1:], ",".join(workers)]:
            monkeypatch.setenv(VARIABLE, place)
            soak.go_on()
            soak.feed(200)
        deadline = time.monotonic() + 400
        while log.read_text().count(RESTARTED) < len(workers):
            assert time.monotonic() < deadline, log.read_text()
            soak.feed(50)
            time.sleep(0.05)
        soak.finish()
    assert soak.gave_up == []
