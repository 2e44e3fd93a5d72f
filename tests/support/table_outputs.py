"""Outputs that are tables, in a folder or in a store of objects: what is staged is added once."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.objects import Place
from streamapp_systems.protocols import PartOwner, StagedOutput, StagedPart, StreamDescriptor
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


class Life:
    """The life of a process: it dies before or after one of its steps, and then does nothing more."""

    def __init__(self):
        self.left, self.dead = 0, False

    def begin(self, steps: int) -> None:
        """Live for so many steps; 0: for ever."""
        self.left, self.dead = steps, False

    def step(self, call):
        """Return a function that dies before or after its call, if that is the step."""

        def stepped(*args, **kwargs):
            self._pass()
            result = call(*args, **kwargs)
            self._pass()
            return result

        return stepped

    def _pass(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.dead = True
        if self.dead:
            raise Death


def publish_through_deaths(table: WrittenTable, data: st.DataObject) -> None:
    """Stage and publish in several incarnations: each may die at a step of the table's commit, or come back later.

    Rows are in the table once, at the end.
    """
    table.create()
    version = type(table.open(table.address).load())
    steps = [(version, "append"), (table_output, "remove_parts"), (table_output.TableOutput, "_join")]
    expected = write_through_deaths(table.opened, steps, STEPS, data)
    assert table.found() == expected


def write_through_deaths(
    opened: Callable[[int], StagedOutput], steps: Sequence[tuple[object, str]], most: int, data: st.DataObject
) -> list[int]:
    """Stage and publish in several incarnations, and return the numbers of the rows that were staged.

    Each may die at one of its first `most` steps, which are functions by where they are and their names, or come back.
    """
    with pytest.MonkeyPatch.context() as patch, ExitStack() as handles:
        left, expected, next_row, life = [], [], 0, Life()
        for place, name in steps:
            patch.setattr(place, name, life.step(getattr(place, name)))
        zombies: list[tuple[StagedOutput, list[StagedPart]]] = []
        for number in range(data.draw(st.integers(1, 4))):
            output = opened(number)
            handles.callback(output.close)
            handles.callback(life.begin, 0)
            life.begin(data.draw(st.integers(0, most)))
            with suppress(Death):
                output.publish(left)
                left = []
                for _ in range(data.draw(st.integers(1, 3))):
                    output.write("out", rows(next_row))
                    next_row += 1
                    left += output.stage()
                    expected.append(next_row - 1)
                    due = left if data.draw(st.booleans()) else output.full(left)
                    output.publish(due)
                    left = [part for part in left if part not in due]
            zombies.append((output, list(left)))
            if data.draw(st.booleans()):
                life.begin(0)
                zombie, parts = data.draw(st.sampled_from(zombies))
                zombie.publish(parts)
        life.begin(0)
        opened(9).publish(left)
        return expected
