"""Outputs that are tables: what a table can't be partitioned by, and what in its columns it can't hold."""

import pytest

from support.plan_documents import document, planned

ICEBERG = {"iceberg": {"catalog": {"uri": "sqlite:///catalog.db"}, "path": "."}}


def app(kind, lake=None, name="sales.out"):
    return document(
        [{"name": "sent", "from": "rows", "sendTo": "out"}],
        streams={"rows": f"k bigint, part {kind}", "out": {"system": "lake", "name": name, "folderColumns": ["part"]}},
        systems={"log": {"log": {"path": "log"}}, "lake": lake or {"delta": {"path": "."}}},
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("timestamp", "finer than dates: `cast(part as date)`"),
        ("timestamp_ntz", "finer than dates: `cast(part as date)`"),
        ("decimal(9,2)", "no decimals, of which compaction by `deltalake` would break the negative ones: `cast("),
    ],
)
def test_what_no_table_is_partitioned_by_is_refused(kind, reason):
    (problem,) = planned(app(kind)).problems
    assert (problem.path, problem.code) == ("spec.streams.out.folderColumns[0]", "NotSupported")
    assert reason in problem.message


@pytest.mark.parametrize("kind", ["string", "boolean", "bigint", "date"])
def test_other_columns_are_partitions(kind):
    assert planned(app(kind)).problems == ()


@pytest.mark.parametrize("kind", ["string", "boolean", "bigint", "date"])
def test_tables_of_iceberg_have_the_same_partitions(kind):
    assert planned(app(kind, ICEBERG)).problems == ()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("smallint", "is smallint, and tables of Iceberg have no whole numbers below int: write `cast(part as int)`"),
        ("array<tinyint>", "is array<tinyint>, and tables of Iceberg have no whole numbers below int: write int in"),
    ],
)
def test_types_that_iceberg_has_not_are_refused(kind, reason):
    document = app(kind, ICEBERG)
    del document["spec"]["streams"]["out"]["folderColumns"]
    (problem,) = planned(document).problems
    assert (problem.path, problem.code) == ("spec.streams.out", "NotSupported")
    assert reason in problem.message


@pytest.mark.parametrize("name", ["out", "sales/out", "sales.", "sales..out", "sales.o ut"])
def test_a_name_that_no_catalog_has_is_refused(name):
    (problem,) = planned(app("date", ICEBERG, name)).problems
    assert (problem.path, problem.code) == ("spec.streams.out.name", "NotSupported")
    assert "write the table's namespace before it, as in `name: sales.orders`" in problem.message


@pytest.mark.parametrize(
    "uri", ["mysql://host/db", "sqlite://catalog.db", "postgresql://user:secret@host/db", "postgresql://host"]
)
def test_databases_that_keep_no_catalog_are_refused(uri):
    lake = {"iceberg": {"catalog": {"uri": uri}, "path": "."}}
    (problem,) = planned(app("date", lake)).problems
    assert (problem.path, problem.code) == ("spec.systems.lake.iceberg.catalog.uri", "InvalidSpec")


@pytest.mark.parametrize("path", ["lake#1", "s3://bucket/lake?x"])
def test_a_warehouse_that_other_readers_would_not_find_is_refused(path):
    lake = {"iceberg": ICEBERG["iceberg"] | {"path": path}}
    (problem,) = planned(app("date", lake)).problems
    assert (problem.path, problem.code) == ("spec.systems.lake.iceberg.path", "InvalidSpec")
    assert problem.message.endswith(f"see no more of it, is expected, not {path}")


def test_a_login_in_an_address_is_not_shown():
    lake = {"iceberg": {"catalog": {"uri": "postgresql://me:se/cr3t@host/db"}, "path": "."}}
    (problem,) = planned(app("date", lake)).problems
    assert problem.message.endswith(
        "without user and query (a login is in `secretName`), is expected, not postgresql://...@host/db"
    )
