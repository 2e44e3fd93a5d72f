"""Tables of Iceberg that are appended to, read and written. Import it late: the library is a large one."""

from streamapp_systems.iceberg.catalog import CatalogAccess
from streamapp_systems.iceberg.growing_iceberg import GrowingIceberg
from streamapp_systems.iceberg.iceberg_table import IcebergTable, IcebergVersion
from streamapp_systems.iceberg.rest_catalog import catalog_service
from streamapp_systems.iceberg.sql_catalog import CatalogDatabase, catalog_database

__all__ = [
    "CatalogAccess",
    "CatalogDatabase",
    "GrowingIceberg",
    "IcebergTable",
    "IcebergVersion",
    "catalog_database",
    "catalog_service",
]
