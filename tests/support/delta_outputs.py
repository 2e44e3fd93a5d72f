"""Outputs that are tables of Delta, in a folder or in a store of objects."""

import pyarrow as pa
from deltalake import DeltaTable

from streamapp_systems.delta import DeltaTableFolder
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.tables import TableOutput
from support.table_outputs import WrittenTable


def table_in(root: Place) -> WrittenTable:
    """Give the table `t` of a folder."""
    return WrittenTable(
        root=root,
        address="t",
        open=lambda address: DeltaTableFolder(root / address),
        read=lambda: pa.table(delta_table_in(root).to_pyarrow_table()),
    )


def opened(root: Place, number: int, folders=()) -> TableOutput:
    """Open the output of one incarnation."""
    return table_in(root).opened(number, folders)


def found(root: Place) -> list[int]:
    """Give the numbers of the table's rows."""
    return table_in(root).found()


def create(root: Place, folders=()) -> None:
    """Create the table."""
    table_in(root).create(folders)


def options_of(root: Place) -> dict[str, str] | None:
    """Give the options by which the library opens what is in a folder."""
    return root.bucket.storage_options if isinstance(root, ObjectPath) else None


def delta_table_in(root: Place) -> DeltaTable:
    """Give the table `t` of a folder, as the library reads it."""
    return DeltaTable(str(root / "t"), storage_options=options_of(root))
