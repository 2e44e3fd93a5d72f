"""Catalogs of Iceberg in a real PostgreSQL: what holds of those in files holds of them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.spec.table_systems import IcebergCatalog
from streamapp_systems.iceberg import IcebergTable, catalog_database
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import LocalSecrets
from support.postgresql import PASSWORD, USER
from support.table_outputs import WrittenTable, publish_through_deaths, rows

SECRET = {"STREAMAPP_SECRET_LAKE_USERNAME": USER, "STREAMAPP_SECRET_LAKE_PASSWORD": PASSWORD}
NAMES = (f"catalog-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def table_in(postgresql):
    def give(folder, name, password=PASSWORD):
        catalog = IcebergCatalog(uri=postgresql.uri, name=name, secretName="lake")
        secrets = LocalSecrets(SECRET | {"STREAMAPP_SECRET_LAKE_PASSWORD": password})
        database = catalog_database(catalog, folder, folder / "warehouse", secrets)
        return WrittenTable(
            root=folder / "warehouse",
            address="sales.t",
            open=lambda address: IcebergTable(database, address),
            read=lambda: database.open().load_table("sales.t").scan().to_arrow(),
        )

    return give


@settings(max_examples=4)
@given(data=st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(table_in, tmp_path_factory, data):
    publish_through_deaths(table_in(tmp_path_factory.mktemp("warehouse"), next(NAMES)), data)


def test_a_database_that_is_away_or_refuses_is_told(postgresql, table_in, tmp_path):
    name = next(NAMES)
    table = table_in(tmp_path, name)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    with pytest.raises(StreamSystemError, match="authentication failed") as refused:
        table_in(tmp_path, name, "wrong").opened(2).publish(parts)
    assert not isinstance(refused.value, Unavailable)
    assert "Check `catalog.uri` and the secret of `catalog.secretName`" in str(refused.value)
    postgresql.stop()
    try:
        with pytest.raises(Unavailable, match=f"catalog {name} of postgresql://.*127.0.0.1") as away:
            output.publish(parts)
    finally:
        postgresql.start()
    assert PASSWORD not in str(away.value)
    assert "wrong" not in str(refused.value)
    output.publish(parts)
    assert table.found() == [1]
