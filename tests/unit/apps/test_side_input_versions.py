"""Tables filled from tables and folders that are read as a whole: each batch finds one of their versions."""

import json
import re

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.stream_sample import sample_stream
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import local_systems
from support import apps, plan_documents, side_input_tables
from support.side_input_files import Hub
from support.side_input_tables import KINDS, TOGETHER, Customers

MEMORY = {"persistent": False}
MANY = 500_000
"""Rows that take longer to be read than the driver to report."""


def cities_of(version, names=TOGETHER):
    return {name: f"{version}-{name}" for name in names}


def versions_of(hub):
    """Give the versions that each visit found."""
    found = {}
    for _, n, city in hub.visits():
        found.setdefault(n, set()).add(None if city is None else int(city.split("-")[0]))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [{}, MEMORY])
def test_a_running_app_takes_new_versions_and_no_batch_finds_two(tmp_path, kind, table):
    document = side_input_tables.app(kind, table=table | {"refresh": "50ms"}, processors=2)
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, kind)
    customers.write(cities_of(1))
    written = 1
    count = 0

    def reached():
        nonlocal count, written
        count += 1
        hub.visit(*TOGETHER, n=count)
        newest = max((max(found) for found in versions_of(hub).values()), default=0)
        if newest == written == 3:
            return True
        if newest == written:
            written += 1
            customers.write(cities_of(written))
            customers.forget()
        return False

    apps.run_until(tmp_path, document, reached)
    found = [found for _, found in sorted(versions_of(hub).items())]
    assert all(len(versions) == 1 for versions in found)
    newest = [max(versions) for versions in found]
    assert newest == sorted(newest)
    assert set(newest) == {1, 2, 3}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [{}, MEMORY, {"bootstrap": False}])
def test_a_restart_takes_the_latest_version_and_forgets_the_one_before(tmp_path, kind, table):
    document = side_input_tables.app(kind, table=table, stream={"partitions": 3}, processors=2)
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, kind)
    gone, stay = TOGETHER[:10], TOGETHER[10:]
    customers.write(cities_of(1))
    until_found(tmp_path, document, hub, set(cities_of(1).items()))
    customers.write(cities_of(2, stay))
    customers.forget()
    notices = until_found(tmp_path, document, hub, {*cities_of(2, stay).items(), *((name, None) for name in gone)})
    assert any("filled again from the new version: customer" in notice for notice in notices)
    assert until_found(tmp_path, document, hub, {*cities_of(2, stay).items(), (gone[0], None)}) == []


def until_found(folder, document, hub, expected):
    """Run the app until a visit finds these cities, and return the notices of the run."""
    count = 1 + max((n for _, n, _ in hub.visits()), default=0)
    names = [customer for customer, _ in expected]
    bootstrap, summaries = document["spec"]["tables"]["customer"].get("bootstrap", True), []

    def reached():
        nonlocal count
        found = hub.cities(count)
        if len(found) < len(expected):
            hub.visit(*names, n=count)
        elif found != expected:
            assert not bootstrap, f"a row came before the table was whole: {found}"
            count += 1
        return found == expected

    apps.run_until(folder, document, reached, told=summaries.append)
    return [notice.message for notice in summaries[-1].notices]


def test_without_refresh_a_version_stays_and_the_app_says_that_there_is_a_later_one(tmp_path):
    document = side_input_tables.app("delta", partitionMonitor={"interval": "1s"})
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, "delta")
    customers.write(cities_of(1))
    summaries = []

    def reached():
        (notice, *_) = (*(notice.message for notice in summaries[-1].notices), "")
        if notice:
            hub.visit(*TOGETHER, n=2)
            return bool(hub.cities(2))
        if hub.cities(1):
            customers.write(cities_of(2))
        else:
            hub.visit(*TOGETHER, n=1)
        return False

    apps.run_until(tmp_path, document, reached, told=summaries.append)
    assert hub.cities(1) == hub.cities(2) == set(cities_of(1).items())
    (notice,) = (notice.message for notice in summaries[-1].notices)
    assert notice.startswith("side input customers: version 0-")
    assert "the run keeps the version that it has read until its next start (tables.customer.refresh takes" in notice


@pytest.mark.parametrize("kind", ["delta", "folder"])
def test_a_version_that_goes_while_it_is_read_is_followed_by_the_latest_one(tmp_path, kind):
    document = side_input_tables.app(kind, table=MEMORY, processors=2, partitionMonitor={"enabled": False})
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, kind)
    customers.write(cities_of(1, [*map("x{}".format, range(MANY)), *TOGETHER]))
    hub.visit(*TOGETHER, n=1)
    summaries = []

    def told(summary):
        if not summaries:
            customers.write(cities_of(2))
            customers.forget()
        summaries.append(summary)

    apps.run_until(tmp_path, document, lambda: hub.cities(1), told=told)
    assert hub.cities(1) == set(cities_of(2).items())
    (notice,) = (notice.message for notice in summaries[-1].notices)
    assert "filled again from the new version: customer" in notice


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_is_not_there_is_refused_with_what_to_do(tmp_path, kind):
    document = side_input_tables.app(kind)
    Hub(tmp_path, document)
    with pytest.raises((StreamSystemError, PlanRefused), match="customers"):
        apps.run(document, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_its_latest_rows_are_shown_without_a_run(tmp_path, kind):
    document = side_input_tables.app(kind)
    Hub(tmp_path, document)
    customers = Customers(tmp_path, kind)
    customers.write(cities_of(1))
    customers.write({"ann": "Oslo", "bob": "Rome"})
    plan = plan_documents.accepted(document, {"visits": 2, "customers": 1, "out": 2})
    (record,) = sample_stream(plan, "customers", local_systems(tmp_path), rows=1)
    assert (record.offset, json.loads(record.row)) == (1, {"customer": "bob", "city": "Rome"})


def test_a_run_that_has_completed_says_that_there_is_a_later_version(tmp_path):
    document = side_input_tables.app("delta", visits_spec={"bounded": True})
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, "delta")
    customers.write(cities_of(1))
    hub.visit(*TOGETHER)
    assert not apps.run(document, tmp_path).notices
    customers.write(cities_of(2))
    (notice,) = apps.run(document, tmp_path, fresh=False).notices
    assert re.search(r"inputs have changed .*: customers \(version 1-\w+, it was 0-\w+\)", notice.message)


def test_a_version_that_can_not_be_read_is_told_and_the_one_before_stays(tmp_path):
    document = side_input_tables.app("delta", table={"refresh": "50ms"})
    hub, customers = Hub(tmp_path, document), Customers(tmp_path, "delta")
    customers.write(cities_of(1))
    summaries = []

    def reached():
        if any("can't be taken" in notice.message for notice in summaries[-1].notices):
            hub.visit(*TOGETHER, n=2)
        elif hub.cities(1):
            write_deltalake(
                str(customers.path), pa.table({"town": ["Oslo"]}), mode="overwrite", schema_mode="overwrite"
            )
        else:
            hub.visit(*TOGETHER, n=1)
        return bool(hub.cities(2))

    apps.run_until(tmp_path, document, reached, told=summaries.append)
    assert hub.cities(2) == set(cities_of(1).items())
    (message,) = (notice.message for notice in summaries[-1].notices)
    assert re.search(r"the run keeps the previous one: stream customers: at version \d+ of table .*city", message)
