"""Die before and after every step of the protocols, go on, and find the same."""

import signal

import pytest

from streamapp_runtime.fail_points import VARIABLE, Moment, Step
from support import crashes

IN_PROCESS = ("--host", "in-process")


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", list(Step))
def test_a_run_that_died_at_a_step_goes_on_to_the_same_results(tmp_path, step, moment):
    crashes.lay_out(tmp_path, 3_000)
    times = "3" if step.startswith("commit") else "1"
    died, output = crashes.end(crashes.start(tmp_path, *IN_PROCESS, **{VARIABLE: f"{step}:{moment}:{times}"}))
    assert died == -signal.SIGKILL, output
    code, output = crashes.end(crashes.start(tmp_path, *IN_PROCESS))
    assert code == 0, output
    crashes.check(tmp_path)
