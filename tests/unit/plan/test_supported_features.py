"""Features that the runtime lacks are refused by the planner, each with its path, some with a repair."""

import pytest

from streamapp_core.plan.supported_features import FILE_FORMATS
from streamapp_systems.file.partition_files import ENDINGS
from support.plan_documents import accepted, document, found, planned, repaired

SYSTEMS = {
    "log": {"log": {"path": "log"}},
    "files": {"file": {"path": "."}},
    "kafka": {"kafka": {"bootstrapServers": "k:1"}},
}
COUNTS = {"in": 2, "out": 2}


def app(*, source=None, output=None, default="log", **job):
    streams = {
        "in": {"system": "log", "schema": "k bigint, n int", "key": "k", **(source or {})},
        "out": {"system": "log", **(output or {})},
    }
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    return document(operators, streams=streams, systems=SYSTEMS, defaultSystem=default, job=job)


@pytest.mark.parametrize(
    "refused, path",
    [
        ({"source": {"schema": "k array<int>"}}, "streams.in.key"),
        ({"source": {"schema": "k timestamp_ntz"}}, "streams.in.key"),
        ({"source": {"schema": "k bigint, m map<struct<a:int>,int>"}}, "streams.in.schema"),
        ({"source": {"system": "files", "format": "csv", "schema": "k int, t map<int,int>"}}, "streams.in.format"),
        (
            {"source": {"schema": "k bigint, a array<int>"}, "output": {"system": "files", "format": "csv"}},
            "streams.out.format",
        ),
        ({"source": {"format": "csv"}}, "streams.in.format"),
        ({"source": {"format": "arrow"}}, "streams.in.format"),
        ({"output": {"format": "parquet"}}, "streams.out.format"),
        ({"output": {"system": "files", "format": "arrow"}}, "streams.out.format"),
        ({"source": {"system": "files", "format": "arrow"}}, "streams.in.format"),
        ({"source": {"system": "files", "format": "csv", "csv": {"delimiter": "é"}}}, "streams.in.csv.delimiter"),
        ({"output": {"system": "files", "format": "csv", "csv": {"delimiter": '"'}}}, "streams.out.csv.delimiter"),
        ({"output": {"key": "n", "keyFormat": "int", "controlMessages": True}}, "streams.out.keyFormat"),
        ({"output": {"controlMessages": True}}, "streams.out.controlMessages"),
        ({"source": {"keyFormat": "int"}}, "streams.in.keyFormat"),
        ({"output": {"key": "k", "keyFormat": "int"}}, "streams.out.keyFormat"),
        ({"source": {"bounded": True, "startFrom": "latest"}}, "streams.in.startFrom"),
        ({"source": {"controlMessages": True, "startFrom": "latest"}}, "streams.in.startFrom"),
        ({"output": {"system": "kafka"}, "default": "kafka", "commitInterval": "11s"}, "job.commitInterval"),
    ],
)
def test_what_the_runtime_lacks_is_refused_where_it_is_written(refused, path):
    document = app(**refused)
    assert ("NotSupported", f"spec.{path}") in found(document, COUNTS)
    for problem in planned(document, COUNTS).problems:
        if problem.repair is not None:
            assert (problem.code, problem.path) not in found(repaired(document, problem.repair), COUNTS)


@pytest.mark.parametrize(
    "supported",
    [
        {"output": {"key": "n", "keyFormat": "long"}},
        {"source": {"keyFormat": "long", "startFrom": "latest"}},
        {"source": {"system": "kafka"}, "output": {"system": "kafka"}, "default": "kafka", "commitInterval": "10s"},
        {"commitInterval": "11s"},
        {"output": {"system": "files", "format": "csv", "csv": {"delimiter": "\t"}}},
    ],
)
def test_what_is_just_possible_is_accepted(supported):
    accepted(app(**supported), COUNTS)


def test_files_of_an_unknown_format_are_not_called_missing():
    files = {"system": "files", "format": "arrow"}
    assert found(app(source=files), {}) == {("NotSupported", "spec.streams.in.format")}


def test_the_formats_of_files_are_those_that_are_read_and_written():
    assert set(FILE_FORMATS) == ENDINGS.keys()
