"""Generations that jobs of Spark write: each row is in one of them, whoever dies, comes late or stands still long."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.outgoing import OutgoingGenerations, outgoing_addresses, outgoing_folder, outgoing_generations
from support.table_outputs import SCHEMA, WrittenTable, publish_through_deaths, rows

APP, ADDRESS = "default.a", "public.t/x"
COLUMNS = arrow_schema(parse_schema("n bigint"))


def generations(root: Path) -> OutgoingGenerations:
    return OutgoingGenerations(outgoing_folder(root, APP, ADDRESS), "shop")


def read(root: Path) -> pa.Table:
    found = generations(root)
    files = [found.place(file) for each in found.pending() for file in each.files]
    return pa.concat_tables([arrow_schema(SCHEMA).empty_table(), *map(pq.read_table, files)])


def table_in(root: Path) -> WrittenTable:
    return WrittenTable(root=root, address=ADDRESS, open=lambda _: generations(root), read=lambda: read(root))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_rows_are_in_one_generation_whoever_dies_or_comes_late(data):
    with TemporaryDirectory() as folder:
        publish_through_deaths(table_in(Path(folder)), data)


def publish(output, number):
    output.write("out", rows(number))
    output.publish(output.stage())


def test_what_is_written_is_removed_and_what_is_not_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(outgoing_generations, "_KEPT", 2)
    table = table_in(tmp_path)
    table.create()
    output, found = table.opened(1), generations(tmp_path)
    for number in range(8):
        publish(output, number)
    assert table.found() == [*range(8)]
    for generation in found.pending()[:6]:
        found.note_written(generation)
    assert table.found() == [6, 7]
    assert found.written() == 6
    assert found.numbers() == [4, 5, 6, 7, 8]
    assert sorted(path.name for path in found.folder.glob("*.written")) == ["generation-000000006.written"]
    assert len(list((found.folder / "rows").iterdir())) == 2
    assert found.load().system == "shop"
    assert outgoing_addresses(tmp_path, APP) == [ADDRESS]
    assert outgoing_addresses(tmp_path, "default.b") == []


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6))
def test_a_writer_that_stood_still_until_its_place_was_removed_adds_its_rows_once(before, after):
    with TemporaryDirectory() as folder:
        root = Path(folder)
        table, kept = table_in(root), outgoing_generations._KEPT
        outgoing_generations._KEPT = 1
        try:
            table.create()
            found, first, second = generations(root), table.opened(1), table.opened(2)
            for number in range(before):
                publish(first, number)
            stale = found.load()
            for number in range(before, before + after):
                publish(second, number)
            assert table.found() == [*range(before + after)]
            for generation in found.pending():
                found.note_written(generation)
            assert stale is not None
            added = stale.append([], {"late": 1})
            assert added == (found.load().mark("late") == 1)
            assert added == (after == 0)
        finally:
            outgoing_generations._KEPT = kept
