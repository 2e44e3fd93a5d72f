"""Tables filled from files that change: at a restart each table is of one version, and the user is told."""

import os

import pytest

from streamapp_runtime.errors import RuntimeFailure
from support import apps, side_input_files
from support.side_input_files import Hub, write

MEMORY = {"persistent": False}
LATER = {"bootstrap": False}
BOTH = {"ann": "Oslo"}, {"bob": "Rome"}


def told(summary):
    return tuple(notice.message for notice in summary.notices)


def visited(folder, document, hub, n, *customers):
    """Start the app, let the customers visit, and return their cities, and the notices of the run's last summary."""
    summaries = []

    def reached():
        hub.visit(*customers, n=n)
        return {customer for customer, _ in hub.cities(n)} == set(customers) and summaries[-1].streams

    apps.run_until(folder, document, reached, told=summaries.append)
    return hub.cities(n), told(summaries[-1])


@pytest.mark.parametrize("table", [{}, MEMORY, LATER, MEMORY | LATER])
@pytest.mark.parametrize("broadcast, processors", [(True, 2), (False, 1)])
def test_a_restart_takes_the_new_version_of_a_file_as_a_whole(tmp_path, table, broadcast, processors):
    document = side_input_files.app(table=table, broadcast=broadcast, files=1, processors=processors)
    hub = Hub(tmp_path, document)
    write(tmp_path, {"ann": "Oslo", "bob": "Rome", "cleo": "Kiev"})
    until_filled(tmp_path, document, hub, ("ann", "Oslo"))
    write(tmp_path, {"ann": "Bergen", "dan": "Lima", "eve": "Pisa", "fay": "Bonn", "gil": "Nice"})
    expected = {("ann", "Bergen"), ("bob", None), ("cleo", None), ("dan", "Lima"), ("gil", "Nice")}
    notices = until_filled(tmp_path, document, hub, *expected)
    assert notices == ("side input customers: customers/0.csv changed; filled again from the new version: customer",)
    write(tmp_path, {"ann": "Paris"})
    until_filled(tmp_path, document, hub, ("ann", "Paris"), ("gil", None))


def until_filled(folder, document, hub, *expected):
    """Run the app until visits find these cities, which without bootstrap takes a moment; return the last notices."""
    summaries = []
    count = 1 + max((n for _, n, _ in hub.visits()), default=0)
    bootstrap = document["spec"]["tables"]["customer"].get("bootstrap", True)

    def reached():
        nonlocal count
        found = hub.cities(count)
        if len(found) < len(expected):
            hub.visit(*(customer for customer, _ in expected), n=count)
            return False
        if found == set(expected):
            return True
        assert not bootstrap, f"a row came before the table was whole: {found}"
        count += 1
        return False

    apps.run_until(folder, document, reached, told=summaries.append)
    return told(summaries[-1])


@pytest.mark.parametrize("table", [{}, MEMORY])
def test_a_file_that_was_only_touched_or_renamed_is_no_new_version(tmp_path, table):
    document = side_input_files.app(table=table)
    hub = Hub(tmp_path, document)
    write(tmp_path, *BOTH)
    expected = {("ann", "Oslo"), ("bob", "Rome")}
    assert visited(tmp_path, document, hub, 1, "ann", "bob") == (expected, ())
    os.utime(tmp_path / "customers" / "0.csv", (1, 1))
    (tmp_path / "customers" / "1.csv").rename(tmp_path / "customers" / "2.csv")
    assert visited(tmp_path, document, hub, 2, "ann", "bob") == (expected, ())


def test_files_may_be_exchanged_for_as_many_others(tmp_path):
    document = side_input_files.app(processors=2)
    hub = Hub(tmp_path, document)
    write(tmp_path, *BOTH)
    visited(tmp_path, document, hub, 1, "ann", "bob")
    (tmp_path / "customers" / "0.csv").unlink()
    write(tmp_path, {"cleo": "Kiev"}, first=2)
    cities, notices = visited(tmp_path, document, hub, 2, "ann", "bob", "cleo")
    assert cities == {("ann", None), ("bob", "Rome"), ("cleo", "Kiev")}
    assert notices[0].startswith("side input customers: customers/0.csv, customers/2.csv changed")


@pytest.mark.parametrize("files", [1, 3])
def test_another_number_of_files_is_refused_with_a_way_out(tmp_path, files):
    document = side_input_files.app()
    hub = Hub(tmp_path, document)
    write(tmp_path, *BOTH)
    visited(tmp_path, document, hub, 1, "ann", "bob")
    (tmp_path / "customers" / "1.csv").unlink()
    write(tmp_path, *[{"ann": "Bergen"}, {"bob": "Rome"}, {"cleo": "Kiev"}][:files])
    with pytest.raises(RuntimeFailure, match=rf"side input customers: it had 2 files and has {files} .*--fresh"):
        apps.run(document, tmp_path, fresh=False)
    (tmp_path / "customers" / "2.csv").unlink(missing_ok=True)
    write(tmp_path, {"ann": "Bergen"}, {"bob": "Rome"})
    assert visited(tmp_path, document, hub, 2, "ann", "bob")[0] == {("ann", "Bergen"), ("bob", "Rome")}


def test_a_running_app_tells_that_a_file_has_changed_and_keeps_its_version(tmp_path):
    document = side_input_files.app(partitionMonitor={"interval": "1s"})
    hub = Hub(tmp_path, document)
    write(tmp_path, *BOTH)
    changed, summaries = "customer,city\nann,Bergen\n", []

    def reached():
        if summaries[-1].notices and not hub.cities(2):
            hub.visit("ann", "bob", n=2)
        elif not hub.cities(1):
            hub.visit("ann", "bob", n=1)
        elif (tmp_path / "customers" / "0.csv").read_text() != changed:
            write(tmp_path, {"ann": "Bergen"})
        return len(hub.cities(2)) == 2

    apps.run_until(tmp_path, document, reached, told=summaries.append)
    assert hub.cities(2) == {("ann", "Oslo"), ("bob", "Rome")}
    assert told(summaries[-1]) == (
        "side input customers: customers/0.csv changed; the run keeps the version that it has read until its next "
        "start (tables.customer.refresh takes new versions while it runs)",
    )
    assert visited(tmp_path, document, hub, 3, "ann", "bob")[0] == {("ann", "Bergen"), ("bob", "Rome")}


@pytest.mark.parametrize("table", [{}, MEMORY])
def test_a_running_app_takes_the_new_version_if_it_is_to_refresh(tmp_path, table):
    document = side_input_files.app(table=table | {"refresh": "50ms"}, processors=2)
    hub = Hub(tmp_path, document)
    write(tmp_path, *BOTH)
    summaries = []
    changes = iter([lambda: write(tmp_path, {"ann": "Bergen", "cleo": "Kiev"}, {})])
    count = 0

    def reached():
        nonlocal count
        count += 1
        hub.visit("ann", "bob", n=count)
        found = {(customer, city) for customer, _, city in hub.visits()}
        if {("ann", "Oslo"), ("bob", "Rome")} <= found:
            next(changes, lambda: None)()
        return {("ann", "Bergen"), ("bob", None)} <= found

    apps.run_until(tmp_path, document, reached, told=summaries.append)
    by_visit = {n: hub.cities(n) for _, n, _ in hub.visits()}
    old, new = {("ann", "Oslo"), ("bob", "Rome")}, {("ann", "Bergen"), ("bob", None)}
    assert all(cities <= old or cities <= new for cities in by_visit.values())
    assert any("filled again from the new version" in message for summary in summaries for message in told(summary))
