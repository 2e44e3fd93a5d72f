"""Apps over nested rows: messages with stops between them, and files."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from support import apps, nested_app


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
