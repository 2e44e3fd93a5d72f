"""Outputs that are tables of Iceberg, in a folder or in a store of objects, with a catalog in a file of SQLite."""

from pathlib import Path

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from streamapp_core.spec.table_systems import IcebergCatalog
from streamapp_systems.iceberg import CatalogDatabase, IcebergTable, catalog_database
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.secret_reader import LocalSecrets
from support.table_outputs import WrittenTable

NAME = "sales.t"


def database_in(folder: Path, root: Place) -> CatalogDatabase:
    """Give the catalog `catalog.db` of a folder."""
    return catalog_database(IcebergCatalog(uri="sqlite:///catalog.db"), folder, root, LocalSecrets({}))


def table_in(folder: Path, root: Place | None = None, keep: int | None = None) -> WrittenTable:
    """Give the table of a catalog; the warehouse is in the catalog's folder, or elsewhere."""
    root = folder / "warehouse" if root is None else root
    database = database_in(folder, root)
    return WrittenTable(
        root=root,
        address=NAME,
        open=lambda name: IcebergTable(database, name, keep),
        read=lambda: read_rows(folder, root),
    )


def library_catalog(folder: Path, root: Place | None = None) -> SqlCatalog:
    """Open the catalog as the library does for itself."""
    options = {"warehouse": f"file://{folder / 'warehouse'}"} if root is None else {"warehouse": str(root)}
    if isinstance(root, ObjectPath):
        given = root.bucket.storage_options
        options |= {
            "s3.endpoint": given["aws_endpoint"],
            "s3.region": given["aws_region"],
            "s3.access-key-id": given["aws_access_key_id"],
            "s3.secret-access-key": given["aws_secret_access_key"],
        }
    return SqlCatalog("default", uri=f"sqlite:///{folder / 'catalog.db'}", **options)


def read_rows(folder: Path, root: Place | None = None, name: str = NAME) -> pa.Table:
    """Read a table: the library says which files it has; in a folder DuckDB reads them."""
    scan = library_catalog(folder, root).load_table(name).scan()
    if isinstance(root, ObjectPath):
        return scan.to_arrow()
    files = [task.file.file_path.removeprefix("file://") for task in scan.plan_files()]
    columns = ", ".join(f'"{column.name}"' for column in scan.projection().fields)
    if not files:
        return scan.to_arrow()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        query = f"SELECT {columns} FROM read_parquet($files, hive_partitioning = false, union_by_name = true)"
        return connection.sql(query, params={"files": files}).to_arrow_table()
