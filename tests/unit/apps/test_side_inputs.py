"""Tables filled by streams of a log: bootstrap, recovery, updates while the app runs."""

import re
import shutil

import pytest

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from streamapp_systems.protocols import BadRecord
from support import apps, visits
from support.visits import Hub

MEMORY = {"persistent": False}
LATER = {"bootstrap": False}
BACKLOG = 50_000
"""Rows of one partition: more than one poll brings."""


@pytest.mark.parametrize("table", [{}, MEMORY])
def test_the_first_row_finds_what_the_side_input_held_at_the_start(tmp_path, table):
    document = visits.app(table=table)
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome", cleo="Kiev")
    hub.move(ada="Bergen", cleo=None, deb=None)
    hub.send("customers", (None, {"city": "Nowhere"}), (None, None))
    hub.visit("ada", "bob", "cleo", "deb")
    summary = apps.run(document, tmp_path)
    assert hub.visits() == [("ada", 0, "Bergen"), ("bob", 0, "Rome"), ("cleo", 0, None), ("deb", 0, None)]
    assert summary.not_used == {"customer": {"without key": 2}}
    (customers,) = [stream for stream in summary.streams if stream.name == "customers"]
    assert (customers.read, customers.awaited) == (8, 0)


def test_a_table_follows_its_side_input_while_the_app_runs(tmp_path):
    document = visits.app(visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome")
    steps = iter([lambda: hub.move(ada="Bergen", bob=None), lambda: None])
    count = 0

    def reached():
        """Visit again and again: at first the old cities are found, and the new ones some time after the move."""
        nonlocal count
        count += 1
        hub.visit("ada", "bob", n=count)
        found = {(customer, city) for customer, _, city in hub.visits()}
        if {("ada", "Oslo"), ("bob", "Rome")} <= found:
            next(steps, lambda: None)()
        return {("ada", "Bergen"), ("bob", None)} <= found

    apps.run_until(tmp_path, document, reached)


@pytest.mark.parametrize(
    "table, city",
    [({}, "Oslo"), (LATER, "Oslo"), (MEMORY, None), (MEMORY | LATER, None), ({"maxAge": "1ms"}, None)],
)
def test_only_a_valid_store_is_used_again(tmp_path, table, city):
    document = visits.app(table=table, visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo")
    apps.run_until(tmp_path, document, lambda: hub.visit("ada") or ("ada", 0, "Oslo") in hub.visits())
    hub.forget("customers")
    hub.move(bob="Rome")
    hub.visit("ada", "bob", n=1)
    apps.run_until(tmp_path, document, lambda: hub.visit("bob", n=2) or ("bob", 2, "Rome") in hub.visits())
    assert ("ada", 1, city) in hub.visits()


@pytest.mark.parametrize(
    "table, reason",
    [
        ({"maxAge": "1ms"}, r"its store is older than maxAge \(1ms\)"),
        (MEMORY, "it is kept in memory only"),
    ],
)
def test_a_table_without_bootstrap_that_lost_its_rows_says_so_with_the_repair(tmp_path, table, reason):
    document = visits.app(table=table | LATER, visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ann="Oslo")
    summaries = []

    def located(n, *customers):
        hub.visit(*customers, n=n)
        return len({customer for customer, visit, city in hub.visits() if visit == n and city}) == len(customers)

    apps.run_until(tmp_path, document, lambda: located(1, "ann"), told=summaries.append)
    assert not any(summary.notices for summary in summaries)
    hub.move(bob="Rome")
    apps.run_until(tmp_path, document, lambda: located(2, "bob"), told=summaries.append)
    (notice,) = summaries[-1].notices
    assert re.match(rf"table customer lacks the rows that were read before this start: {reason}", notice.message)
    assert notice.reason is NoticeReason.TABLE_INCOMPLETE
    assert "tables.customer.bootstrap: true reads them again" in notice.message


def test_without_bootstrap_a_table_in_memory_goes_on_from_the_checkpoint(tmp_path):
    document = visits.app(table=MEMORY | LATER, visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo")
    apps.run_until(tmp_path, document, lambda: hub.visit("ada") or ("ada", 0, "Oslo") in hub.visits())
    hub.move(bob="Rome")
    apps.run_until(tmp_path, document, lambda: hub.visit("ada", "bob", n=1) or ("bob", 1, "Rome") in hub.visits())
    assert {city for customer, n, city in hub.visits() if (customer, n) == ("ada", 1)} == {None}


def counted(summaries):
    """Tell whether the one row without a key is counted, and once."""
    return summaries[-1].not_used == {"customer": {"without key": 1}}


def test_a_broadcast_table_is_kept_once_per_processor_and_bootstraps_at_a_new_location(tmp_path):
    document = visits.app(customers={"broadcast": True}, visits={"bounded": False}, processors=2)
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome")
    hub.send("customers", (None, {"city": "Nowhere"}))

    def everybody(n, *cities):
        return lambda: hub.visit("ada", "bob", n=n) or {("ada", n, cities[0]), ("bob", n, cities[1])} <= {*hub.visits()}

    summaries = []
    located = everybody(1, "Oslo", "Rome")
    apps.run_until(tmp_path, document, lambda: located() and counted(summaries), told=summaries.append)
    state = tmp_path / ".streamapp" / "app" / "state" / "r1"
    rows = {processor: visits.stored(state / f"processor-{processor}" / "side-inputs") for processor in range(2)}
    assert rows[0] == rows[1] == ({"ada": "Oslo", "bob": "Rome"}, {0: 2, 1: 1})
    shutil.rmtree(state / "processor-1")
    apps.run_until(tmp_path, document, everybody(2, "Oslo", "Rome"))
    hub.forget("customers")
    apps.run_until(tmp_path, document, everybody(3, "Oslo", "Rome"))
    hub.move(ada="Bergen", bob=None)
    apps.run_until(tmp_path, document, everybody(4, "Bergen", None))


def test_a_side_input_that_grew_is_read_in_the_order_of_its_keys_and_the_store_stays(tmp_path):
    document = visits.app(visits={"bounded": False})
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", cleo="Kiev", deb="Lima")
    apps.run_until(tmp_path, document, lambda: hub.visit("cleo") or ("cleo", 0, "Kiev") in hub.visits())
    hub.forget("customers")
    hub.send("customers", *[("cleo", {"customer": "cleo", "city": "Minsk"})] * BACKLOG)
    hub.expand("customers", 2 * visits.PARTITIONS)
    hub.move(cleo="Paris", bob="Rome")
    hub.visit("ada", "bob", "cleo", "deb", n=1)
    apps.run_until(tmp_path, document, lambda: len([n for _, n, _ in hub.visits() if n == 1]) == 4)
    first = {customer: city for customer, n, city in hub.visits() if n == 1}
    assert first == {"ada": "Oslo", "bob": "Rome", "cleo": "Paris", "deb": "Lima"}


EXTRACTOR = '''
import pyarrow as pa
import pyarrow.compute as pc


def extract(rows: pa.Table) -> pa.Table:
    """Store cities in capitals under the first letter of the customer; nobody may live in Atlantis."""
    if "Atlantis" in rows["city"].to_pylist():
        raise ValueError("no such city")
    letters = pc.utf8_slice_codeunits(rows["customer"], 0, 1)
    return pa.table({"__key": letters, "place": pc.utf8_upper(rows["city"])})
'''


def extracted(folder, module, **options):
    """Give an app whose table is filled by a function; each test has a module of its own, since Python keeps them."""
    (folder / f"{module}.py").write_text(EXTRACTOR)
    table = {"extractor": {"function": f"{module}:extract"}, "schema": "place string"}
    document = visits.app(table=table, **options)
    document["spec"]["operators"][0]["joinTable"]["on"] = "letter"
    lettered = {"name": "lettered", "from": "visits", "map": "substr(customer, 1, 1) as letter, customer, n"}
    by_letter = {"name": "by-letter", "from": "lettered", "partitionBy": {"key": "letter"}}
    document["spec"]["operators"][0]["from"] = "by-letter"
    located = {"name": "named", "from": "located", "map": "customer, n, place as city"}
    document["spec"]["operators"][1]["from"] = "named"
    document["spec"]["operators"] += [lettered, by_letter, located]
    document["spec"]["streams"]["customers"]["broadcast"] = True
    return document


def test_a_function_makes_keys_and_values_and_its_deletions_count(tmp_path):
    document = extracted(tmp_path, "letters_1")
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome", cleo="Kiev")
    hub.move(cleo=None, bea="Pisa")
    hub.visit("ada", "bob", "cleo")
    apps.run(document, tmp_path)
    assert hub.visits() == [("ada", 0, "OSLO"), ("bob", 0, "PISA"), ("cleo", 0, None)]


def test_what_a_function_fails_on_ends_the_app_or_is_skipped_and_told(tmp_path):
    document = extracted(tmp_path, "letters_2")
    hub = Hub(tmp_path, document)
    hub.move(bob="Rome")
    hub.move(bob="Atlantis", deb="Lima")
    hub.visit("bob", "deb")
    told = (
        r"hub\.customers\[0\], offsets 0 to 2: table `customer`: extractor letters_2:extract: ValueError: no such city"
    )
    with pytest.raises(RuntimeFailure, match=told + r" \(letters_2\.py, line 9\)"):
        apps.run(document, tmp_path)
    document["spec"]["job"]["onError"] = "skip"
    summary = apps.run(document, tmp_path, run_id="r2")
    assert hub.visits() == [("bob", 0, "ROME"), ("deb", 0, "LIMA")]
    assert summary.not_used == {"customer": {"failed": 1}}
    (row,) = summary.bad_rows
    assert row.endswith('row {"customer":"bob","city":"Atlantis"}')


def test_messages_that_are_no_rows_end_the_app_or_are_skipped_and_told(tmp_path):
    document = visits.app()
    hub = Hub(tmp_path, document)
    hub.send("customers", ("bob", {"customer": "bob", "city": "Rome"}), ("bob", 7), ("bob", None))
    hub.visit("bob")
    with pytest.raises(BadRecord, match=r"hub\.customers\[0\], offset 1: .*is no JSON object"):
        apps.run(document, tmp_path)
    document["spec"]["job"]["onError"] = "skip"
    summary = apps.run(document, tmp_path, run_id="r2")
    assert hub.visits() == [("bob", 0, None)]
    assert summary.not_used == {"customer": {"unreadable": 1}}


def test_tables_of_one_side_input_are_each_as_far_as_they_say(tmp_path):
    document = visits.app(visits={"bounded": False})
    document["spec"]["tables"]["fresh"] = {**document["spec"]["tables"]["customer"], "value": "city as now"} | MEMORY
    join = {"name": "again", "from": "located", "joinTable": {"table": "fresh", "on": "customer", "type": "left"}}
    choose = {"name": "both", "from": "again", "map": "customer, n, concat(city, '/', now) as city"}
    document["spec"]["operators"] += [join, choose]
    document["spec"]["operators"][1]["from"] = "both"
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", cleo="Kiev")
    hub.move(ada="Bergen")
    apps.run_until(tmp_path, document, lambda: hub.visit("ada") or ("ada", 0, "Bergen/Bergen") in hub.visits())
    hub.move(ada=None)
    hub.visit("ada", "cleo", n=1)
    expected = {("ada", 1, None), ("cleo", 1, "Kiev/Kiev")}
    apps.run_until(tmp_path, document, lambda: expected <= {*hub.visits()})


def test_joins_of_one_extracted_table_compare_keys_of_one_type(tmp_path):
    document = extracted(tmp_path, "letters_3")
    hub = Hub(tmp_path, document)
    join = {"name": "odd", "from": "by-letter", "joinTable": {"table": "customer", "on": "n"}}
    document["spec"]["operators"] += [join, {"name": "odd-sent", "from": "odd", "sendTo": "out"}]
    with pytest.raises(PlanRefused, match=r"joinTable\.on: TypeMismatch: `n` of `by-letter` is int .* in another join"):
        apps.run(document, tmp_path)
    assert not hub.visits()
