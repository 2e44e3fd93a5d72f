"""The app of a sample: the same graph over a part of what its streams hold, which writes to an embedded log alone."""

from collections.abc import Mapping
from typing import Any

from streamapp_core.app_tests.operator_rows import add_operator_rows, output_stream
from streamapp_core.app_tests.tested_app import KEPT_OF_STREAMS
from streamapp_core.app_tests.tested_outputs import output_names
from streamapp_core.naming import local_run_path
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.replay.replay_app import POSITIONS, TIME, copy_document
from streamapp_core.spec.streams import StreamChanges
from streamapp_core.spec.systems import SystemKind
from streamapp_core.time_formats import format_milliseconds

_LONGEST_NAME = 56
"""Characters of the app's name that the sample's has: 63 are the most."""
_REMOVED_OF_SPEC = ("runId", "suspend", "namePrefix")
"""They are about runs elsewhere."""


def sample_name(app: str) -> str:
    """Return the name of the sample of an app."""
    return f"{app[:_LONGEST_NAME]}-sample"


def build_sample(document: Mapping[str, Any], plan: Plan, start: int | None) -> dict[str, Any]:
    """Return the document of an app that samples an accepted one, given as its document and its plan.

    Inputs in Kafka and logs are read from records of the time `start` (milliseconds since 1970; None: from their
    beginning) to their present ends, files, tables and side inputs as they are. The planner refuses a time of what
    must be read from its beginning: see `without_times`. State, outputs and the rows of each operator go to an
    embedded log in the folder of the sample's state, where journals of folders and tables are, too.
    """
    sampled = copy_document(document)
    sampled.pop("status", None)
    name = sample_name(plan.app.metadata.name)
    sampled["metadata"] = {"name": name}
    spec, folder = sampled["spec"], local_run_path(name)
    for field in _REMOVED_OF_SPEC:
        spec.pop(field, None)
    log = _free_name(plan)
    read = {stream.system for stream in plan.streams.values() if stream.spec is not None and not _is_written(stream)}
    spec["systems"] = {name: _read_system(spec["systems"][name], name, folder) for name in sorted(read)}
    spec["systems"][log] = {"log": {"path": f"{folder}/log.db"}}
    spec["defaultSystem"] = log
    spec["streams"] = {
        name: _output(declared, plan.streams[name], log)
        if _is_written(plan.streams[name])
        else _input(declared, plan.streams[name], start)
        for name, declared in spec["streams"].items()
    }
    for operator in spec["operators"]:
        if operator.get("partitionBy") is not None:
            operator["partitionBy"].pop("stream", None)
    add_operator_rows(spec, plan, output_names(plan), log)
    spec["processors"] = {"count": 1}
    return sampled


def shown_streams(plan: Plan) -> dict[str, str]:
    """Return the streams of an app's sample with rows of its outputs and operators, by the names of these."""
    return {name: output_stream(name, plan) for name in output_names(plan)}


def _free_name(plan: Plan) -> str:
    """Return a name for the log that no system of the app has."""
    name = "sample"
    while name in plan.app.spec.systems:
        name += "-log"
    return name


def _is_written(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.OUTPUT


def _read_system(declared: Mapping[str, Any], name: str, folder: str) -> dict[str, Any]:
    """Return a system without what the app itself keeps there: its journals, and the name of its consumer group."""
    ((kind, settings),) = declared.items()
    made = dict(settings)
    if kind == "kafka" and made.get("config"):
        made["config"] = {key: value for key, value in made["config"].items() if key != "group.id"}
    elif SystemKind(kind).grows:
        made["journal"] = f"{folder}/{name}"
    return {kind: made}


def _output(declared: Mapping[str, Any], planned: PlannedStream, log: str) -> dict[str, Any]:
    stream = {field: declared[field] for field in KEPT_OF_STREAMS if field in declared}
    if stream.get("changes") == StreamChanges.FINAL.value:
        stream["changes"] = StreamChanges.LOG.value
    return {**stream, "system": log, "partitions": planned.partitions}


def _input(declared: Mapping[str, Any], planned: PlannedStream, start: int | None) -> dict[str, Any]:
    stream = {**declared, "system": planned.system}
    if planned.role is not StreamRole.INPUT or not planned.system_kind.transactional or planned.shared:
        return stream
    for field in POSITIONS:
        stream.pop(field, None)
    if start is not None:
        stream[TIME] = format_milliseconds(start)
    return {**stream, "bounded": True}
