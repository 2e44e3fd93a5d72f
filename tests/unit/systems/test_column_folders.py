"""Columns that are folders: what is written reads back, here and in DuckDB, and lies where Hive would look for it."""

import shutil
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file import FileAdmin, FileOutput, published_parts
from streamapp_systems.file.column_folders import NULL_FOLDER
from streamapp_systems.file.consumer import FileConsumer
from streamapp_systems.file.file_output import MAXIMUM_OPEN_PARTS
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

SCHEMA = parse_schema("day date, Place string, n bigint, moment timestamp, price decimal(6,2), good boolean")
ARROW = pa.schema(
    [
        ("day", pa.date32()),
        ("Place", pa.string()),
        ("n", pa.int64()),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(6, 2)),
        ("good", pa.bool_()),
    ]
)
PLACES = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", ".", "..", "a/b", "a=b", "50%", "%3A", NULL_FOLDER, "é ü", "\0", "x\ny", " a ", "*?[]{}^'\"#:\\"]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "day": st.none() | st.dates(date(1, 1, 1)),
            "Place": st.none() | PLACES,
            "n": st.integers(-(1 << 63), (1 << 63) - 1),
            "moment": st.none() | st.datetimes(datetime(1, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds are naive
            "price": st.none() | st.decimals(-9999, 9999, places=2),
            "good": st.none() | st.booleans(),
        }
    ),
    max_size=12,
)


def stream(columns, stream_format=StreamFormat.PARQUET, schema=SCHEMA):
    return StreamDescriptor(
        name="s", system="files", address="out", format=stream_format, schema=schema, folder_columns=columns
    )


def write(root, described, *batches):
    output = FileOutput(root, [described], "w")
    for rows in batches:
        output.write("s", rows)
    output.publish(output.stage())


def read(root, described):
    ends = FileAdmin(root).end_offsets([described])
    consumer, rows = FileConsumer(root, [described]), []
    consumer.assign(dict.fromkeys(ends, 0), ends)
    waiting = set(ends)
    while waiting:
        for batch in consumer.poll(waiting, 1000, 0):
            rows += [] if batch.rows is None else pa.Table.from_batches([batch.rows]).to_pylist()
            waiting -= {batch.ssp} if batch.ended else set()
    consumer.close()
    return rows


def in_order(rows):
    return sorted([(name, str(value)) for name, value in sorted(row.items())] for row in rows)


@settings(max_examples=40)
@given(
    rows=ROWS,
    columns=st.lists(st.sampled_from(["day", "place", "moment", "price", "good"]), unique=True, min_size=1),
    stream_format=st.sampled_from([StreamFormat.PARQUET, StreamFormat.JSON]),
)
def test_what_is_written_reads_back_but_for_empty_text_of_folders(rows, columns, stream_format):
    described = stream(tuple(columns), stream_format)
    with TemporaryDirectory() as folder:
        write(Path(folder), described, *(pa.Table.from_pylist([row], ARROW) for row in rows))
        nulled = "place" in columns
        expected = [row | {"Place": None} if nulled and row["Place"] == "" else row for row in rows]
        assert in_order(read(Path(folder), described)) == in_order(expected)


@settings(max_examples=30)
@given(rows=ROWS.filter(bool))
def test_duckdb_finds_the_columns_in_the_folders(rows):
    with TemporaryDirectory() as folder:
        write(Path(folder), stream(("place", "price")), pa.Table.from_pylist(rows, ARROW))
        found = duckdb.sql(
            f"SELECT n, Place, price::DECIMAL(6, 2) FROM read_parquet('{folder}/out/**/*.parquet', "
            "hive_partitioning = true, hive_types_autocast = false)"
        ).fetchall()
    expected = [(row["n"], row["Place"] or None, row["price"]) for row in rows]
    assert Counter(found) == Counter(expected)


def test_folders_are_named_by_columns_and_values_in_the_order_of_the_columns(tmp_path):
    rows = [
        {"day": date(2024, 5, 1), "Place": "09:05", "n": 1},
        {"day": date(2024, 5, 1), "Place": None, "n": 2, "price": Decimal("7.50")},
    ]
    described = stream(("day", "place"), StreamFormat.JSON)
    write(tmp_path, described, pa.Table.from_pylist(rows, ARROW).select(["n", "Place", "day", "price"]))
    out = tmp_path / "out"
    texts = {str(path.parent.relative_to(out)): path.read_text() for path in out.rglob("*.json")}
    assert texts == {
        "day=2024-05-01/Place=09%3A05": '{"n":1,"price":null}\n',
        f"day=2024-05-01/Place={NULL_FOLDER}": '{"n":2,"price":7.50}\n',
    }


def test_rows_of_a_folder_stay_in_order_and_many_folders_are_not_open_together(tmp_path):
    count = 3 * MAXIMUM_OPEN_PARTS
    described = stream(("place",))
    rows = [{"Place": f"p{number % count}", "n": number} for number in range(3 * count)]
    write(tmp_path, described, pa.Table.from_pylist(rows, ARROW))
    by_place = {}
    for row in read(tmp_path, described):
        by_place.setdefault(row["Place"], []).append(row["n"])
    assert by_place == {f"p{number}": [number, number + count, number + 2 * count] for number in range(count)}


@pytest.mark.parametrize("column", [".place", "_place"])
def test_columns_with_names_of_hidden_files_are_read(tmp_path, column):
    described = stream((column,), schema=parse_schema(f"`{column}` string, n bigint"))
    rows = [{column: ".a", "n": 1}, {column: "_b", "n": 2}]
    write(tmp_path, described, pa.Table.from_pylist(rows))
    assert in_order(read(tmp_path, described)) == in_order(rows)


def test_parts_in_folders_are_staged_beside_the_others_and_found_with_them(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_streamapp.json").write_text('{"owner": "me"}')
    output = FileOutput(tmp_path, [stream(("place",))], "w")
    output.write("s", pa.Table.from_pylist([{"Place": "a", "n": 1}, {"Place": "b", "n": 2}], ARROW))
    parts = output.stage()
    assert published_parts(tmp_path / "out", "me") == []
    output.publish(parts)
    output.publish(parts)
    found = [str(path.relative_to(tmp_path)) for path in published_parts(tmp_path / "out", "me")]
    assert found == ["out/Place=a/part-w-0.parquet", "out/Place=b/part-w-1.parquet"]
    assert [part.staged for part in parts] == [f"out/.staging/part-w-{number}.parquet" for number in range(2)]


@pytest.mark.parametrize(
    ("folder", "message"),
    [("day=soon", "the folder `day=soon` is no date"), ("other=1", "is in no folder `day=...`")],
)
def test_a_file_whose_folder_has_no_value_of_the_column_is_an_error(tmp_path, folder, message):
    described = stream(("day",))
    write(tmp_path, described, pa.Table.from_pylist([{"n": 1}], ARROW))
    shutil.move(next((tmp_path / "out").glob("day=*")), tmp_path / "out" / folder)
    with pytest.raises(StreamSystemError, match=message):
        read(tmp_path, described)
