"""Tables of Iceberg that are appended to. Import it late: the library is a large one."""

from streamapp_systems.iceberg.iceberg_table import IcebergTable, IcebergVersion
from streamapp_systems.iceberg.sql_catalog import CatalogDatabase, catalog_database

__all__ = ["CatalogDatabase", "IcebergTable", "IcebergVersion", "catalog_database"]
