"""A driver that dies while it takes the growth of a stream, at every step of the handover, and goes on."""

import json
import signal

import pytest

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support import crashes
from support.growth import Growing
from support.waiting import eventually

KEYS = range(16)
OF_A_HANDOVER = [step for step in FailPoint if step.startswith("handover")]


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", OF_A_HANDOVER)
def test_a_driver_that_died_while_it_took_a_growth_goes_on_to_the_same_results(tmp_path, step, moment):
    app = Growing(tmp_path, {"log": {"path": "log.db"}})
    (tmp_path / "app.yaml").write_text(json.dumps(app.document()))
    app.write(*KEYS, count=4)
    run = crashes.start(tmp_path, "--host", "in-process", **{VARIABLE: f"{step}:{moment}:1"})
    try:
        assert eventually(lambda: len(app.numbers()) == len(KEYS))
        app.expand(8)
        app.write(*KEYS, count=4)
        app.write(*KEYS, count=8)
    except BaseException:
        crashes.kill_group(run)
        raise
    died, output = crashes.end(run)
    assert died == -signal.SIGKILL, output
    app.run(app.document(), app.all_copied)
    app.check()
