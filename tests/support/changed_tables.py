"""Tables whose rows change, read as changes: what was read stays at its offsets, and makes the table."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """A table with a key `k`: its records from an offset on, read so many at a time, its end, and its rows by key."""

    read: Callable[[int, int], list[Row]]
    end: Callable[[], int]
    rows: Callable[[], dict[object, Row]]


def applied(records: list[Row]) -> dict[object, Row]:
    """Give the newest rows of keys."""
    rows: dict[object, Row] = {}
    for record in records:
        row = {name: value for name, value in record.items() if name != "__op"}
        if record["__op"] == "u":
            rows[row["k"]] = row
        elif record["__op"] == "d":
            assert {name for name, value in row.items() if value is not None} == {"k"}
            rows.pop(row["k"], None)
    return rows


def read_again(table: ChangedTable, known: list[Row], data: st.DataObject) -> list[Row]:
    """Read from an offset that was read before: what was there is there again, and with it the table is as it is."""
    start = data.draw(st.integers(0, 100)) * len(known) // 100
    found = table.read(start, data.draw(st.integers(1, 50)))
    assert found[: len(known) - start] == known[start:]
    records = [*known[:start], *found]
    assert applied(records) == table.rows()
    assert table.end() == len(records)
    return records


def keep_keys(table: ChangedTable, known: list[Row], change: Callable[[], object], data: st.DataObject) -> list[Row]:
    """Make a version, and read it: keys that are there before and after it are not deleted by it."""
    before = table.rows()
    change()
    stays = before.keys() & table.rows().keys()
    later = read_again(table, known, data)
    assert not stays.intersection(record["k"] for record in later[len(known) :] if record["__op"] == "d")
    return later
