"""Formats of streams through both doors: what the planner accepts runs to its end, what it refuses never begins."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.app_streams import count_partitions
from streamapp_runtime.errors import PlanRefused
from streamapp_systems.registry import local_systems
from support import apps, log_messages
from support.log_messages import LogRecord
from support.plan_documents import planned

ROW = {"k": 1}


def write_files(folder):
    """Write one row in a folder of files of every format."""
    (folder / "in").mkdir()
    (folder / "in" / "1.csv").write_text("k\n1\n")
    (folder / "in" / "1.json").write_text(json.dumps(ROW))
    pq.write_table(pa.table({"k": pa.array([1], pa.int32())}), folder / "in" / "1.parquet")


def write_log(folder, form):
    log_messages.write(folder, "in", 1, [LogRecord(b"1" if form == "csv" else json.dumps(ROW).encode())])


def app(source, output):
    document = apps.document(
        [{"name": "sent", "from": "in", "sendTo": "out"}],
        **{"in": {"schema": "k int", "bounded": True} | source, "out": {"name": "out"} | output},
    )
    document["spec"]["streams"]["in"]["csv"] = {}
    return document


FILES = [{"system": "files", "format": form.value} for form in StreamFormat]
LOGS = [{"system": "log", "format": form.value} for form in StreamFormat]
PLAIN_IN, PLAIN_OUT = {"system": "files", "format": "csv"}, {"system": "log", "format": "json"}


def name(stream):
    return f"{stream['system']}-{stream['format']}"


@pytest.mark.parametrize(
    "source, output",
    [*((stream, PLAIN_OUT) for stream in FILES + LOGS), *((PLAIN_IN, stream) for stream in FILES + LOGS)],
    ids=name,
)
def test_plan_and_run_agree(tmp_path, source, output):
    write_files(tmp_path)
    write_log(tmp_path, source["format"])
    document = app(source, output)
    counts = count_partitions(parse_document(document).app, local_systems(tmp_path))
    problems = planned(document, counts).problems
    if problems:
        with pytest.raises(PlanRefused) as refused:
            apps.run(document, tmp_path)
        assert refused.value.problems == problems
        whole = {source["format"], output["format"]} & {"text", "raw"} and "files" not in (source, output)
        allowed = {"NotSupported", "TypeMismatch"} if whole else {"NotSupported"}
        allowed |= {"InvalidSpec"} if source["format"] in ("avro", "protobuf") else set()
        assert {str(problem.code) for problem in problems} <= allowed
    else:
        assert apps.run(document, tmp_path).written == {"out": 1}
