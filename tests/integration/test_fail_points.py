"""Die before and after every step of the protocols, go on, and find the same."""

import signal

import pytest

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support import crashes

IN_PROCESS = ("--host", "in-process")
PROCESSES = ("--host", "processes")
OF_THE_DRIVER = [step for step in FailPoint if step.startswith("run")]
OF_A_WORKER = [step for step in FailPoint if step.startswith(("processor", "task", "commit"))]
OF_A_REPLACEMENT = [step for step in FailPoint if step.startswith("replace")]
COMMITS = {"run": 3, "worker": 2}
"""How many commits there are at least, however fast the machine is: of the processors together, and of the first."""
DEATH_OF_A_WORKER = f"commit-3:after:{COMMITS['worker']}:1"


def times(step, who):
    return COMMITS[who] if step.startswith("commit") else 1


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", OF_THE_DRIVER + OF_A_WORKER)
def test_a_run_that_died_at_a_step_goes_on_to_the_same_results(tmp_path, step, moment):
    crashes.lay_out(tmp_path, 3_000)
    setting = f"{step}:{moment}:{times(step, 'run')}"
    died, output = crashes.end(crashes.start(tmp_path, *IN_PROCESS, **{VARIABLE: setting}))
    assert died == -signal.SIGKILL, output
    code, output = crashes.end(crashes.start(tmp_path, *IN_PROCESS))
    assert code == 0, output
    crashes.check(tmp_path)


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", OF_A_WORKER)
def test_a_run_whose_worker_died_at_a_step_goes_on_by_itself_to_the_same_results(tmp_path, step, moment):
    crashes.lay_out(tmp_path, 3_000)
    setting = f"{step}:{moment}:{times(step, 'worker')}:1"
    code, output = crashes.end(crashes.start(tmp_path, *PROCESSES, **{VARIABLE: setting}))
    assert code == 0, output
    assert "is restarted: its process died (SIGKILL)" in output
    crashes.check(tmp_path)


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", OF_A_REPLACEMENT)
def test_a_driver_that_died_while_it_replaced_a_worker_goes_on_to_the_same_results(tmp_path, step, moment):
    crashes.lay_out(tmp_path, 3_000)
    settings = f"{DEATH_OF_A_WORKER},{step}:{moment}:1"
    died, output = crashes.end(crashes.start(tmp_path, *PROCESSES, **{VARIABLE: settings}))
    assert died == -signal.SIGKILL, output
    code, output = crashes.end(crashes.start(tmp_path, *PROCESSES))
    assert code == 0, output
    crashes.check(tmp_path)
