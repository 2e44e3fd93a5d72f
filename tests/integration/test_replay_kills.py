"""Replays that die at steps of their protocols go on by their run id: from where they began to where they end."""

import os

import pytest

from streamapp_runtime.fail_points import VARIABLE
from support import crashes
from support.forked_runs import ForkedRun
from support.growth import Growing
from support.replays import KEYS, numbers, write_hours

DEATHS = [
    "run-3:after:1",
    "commit-2:before:2",
    "commit-3:after:1",
    "commit-5:before:1",
    "run-4:before:1",
]


@pytest.mark.parametrize("death", DEATHS)
def test_a_replay_that_is_killed_reads_what_it_began_to_read(tmp_path, death):
    source = Growing(tmp_path, {"log": {"path": "log.db"}})
    hours = write_hours(source)
    options = ["--from", hours[1], "--run-id", "r2", "--host", "in-process"]
    arguments = ["replay", str(tmp_path / "app.yaml"), *options]
    code, output = crashes.end(ForkedRun(arguments, os.environ | {VARIABLE: death}))
    assert code == -9, output
    source.write(*KEYS, count=4)
    code, output = crashes.end(ForkedRun(arguments, os.environ))
    assert code == 0, output
    assert numbers(source, "r2") == {key: [1, 2] for key in KEYS}
    assert {row["k"]: row["c"] for row in source.rows("counts-r2")} == dict.fromkeys(KEYS, 2)
