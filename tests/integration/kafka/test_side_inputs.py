"""Tables filled by topics."""

import os
import uuid
from random import Random

import pytest

from support import apps, visits
from support.visits import Hub

RUNS = max(1, int(os.environ.get("STREAMAPP_KILL_RUNS", "4")) // 4)


@pytest.fixture
def system(kafka):
    return {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}


def named(system, **options):
    return visits.app(system, f"app-{uuid.uuid4().hex[:8]}", **options)


@pytest.mark.parametrize("customers", [{}, {"broadcast": True}, {"bounded": True}])
def test_the_first_row_finds_what_the_topic_held_at_the_start(tmp_path, system, customers):
    document = named(system, customers=customers, processors=2)
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome", cleo="Kiev")
    hub.move(ada="Bergen", cleo=None)
    hub.send("customers", (None, {"city": "Nowhere"}))
    hub.visit("ada", "bob", "cleo")
    summary = apps.run(document, tmp_path)
    assert hub.visits() == [("ada", 0, "Bergen"), ("bob", 0, "Rome"), ("cleo", 0, None)]
    assert summary.not_used == {"customer": {"without key": 1}}


def test_a_kept_table_goes_on_from_its_own_offsets(tmp_path, system):
    document = named(system, visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo")
    apps.run_until(tmp_path, document, lambda: hub.visit("ada") or ("ada", 0, "Oslo") in hub.visits())
    hub.forget("customers")
    hub.move(bob="Rome")
    hub.visit("ada", "bob", n=1)
    apps.run_until(tmp_path, document, lambda: {("ada", 1, "Oslo"), ("bob", 1, "Rome")} <= {*hub.visits()})
    hub.move(ada=None, bob="Pisa")
    apps.run_until(
        tmp_path,
        document,
        lambda: hub.visit("ada", "bob", n=2) or {("ada", 2, None), ("bob", 2, "Pisa")} <= {*hub.visits()},
    )


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_killed_app_loses_no_update_of_its_table(tmp_path, system, seed):
    random = Random(7_000 + seed)
    document = named(
        system, table={"bootstrap": seed % 2 == 1}, customers={"broadcast": seed % 4 >= 2}, visits={"bounded": False}
    )
    visits.kill_and_check(tmp_path, document, random)
