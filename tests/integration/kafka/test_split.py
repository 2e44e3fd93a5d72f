"""Two apps with a topic between them, on a broker: what `unit/apps/test_split.py` shows of a log."""

import uuid

import pytest

from streamapp_runtime.threads import in_thread
from support.apps import DEADLINE
from support.growth import partitions
from support.split import Split


@pytest.fixture
def split(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return Split(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}")


def test_an_app_follows_another_one_that_is_killed_to_its_end(split):
    split.write(hours=5, count=2)
    follower = in_thread("second", lambda: split.run(split.second(partitions=3)))
    split.die(split.first(bounded=True), "commit-3:after:1")
    split.run(split.first(bounded=True))
    follower.result(DEADLINE)
    assert split.windows("second") == split.expected(5)


def test_an_app_is_killed_and_the_tasks_of_the_one_before_it_grow(split):
    split.write(hours=3, count=2)
    seen = []

    def grow(summary):
        seen.append(partitions(summary))
        if split.all_read(summary) and split.hours == 3:
            split.source.expand(4)
            split.write(hours=2, count=4)

    split.drain(split.first(), lambda summary: 4 in seen and split.all_read(summary), listener=grow)
    split.kill(split.second(), lambda _: split.windows("second").total())
    split.kill(split.second(), lambda _: split.all_counted("second"))
    assert split.windows("second") == split.expected(split.hours - 1)
