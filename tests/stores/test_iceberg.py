"""Tables of Iceberg in a real S3 server: what holds of those in folders holds of them."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.objects import object_store
from streamapp_systems.protocols import StreamSystemError, Unavailable
from support import apps
from support.growing_iceberg import GrowingLake, grow_and_read
from support.iceberg_outputs import NAME, library_catalog, read_rows, table_in
from support.object_stores import SECRET, bucket_at, system_in
from support.table_outputs import publish_through_deaths, rows


@settings(max_examples=10)
@given(data=st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(shared, tmp_path_factory, data):
    publish_through_deaths(table_in(tmp_path_factory.mktemp("catalog"), shared()), data)


@settings(max_examples=3)
@given(data=st.data())
def test_every_row_is_found_once_and_always_at_its_offset(shared, tmp_path_factory, data):
    grow_and_read(GrowingLake(tmp_path_factory.mktemp("catalog"), shared()), data)


def test_other_libraries_read_and_append(bucket, tmp_path):
    table = table_in(tmp_path, bucket)
    table.create(["city"])
    output = table.opened(1, ["city"])
    output.write("out", rows(1, 2))
    output.publish(output.stage())
    output.close()
    library_catalog(tmp_path, bucket).load_table(NAME).append(rows(7))
    assert table.found() == [1, 2, 7]
    kept = {each["path"].split("/")[0] for chunk in bucket.bucket.objects.list() for each in chunk}
    assert kept == {"sales"}


def test_a_store_that_is_away_or_refuses_is_told(server, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(object_store, "_SECONDS", 1)
    table = table_in(tmp_path, bucket)
    table.create()
    refused = table_in(tmp_path, bucket_at(server.endpoint, bucket.bucket.name, secret="wrong"))
    with pytest.raises(StreamSystemError, match="refuses the credentials: correct them"):
        refused.open(NAME).load()
    server.stop()
    try:
        with pytest.raises(Unavailable, match=f"{server.endpoint} does not answer"):
            table.open(NAME).load()
    finally:
        server.start()
    assert table.found() == []


def test_an_app_appends_in_a_store(bucket, tmp_path, monkeypatch):
    for name, value in SECRET.items():
        monkeypatch.setenv(name, value)
    lake = system_in(bucket, commitEvery="100ms")["delta"] | {"catalog": {"uri": "sqlite:///catalog.db"}}
    (tmp_path / "in.csv").write_text("n,city\n1,oslo\n2,rome\n3,\n")
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {"files": {"file": {"path": "."}}, "lake": {"iceberg": lake}, "log": {"log": {"path": "log"}}},
            "defaultSystem": "log",
            "streams": {
                "in": {"system": "files", "name": "in.csv", "format": "csv", "schema": "n int, city string"},
                "out": {"system": "lake", "name": NAME, "folderColumns": ["city"]},
            },
            "operators": [{"name": "sent", "from": "in", "sendTo": "out"}],
        },
    }
    apps.run(document, tmp_path)
    found = read_rows(tmp_path, bucket / "lake").to_pylist()
    assert Counter(map(repr, found)) == Counter(
        repr({"n": n, "city": city}) for n, city in [(1, "oslo"), (2, "rome"), (3, None)]
    )
