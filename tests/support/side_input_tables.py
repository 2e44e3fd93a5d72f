"""An app whose table is filled from a table of Delta or Iceberg, or from a folder, version by version."""

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from support import side_input_files
from support.hashed_keys import partition_of
from support.iceberg_outputs import library_catalog
from support.visits import PARTITIONS

KINDS = ("delta", "iceberg", "folder")
_SYSTEMS = {
    "delta": {"path": "lake"},
    "iceberg": {"path": "warehouse", "catalog": {"uri": "sqlite:///catalog.db"}},
    "folder": {"path": "lake"},
}
_NAME = "sales.customers"
_COLUMNS = Schema(NestedField(1, "customer", StringType()), NestedField(2, "city", StringType()))
TOGETHER = [name for name in map("c{}".format, range(100)) if partition_of(name, PARTITIONS) == 0][:20]
"""Customers whose visits are in one partition: those of one transaction are looked up together."""


def app(kind: str, *, stream: dict | None = None, **more) -> dict:
    """Give the app of `side_input_files`, whose customers are a table or a folder that is read as a whole."""
    document = side_input_files.app(**more)
    spec = document["spec"]
    spec["systems"]["lake"] = {kind: _SYSTEMS[kind]}
    name = _NAME if kind == "iceberg" else "customers"
    bounded = {"system": "lake", "name": name, "bounded": True, "schema": "customer string, city string"}
    spec["streams"]["customers"] = {**bounded, "broadcast": True, **(stream or {})}
    return document


class Customers:
    """Who writes the table or folder of the customers' cities."""

    def __init__(self, folder: Path, kind: str) -> None:
        """Make it, without rows."""
        self._folder = folder
        self._kind = kind
        self._versions = 0
        if kind == "iceberg":
            catalog = library_catalog(folder, None)
            catalog.create_namespace_if_not_exists("sales")
            self._table = catalog.create_table(_NAME, _COLUMNS)
        else:
            (folder / "lake" / "customers").mkdir(parents=True)

    def write(self, cities: dict[str, str]) -> None:
        """Replace all rows by others."""
        self._versions += 1
        rows = pa.table({"customer": [*cities], "city": pa.array([*cities.values()], pa.string())})
        if self._kind == "delta":
            write_deltalake(str(self.path), rows, mode="overwrite")
        elif self._kind == "iceberg":
            (self._table.append if self._versions == 1 else self._table.overwrite)(rows)
        else:
            lines = (json.dumps(row) + "\n" for row in rows.to_pylist())
            staged = self.path / "_staged"
            staged.write_text("".join(lines))
            staged.rename(self.path / "rows.json")

    @property
    def path(self) -> Path:
        """The folder of the table."""
        return self._folder / "lake" / "customers"

    def forget(self) -> None:
        """Delete what only earlier versions have."""
        if self._kind == "delta":
            from deltalake import DeltaTable

            DeltaTable(str(self.path)).vacuum(0, dry_run=False, enforce_retention_duration=False)
