"""Processors that die, come back from the dead, or change hands, on a real broker."""

import os
import uuid

import pytest

from support import scenarios
from support.growing_lake import GrowingLake
from support.growth import Growing

STOPPED_SECONDS = float(os.environ.get("STREAMAPP_ZOMBIE_SECONDS", "5"))
"""How long the zombie stands still; `make soak` makes it longer than a transaction may take."""


def growing(kind, folder, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return kind(folder, system, name=f"app-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def source(tmp_path, kafka):
    return growing(Growing, tmp_path, kafka)


@pytest.fixture
def lake(tmp_path, kafka):
    return growing(GrowingLake, tmp_path, kafka)


def test_a_worker_that_is_killed_is_replaced_while_the_others_go_on(tmp_path, source):
    scenarios.worker_dies(source, tmp_path)
    source.check()


def test_a_zombie_that_comes_back_does_nothing_and_ends(tmp_path, lake):
    scenarios.zombie_comes_back(lake, tmp_path, STOPPED_SECONDS)
    lake.check()


def test_tasks_go_to_more_processors_and_to_fewer_while_rows_come(tmp_path, source):
    scenarios.tasks_change_hands(source, tmp_path)
    source.check()
