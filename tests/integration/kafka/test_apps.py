"""Whole apps on a real broker: exact results, undisturbed and killed."""

import os
import signal
import subprocess
import uuid
from random import Random

import pytest

from streamapp_runtime.errors import PlanRefused
from support import apps, crashes, numbered

RUNS = max(4, int(os.environ.get("STREAMAPP_KILL_RUNS", "15")) // 4)
KILLS = 3


@pytest.fixture
def folder(tmp_path, kafka):
    """A folder with the numbered records' app, its records on the broker."""
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    numbered.lay_out(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}")
    return tmp_path


def test_records_go_through_two_shuffles_and_a_table_join_once_and_in_order(folder):
    summary = apps.run((folder / "app.yaml").read_text(), folder)
    numbered.check(folder)
    assert summary.written == {"out": numbered.RECORDS}
    assert all(stream.ended == stream.partitions for stream in summary.streams)


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_killed_at_random_moments_ends_with_the_same_results(folder, seed):
    random = Random(4_000 + seed)
    for _ in range(KILLS):
        process = crashes.start(folder, "--host", "in-process")
        try:
            process.wait(timeout=random.uniform(0.8, 3.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        crashes.end(process)
    code, output = crashes.end(crashes.start(folder, "--host", "in-process"))
    assert code == 0, output
    numbered.check(folder)


def test_a_topic_that_does_not_exist_is_a_problem_with_its_path(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    document = numbered.app(system, name=f"app-{uuid.uuid4().hex[:8]}")
    (tmp_path / "names.csv").write_text("k,name\n")
    with pytest.raises(PlanRefused, match=r"spec\.streams\.in: StreamNotFound"):
        apps.run(document, tmp_path)
