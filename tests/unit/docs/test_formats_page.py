"""The page about formats: its app is accepted, and reads and writes the objects that the page shows."""

import datetime
import json

import pyarrow as pa
import yaml

from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_formats import encode_messages, message_decoder
from streamapp_systems.file import FileOutput
from streamapp_systems.protocols import Message, MessageTuple, StreamDescriptor
from support.plan_documents import accepted
from unit.docs import pages


def test_the_example_reads_and_writes_what_the_page_shows():
    text = pages.read("formats.md")
    app, read, written = (block.text for block in pages.fences(text[text.index("## JSON") :]))
    plan = accepted(yaml.safe_load(app), pages.counts(app))
    streams = parse_text(app).app.spec.streams
    decoder = message_decoder(plan.streams["payments"].schema, streams["payments"], (), None, "UTC")
    found = decoder.decode(MessageTuple([Message(0, 0, None, read.strip().encode())]), Ssp("kafka", "payments", 0))
    start = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)
    paid = start + datetime.timedelta(milliseconds=123)
    assert found.rows.to_pylist() == [{"id": 7, "paid": paid, "steps": [{"at": start, "by": "web"}]}]
    assert encode_messages(found.rows, streams["paid"]).to_pylist() == [written.strip().encode()]
    assert json.loads(written)


def test_what_the_page_says_of_texts_and_raw_values_is_accepted():
    text = pages.read("formats.md")
    operators = [{"name": "taken", "from": "in", "map": "split_part(line, ' ', 1) as word"}]
    operators += [{"name": "sent", "from": "taken", "sendTo": "out"}]
    raw = [{"name": "taken", "from": "in", "map": "cast(data as string) as text"}, operators[1]]
    app = yaml.safe_load(next(block.text for block in pages.fences(text) if "kind: StreamApp" in block.text))
    for schema, form, written in (("line string", "text", operators), ("data binary", "raw", raw)):
        app["spec"]["streams"] = {
            "in": {"system": "kafka", "format": form, "schema": schema},
            "out": {"system": "kafka", "format": "text"},
        }
        app["spec"]["operators"] = written
        assert accepted(app, {"in": 1, "out": 1})


def test_rows_lie_in_the_folders_that_the_page_shows(tmp_path):
    declared, paths = (block.text for block in pages.fences(pages.read("formats.md"))[:2])
    columns = tuple(yaml.safe_load(declared)["streams"]["bids"]["folderColumns"])
    stream = StreamDescriptor(
        name="bids", system="files", address="bids", format=StreamFormat.PARQUET, folder_columns=columns
    )
    output = FileOutput(tmp_path, [stream], "3-1-1790000000000")
    day = datetime.date(2024, 5, 1)
    for city in ("New York", "S/W", None):
        output.write("bids", pa.table({"day": [day], "city": pa.array([city], pa.string()), "n": [1]}))
    output.publish(output.stage())
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("part-*")) == sorted(paths.splitlines())
