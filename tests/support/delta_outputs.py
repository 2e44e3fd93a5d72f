"""Outputs that are tables of Delta, in a folder or in a store of objects: what is staged is added once."""

from contextlib import suppress

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.delta import DeltaTableFolder, delta_table
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import PartOwner, StagedPart, StreamDescriptor
from streamapp_systems.tables import TableOutput, table_output

SCHEMA = parse_schema("n bigint, city string")
STEPS = 8


class Death(BaseException):
    """The process dies."""


def stream(folders=()):
    """Give the stream of the table."""
    return StreamDescriptor(
        name="out", system="lake", address="t", format=StreamFormat.JSON, schema=SCHEMA, folder_columns=folders
    )


def opened(root: Place, number: int, folders=()) -> TableOutput:
    """Open the output of one incarnation."""
    owner = PartOwner(app="default.a", writer=f"1-{number}", opened=5)
    return TableOutput(root, lambda address: DeltaTableFolder(root / address), [stream(folders)], owner, 30.0)


def rows(*numbers: int) -> pa.Table:
    """Give rows of these numbers."""
    return pa.table({"n": numbers, "city": [f"c/{n % 3} %" for n in numbers]}, arrow_schema(SCHEMA))


def found(root: Place) -> list[int]:
    """Give the numbers of the table's rows."""
    return sorted(pa.table(delta_table_in(root).to_pyarrow_table()).column("n").to_pylist())


def create(root: Place, folders=()) -> None:
    """Create the table."""
    DeltaTableFolder(root / "t").create(arrow_schema(SCHEMA), folders)


def options_of(root: Place) -> dict[str, str] | None:
    """Give the options by which the library opens what is in a folder."""
    return root.bucket.storage_options if isinstance(root, ObjectPath) else None


def delta_table_in(root: Place) -> DeltaTable:
    """Give the table `t` of a folder, as the library reads it."""
    return DeltaTable(str(root / "t"), storage_options=options_of(root))


def publish_through_deaths(root: Place, data: st.DataObject) -> None:
    """Stage and publish in several incarnations: each may die at a step of the table's commit, or come back later.

    Rows are in the table once, at the end.
    """
    with pytest.MonkeyPatch.context() as patch:
        left, expected, next_row = [], [], 0
        create(root)
        countdown = [0]

        def step(call):
            def stepped(*args, **kwargs):
                for _ in range(2):  # before and after
                    countdown[0] -= 1
                    if countdown[0] == 0:
                        raise Death
                    if _ == 0:
                        result = call(*args, **kwargs)
                return result

            return stepped

        patch.setattr(delta_table.DeltaVersion, "append", step(delta_table.DeltaVersion.append))
        patch.setattr(table_output, "remove_parts", step(table_output.remove_parts))
        patch.setattr(table_output.TableOutput, "_join", step(table_output.TableOutput._join))
        zombies: list[tuple[TableOutput, list[StagedPart]]] = []
        for number in range(data.draw(st.integers(1, 4))):
            output = opened(root, number)
            countdown[0] = data.draw(st.integers(0, STEPS))
            with suppress(Death):
                output.publish(left)
                left = []
                for _ in range(data.draw(st.integers(1, 3))):
                    output.write("out", rows(next_row))
                    expected.append(next_row)
                    next_row += 1
                    left += output.stage()
                    if data.draw(st.booleans()):
                        output.publish(left)
                        left = []
            zombies.append((output, list(left)))
            if data.draw(st.booleans()):
                countdown[0] = 0
                zombie, parts = data.draw(st.sampled_from(zombies))
                zombie.publish(parts)
        countdown[0] = 0
        opened(root, 9).publish(left)
        assert found(root) == expected
