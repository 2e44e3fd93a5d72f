"""Outputs that are tables, in a folder or in a store of objects: what is staged is added once."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.objects import Place
from streamapp_systems.protocols import PartOwner, StagedPart, StreamDescriptor
from streamapp_systems.tables import OpenAppended, TableOutput, table_output

SCHEMA = parse_schema("n bigint, city string")
STEPS = 8


class Death(BaseException):
    """The process dies."""


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """A table that is written: the folder of the system, how it is opened, and its rows as another library has them."""

    root: Place
    address: str
    open: OpenAppended
    read: Callable[[], pa.Table]

    def create(self, folders=()) -> None:
        """Create it."""
        self.open(self.address).create(arrow_schema(SCHEMA), folders)

    def opened(self, number: int, folders=()) -> TableOutput:
        """Open the output of one incarnation."""
        owner = PartOwner(app="default.a", writer=f"1-{number}", opened=5)
        stream = StreamDescriptor(
            name="out",
            system="lake",
            address=self.address,
            format=StreamFormat.JSON,
            schema=SCHEMA,
            folder_columns=folders,
        )
        return TableOutput(self.root, self.open, [stream], owner, 30.0)

    def found(self) -> list[int]:
        """Give the numbers of its rows."""
        return sorted(self.read().column("n").to_pylist())


def rows(*numbers: int) -> pa.Table:
    """Give rows of these numbers."""
    return pa.table({"n": numbers, "city": [f"c/{n % 3} %" for n in numbers]}, arrow_schema(SCHEMA))


def publish_through_deaths(table: WrittenTable, data: st.DataObject) -> None:
    """Stage and publish in several incarnations: each may die at a step of the table's commit, or come back later.

    Rows are in the table once, at the end.
    """
    with pytest.MonkeyPatch.context() as patch:
        left, expected, next_row = [], [], 0
        table.create()
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

        version = type(table.open(table.address).load())
        patch.setattr(version, "append", step(version.append))
        patch.setattr(table_output, "remove_parts", step(table_output.remove_parts))
        patch.setattr(table_output.TableOutput, "_join", step(table_output.TableOutput._join))
        zombies: list[tuple[TableOutput, list[StagedPart]]] = []
        for number in range(data.draw(st.integers(1, 4))):
            output = table.opened(number)
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
        table.opened(9).publish(left)
        assert table.found() == expected
