"""CSV, NDJSON and Parquet: what an output wrote is what an input reads, from any offset on."""

import datetime
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import Column, DataType, Schema, TypeKind, parse_schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file import FileAdmin, FileConsumer, FileOutput
from streamapp_systems.file.parquet_format import ParquetFormat
from streamapp_systems.protocols import BadRecord, StreamDescriptor, StreamSystemError

VALUES = {
    TypeKind.STRING: st.text(),
    TypeKind.BOOLEAN: st.booleans(),
    TypeKind.TINYINT: st.integers(-128, 127),
    TypeKind.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    TypeKind.INT: st.integers(-(2**31), 2**31 - 1),
    TypeKind.BIGINT: st.integers(-(2**63), 2**63 - 1),
    TypeKind.FLOAT: st.floats(width=32, allow_nan=False, allow_infinity=False),
    TypeKind.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    TypeKind.DECIMAL: st.decimals(-999, 999, places=3),
    TypeKind.DATE: st.dates(),
    TypeKind.TIMESTAMP: st.datetimes(timezones=st.just(datetime.UTC)),
    TypeKind.TIMESTAMP_NTZ: st.datetimes(),
    TypeKind.BINARY: st.binary(),
}
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
CSV_OPTIONS = st.builds(
    CsvOptions, delimiter=st.sampled_from(",;\t|"), nullValue=st.sampled_from(["", "NA", "\\N"]), header=st.booleans()
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, pa.Table]:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    kinds = [draw(st.sampled_from(list(VALUES))) for _ in names]
    schema = Schema(
        tuple(
            Column(name, DataType(kind, 12, 3) if kind is TypeKind.DECIMAL else DataType(kind))
            for name, kind in zip(names, kinds, strict=True)
        )
    )
    rows = draw(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in kinds)), min_size=1, max_size=20))
    return schema, pa.table([list(column) for column in zip(*rows, strict=True)], schema=arrow_schema(schema))


def described(
    address: str, schema: Schema | str, stream_format: StreamFormat = StreamFormat.CSV, csv: CsvOptions | None = None
) -> StreamDescriptor:
    return StreamDescriptor(
        name="s",
        system="files",
        address=address,
        format=stream_format,
        schema=parse_schema(schema) if isinstance(schema, str) else schema,
        csv=csv or CsvOptions(),
    )


def pieces(root: Path, stream: StreamDescriptor, start: int = 0) -> Iterator[pa.RecordBatch | BadRecord]:
    """Read partition 0 from an offset to its end, past records that can't be read."""
    ssp = Ssp("files", "s", 0)
    end = FileAdmin(root).end_offsets([stream])[ssp]
    consumer = FileConsumer(root, [stream])
    consumer.assign({ssp: start}, {ssp: end})
    while True:
        try:
            fetched = consumer.poll([ssp], 7, 0)
        except BadRecord as error:
            yield error
            continue
        if not fetched:
            return
        yield from (part.rows for part in fetched if part.rows is not None)


def read(root: Path, stream: StreamDescriptor, start: int = 0) -> pa.Table:
    schema = arrow_schema(stream.schema)
    batches = list(pieces(root, stream, start))
    assert all(batch.schema.equals(schema) for batch in batches)
    return pa.Table.from_batches(batches, schema)


def written(folder: Path, text: str | bytes, stream: StreamDescriptor) -> list[object]:
    """Read a file with this content: rows as dicts, records that can't be read as text."""
    (folder / stream.address).write_bytes(text.encode() if isinstance(text, str) else text)
    found: list[object] = []
    for chunk in pieces(folder, stream):
        found += [str(chunk)] if isinstance(chunk, BadRecord) else chunk.to_pylist()
    return found


@given(
    schema_and_rows=tables(),
    stream_format=st.sampled_from([StreamFormat.CSV, StreamFormat.JSON, StreamFormat.PARQUET]),
    csv=CSV_OPTIONS,
)
def test_what_an_output_wrote_is_read_from_every_offset(
    schema_and_rows: tuple[Schema, pa.Table], stream_format: StreamFormat, csv: CsvOptions
) -> None:
    schema, rows = schema_and_rows
    stream = described("out", schema, stream_format, csv)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        output = FileOutput(root, [stream], "w")
        output.write("s", rows)
        output.publish(output.stage())
        assert FileAdmin(root).end_offsets([stream]) == {Ssp("files", "s", 0): rows.num_rows}
        for start in range(rows.num_rows + 1):
            assert read(root, stream, start).equals(rows.slice(start))


def test_columns_are_found_by_name_and_others_ignored(tmp_path: Path) -> None:
    stream = described("a.csv", "b int, a string")
    assert written(tmp_path, "a,x,b\n1,2,3\n", stream) == [{"b": 3, "a": "1"}]


def test_without_header_columns_are_by_position(tmp_path: Path) -> None:
    stream = described("a.csv", "b int, a string", csv=CsvOptions(header=False))
    assert written(tmp_path, "1,x,9", stream) == [{"b": 1, "a": "x"}]


def test_line_breaks_in_values_are_no_ends_of_records(tmp_path: Path) -> None:
    stream = described("a.csv", "a string, b int")
    assert written(tmp_path, 'a,b\r\n"x\r\ny",1\r\n\r\n"""z""",2\r\n', stream) == [
        {"a": "x\r\ny", "b": 1},
        {"a": '"z"', "b": 2},
    ]


def test_quoted_null_values_are_text(tmp_path: Path) -> None:
    stream = described("a.csv", "a string, b int", csv=CsvOptions(nullValue="NA"))
    assert written(tmp_path, 'a,b\nNA,NA\n"NA",1\n,\n', stream) == [
        {"a": None, "b": None},
        {"a": "NA", "b": 1},
        {"a": "", "b": None},
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "a,b", "a,b\n"])
def test_a_csv_file_without_records_is_empty(tmp_path: Path, content: str) -> None:
    assert written(tmp_path, content, described("a.csv", "a string, b int")) == []


def test_each_bad_csv_record_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    content = b'a,b\nx,1\ny,one\n"z\n",2\nu\nv,3,4\n\xff,5\nw,6\n'
    path = tmp_path / "a.csv"
    assert written(tmp_path, content, described("a.csv", "a string, b int")) == [
        {"a": "x", "b": 1},
        f"files.s[0], offset 1: {path}: column b: 'one' is no int",
        {"a": "z\n", "b": 2},
        f"files.s[0], offset 3: {path}: the record has 1 values, not 2: 'u'",
        f"files.s[0], offset 4: {path}: the record has 3 values, not 2: 'v,3,4'",
        f"files.s[0], offset 5: {path}: column a: '\ufffd' is no UTF-8 text: convert the file to UTF-8, "
        "as `iconv -f LATIN1 -t UTF-8` does",
        {"a": "w", "b": 6},
    ]


def test_each_bad_json_record_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [b'\xef\xbb\xbf{"a":"x","c":[1]}', b'{"a":1}', b" ", b'{"b":"2"}', b"{", b"[]", b'{"t":"soon"}', b'{"b":2}']
    lines += [b'{"a":"\xff"}', b'{"a":"x"}{"a":"y"}', b'{"t":"2013-01-01 10:00:00"}']
    where = f"{tmp_path / 'a.json'}: "
    found = written(tmp_path, b"\n".join(lines), described("a.json", "a string, b int, t timestamp", StreamFormat.JSON))
    empty: dict[str, object] = {"a": None, "b": None, "t": None}
    expected = [
        empty | {"a": "x"},
        "column a: 1 is no text but a number: declare the column as int, bigint or double",
        "column b: '2' is no int",
        "(char 2); in a file each object is one line (`jq -c .` writes it so)",
        "'[]' is no JSON object; in a file each line is one object (`jq -c '.[]'` writes an array so)",
        "column t: 'soon' is no timestamp",
        empty | {"b": 2},
        "is no JSON: ",
        "is no JSON: Extra data",
        empty | {"t": datetime.datetime(2013, 1, 1, 10, tzinfo=datetime.UTC)},
    ]
    assert len(found) == len(expected)
    for offset, (is_, should) in enumerate(zip(found, expected, strict=True)):
        if isinstance(should, str):
            assert isinstance(is_, str)
            assert is_.startswith(f"files.s[0], offset {offset}: {where}")
            assert should in is_
        else:
            assert is_ == should


def test_json_has_no_nan_and_no_infinities(tmp_path: Path) -> None:
    stream = described("out", "a double", StreamFormat.JSON)
    output = FileOutput(tmp_path, [stream], "w")
    output.write("s", pa.table({"a": pa.array([1.5, float("nan"), float("-inf")])}))
    output.publish(output.stage())
    assert (tmp_path / "out" / "part-w-0.json").read_text() == '{"a":1.5}\n{"a":null}\n{"a":null}\n'


def test_parquet_columns_are_cast_without_loss(tmp_path: Path) -> None:
    moment = datetime.datetime(2013, 1, 1, 10)  # noqa: DTZ001 - a local time is taken for UTC
    table = pa.table(
        {
            "x": pa.array([0, 0]),
            "n": pa.array([1, 2**40], pa.int64()),
            "t": pa.array([moment, moment], pa.timestamp("ns")),
            "s": pa.array(["a", "b"]).dictionary_encode(),
            "d": pa.array(["2013-01-01", "2013-01-02"]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    stream = described("a.parquet", "s string, n int, t timestamp, d date", StreamFormat.PARQUET)
    good, bad = pieces(tmp_path, stream)
    assert isinstance(good, pa.RecordBatch)
    assert good.to_pylist() == [
        {"s": "a", "n": 1, "t": moment.replace(tzinfo=datetime.UTC), "d": datetime.date(2013, 1, 1)}
    ]
    assert str(bad).endswith("column n: '1099511627776' is no int")


def test_timestamps_of_96_bits_are_those_that_spark_wrote(tmp_path: Path) -> None:
    """They are microseconds, also beyond the years that 64 bits of nanoseconds hold."""
    times = [datetime.datetime(year, 12, 31, 23, 59, 59, 999_999, datetime.UTC) for year in (1, 1582, 2020, 9999)]
    table = pa.table({"at": pa.array(times, pa.timestamp("us", "UTC")), "nested": [[{"at": time}] for time in times]})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    schema = arrow_schema(parse_schema("at timestamp, nested array<struct<at:timestamp>>"))
    (rows,) = ParquetFormat().read(path, schema, 0)
    assert isinstance(rows, pa.RecordBatch)
    assert rows["at"].to_pylist() == times
    assert rows["nested"].to_pylist() == [[{"at": time}] for time in times]


def test_a_parquet_column_of_another_shape_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([[1]])}), tmp_path / "a.parquet")
    with pytest.raises(StreamSystemError, match=r"column a is list.* can't be read as int"):
        read(tmp_path, described("a.parquet", "a int", StreamFormat.PARQUET))


@pytest.mark.parametrize("stream_format", [StreamFormat.CSV, StreamFormat.PARQUET])
def test_a_missing_column_is_an_error_that_names_it(tmp_path: Path, stream_format: StreamFormat) -> None:
    path = tmp_path / f"a.{stream_format}"
    if stream_format is StreamFormat.CSV:
        path.write_text("A,c\n1,2\n")
    else:
        pq.write_table(pa.table({"A": [1], "c": [2]}), path)
    with pytest.raises(StreamSystemError, match=rf"{path.name} has no column a, b: it has A, c"):
        read(tmp_path, described(path.name, "a int, b int, c int", stream_format))


def test_a_file_of_another_format_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("a\n1\n")
    with pytest.raises(StreamSystemError, match=r"files\.s\[0\]: .*a\.parquet can't be read as parquet"):
        FileAdmin(tmp_path).end_offsets([described("a.parquet", "a int", StreamFormat.PARQUET)])


def test_of_a_field_of_json_given_twice_the_last_one_counts(tmp_path: Path) -> None:
    stream = described("a.json", "i int, s string", StreamFormat.JSON)
    lines = ['{"i": 9, "i": 10}', '{"s": "x", "s": "y", "i": 1}', '{"i": 9, "x": 3, "i": null}', '{"i": 1, "i": "x"}']
    *rows, bad = written(tmp_path, "\n".join(lines), stream)
    assert rows == [{"i": 10, "s": None}, {"i": 1, "s": "y"}, {"i": None, "s": None}]
    assert "'x' is no int" in str(bad)
