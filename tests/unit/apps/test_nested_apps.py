"""Apps over nested rows: messages with stops between them, and files."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from support import apps, nested_app

HOUR = 3_600_000


def test_nested_rows_pass_shuffles_tables_joins_and_functions_whatever_stops(tmp_path):
    nested_app.check_restarts(tmp_path, nested_app.document())


def test_nested_rows_of_json_and_parquet_files_are_read_and_written(tmp_path):
    schema = "k int, p struct<x:int,l:array<string>>, m map<string,struct<d:date>>"
    rows = [
        {"k": 1, "p": {"x": 2, "l": ["a", None]}, "m": {"q": {"d": "2024-01-01"}, "r": None}},
        {"k": 2, "p": None, "m": None},
        {"k": 3, "p": {"x": None, "l": []}, "m": {}},
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = apps.document(
        [
            {"name": "some", "from": "in", "filter": "p.x is null or p.l[0] = 'a'"},
            {"name": "sent", "from": "some", "sendTo": "out"},
        ],
        **{
            "in": {"system": "files", "format": "json", "schema": schema},
            "out": {"system": "files", "format": "parquet", "name": "out"},
        },
    )
    assert apps.run(document, tmp_path).written == {"out": 3}
    (part,) = apps.parts(tmp_path / "out")
    table = pq.read_table(part)
    assert pa.types.is_map(table.schema.field("m").type)
    (tmp_path / "again").mkdir()
    document["spec"]["streams"]["in"].update(name="out", format="parquet")
    document["spec"]["streams"]["out"].update(name="again", format="json")
    assert apps.run(document, tmp_path, run_id="r2").written == {"out": 3}
    (part,) = apps.parts(tmp_path / "again")
    assert [json.loads(line) for line in part.read_text().splitlines()] == rows


def test_event_times_are_fields_of_structs_the_first_that_is_there(tmp_path):
    rows = [
        {"k": "a", "Sent": {"at": "1970-01-01T00:10:00Z"}, "made": {"at": 9 * HOUR}},
        {"k": "a", "Sent": None, "made": {"at": HOUR // 2}},
        {"k": "a", "Sent": {"at": None}, "made": {"at": 5 * HOUR}},
        {"k": "a", "Sent": {"at": None}, "made": None},
        {"k": "a", "Sent": None, "made": {"at": 0}},
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = apps.document(
        [
            {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "hours", "from": "by", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
            {"name": "sent", "from": "hours", "sendTo": "out"},
        ],
        **{
            "in": {
                "system": "files",
                "format": "json",
                "schema": "k string, Sent struct<at:timestamp>, made struct<at:bigint>",
                "eventTime": {"column": "sent.AT", "orElse": ["Made.at"]},
            },
            "out": {"system": "files", "format": "csv", "name": "out"},
        },
    )
    summary = apps.run(document, tmp_path)
    assert summary.not_used == {"hours": {"undated": 1}}
    assert [(start[11:13], n) for _, start, _, n in sorted(apps.rows(tmp_path / "out"))] == [("00", "3"), ("05", "1")]
