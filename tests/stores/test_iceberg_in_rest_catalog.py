"""Catalogs of Iceberg that are services, as Iceberg's own is: what holds of those in databases holds of them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.rest import RestCatalog
from tools.cluster.cached import default_cache
from tools.iceberg_catalog import server
from tools.machine import lacking

from streamapp_core.spec.table_systems import IcebergCatalog
from streamapp_systems.iceberg import IcebergTable, catalog_service
from streamapp_systems.iceberg.rest_catalog import OneTryRestCatalog
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import LocalSecrets
from support import apps
from support.joined_files import join_all, live, publish_each
from support.machine import need
from support.table_outputs import WrittenTable, publish_through_deaths, rows

TOKEN = {"STREAMAPP_SECRET_LAKE_TOKEN": server.TOKEN}
CLIENT = {"STREAMAPP_SECRET_LAKE_CLIENT_ID": server.CLIENT, "STREAMAPP_SECRET_LAKE_CLIENT_SECRET": "any"}
NAMES = (f"s{number}.t" for number in itertools.count())


@pytest.fixture(scope="module")
def service():
    need(lacking()["stores"])
    with server.RestCatalog(default_cache()) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def table_in(service):
    def give(folder, name=None, secrets=TOKEN):
        catalog = IcebergCatalog(uri=service.uri, secretName="lake")
        access = catalog_service(catalog, folder / "warehouse", LocalSecrets(secrets), {})
        name = name or next(NAMES)
        return WrittenTable(
            root=folder / "warehouse",
            address=name,
            open=lambda address: IcebergTable(access, address),
            read=lambda: library(service).load_table(name).scan().to_arrow(),
        )

    return give


def library(service):
    """Open the catalog as the library does for itself."""
    return RestCatalog("rest", uri=service.uri, token=server.TOKEN)


@settings(max_examples=3)
@given(data=st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(table_in, tmp_path_factory, data):
    publish_through_deaths(table_in(tmp_path_factory.mktemp("warehouse")), data)


def test_small_files_are_joined(table_in, tmp_path):
    table = table_in(tmp_path)
    table.create(("city",))
    publish_each(table, range(15), ("city",))
    assert join_all(table) == 1
    assert (len(live(table)), table.found()) == (3, list(range(15)))


def test_who_loses_a_race_looks_again(table_in, service, tmp_path, monkeypatch):
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    commit, refused = OneTryRestCatalog.commit_table, []

    def acting(catalog, *given):
        if not refused:
            refused.append(1)
            library(service).load_table(table.address).append(rows(7))
        return commit(catalog, *given)

    monkeypatch.setattr(OneTryRestCatalog, "commit_table", acting)
    output.publish(output.stage())
    assert table.found() == [1, 7]


@pytest.mark.parametrize("taken", [True, False])
def test_a_commit_whose_answer_is_lost_is_found_in_the_table(table_in, service, tmp_path, monkeypatch, taken):
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    commit = OneTryRestCatalog.commit_table

    def losing(catalog, *given):
        if taken:
            commit(catalog, *given)
        service.stop()
        try:
            return commit(catalog, *given)
        finally:
            service.start()

    monkeypatch.setattr(OneTryRestCatalog, "commit_table", losing)
    if taken:
        output.publish(parts)
    else:
        with pytest.raises(Unavailable, match=f"can't be written: catalog {service.uri} does not answer"):
            output.publish(parts)
    monkeypatch.undo()
    table.opened(2).publish(parts)
    assert table.found() == [1]


def test_a_client_gets_its_token_of_the_service(table_in, tmp_path):
    table = table_in(tmp_path, secrets=CLIENT)
    table.create()
    publish_each(table, range(2))
    assert table.found() == [0, 1]


def test_a_login_that_is_refused_or_missing_is_told(table_in, tmp_path):
    wrong = table_in(tmp_path, secrets={"STREAMAPP_SECRET_LAKE_TOKEN": "wrong-token"})
    with pytest.raises(StreamSystemError, match=r"refuses the login: .*who are you") as refused:
        wrong.create()
    assert not isinstance(refused.value, Unavailable)
    assert "wrong-token" not in str(refused.value)
    with pytest.raises(StreamSystemError, match=r"catalog.secretName: .*CLIENT_ID.*, or name a secret with `token`"):
        table_in(tmp_path, secrets={})


def test_an_app_writes_a_table_and_another_reads_it(service, tmp_path, monkeypatch):
    for name, value in TOKEN.items():
        monkeypatch.setenv(name, value)
    lake = {"catalog": {"uri": service.uri, "secretName": "lake"}, "path": "warehouse", "commitEvery": "100ms"}
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "1.csv").write_text("n\n1\n2\n")

    def document(source, to, **streams):
        return {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": f"from-{source}"},
            "spec": {
                "systems": {
                    "files": {"file": {"path": "."}},
                    "lake": {"iceberg": lake},
                    "log": {"log": {"path": "log.db"}},
                },
                "defaultSystem": "log",
                "streams": streams,
                "operators": [{"name": "sent", "from": source, "sendTo": to}],
                "job": {"commitInterval": "50ms"},
            },
        }

    table = {"system": "lake", "name": "apps.numbers"}
    source = {"system": "files", "name": "landing", "format": "csv", "schema": "n bigint"}
    apps.run(document("numbers", "written", numbers=source, written=table), tmp_path)
    assert sorted(library(service).load_table("apps.numbers").scan().to_arrow()["n"].to_pylist()) == [1, 2]
    read = document("read", "out", read=table | {"schema": "n bigint"}, out={"system": "files", "format": "csv"})
    read["spec"]["systems"]["lake"] = {"iceberg": lake | {"path": str(tmp_path / "warehouse")}}
    reader = tmp_path / "reader"
    reader.mkdir()
    apps.run_until(reader, read, lambda: sorted(apps.rows(reader / "out")) == [("1",), ("2",)])
