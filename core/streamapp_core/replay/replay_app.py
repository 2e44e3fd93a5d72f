"""The app of a replay: the same graph under a name of its own, with other outputs, from and to other positions."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.problems import Problem
from streamapp_core.replay.positions import Positions
from streamapp_core.spec.systems import SystemKind
from streamapp_core.time_formats import format_milliseconds

POSITIONS = ("startFrom", "startingTimestamp", "startingOffsets", "endingTimestamp", "endingOffsets")
_KEPT_OF_METADATA = ("namespace", "labels", "annotations")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_LONGEST_NAME = 63
TIME = "startingTimestamp"


class ReplayRefusedError(Exception):
    """An app can't be replayed like this; the message says why, and what can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay to be made: its run id, from where to where inputs are read, and what becomes of its outputs.

    It ends at `until`, at the present ends where that names none, or never if it `follows` its streams. If
    `into_live_outputs` its outputs are those of the app.
    """

    run_id: str
    start: Positions
    until: Positions
    follow: bool = False
    into_live_outputs: bool = False


def build_replay(document: Mapping[str, Any], plan: Plan, replay: Replay) -> dict[str, Any]:
    """Return the document of an app that replays an accepted one, given as its document and its plan.

    Inputs in Kafka and logs get the positions. The planner refuses those of what must be read from its beginning: see
    `without_refused_times`. Where the app makes streams of its outputs, they get as many partitions as the app's have.

    Raises:
        ReplayRefusedError: a stream has no such position or no end, or outputs belong to the app that runs.
    """
    _check(plan, replay)
    built = copy_document(document)
    built.pop("status", None)
    built["metadata"] = _metadata(document["metadata"], plan, replay.run_id)
    spec = built["spec"]
    spec.pop("suspend", None)
    spec["runId"] = replay.run_id
    for stream in plan.streams.values():
        if stream.role is StreamRole.INPUT and _has_positions(stream):
            _place(spec["streams"][stream.name], stream.name, replay)
        elif stream.role is StreamRole.OUTPUT and not replay.into_live_outputs:
            _rename(spec["streams"][stream.name], stream, replay.run_id)
    for operator in spec["operators"]:
        shared = (operator.get("partitionBy") or {}).get("stream")
        if shared is not None:
            operator["partitionBy"]["stream"] = f"{shared}-{replay.run_id}"
    return built


def without_refused_times(document: Mapping[str, Any], problems: Iterable[Problem]) -> dict[str, Any]:
    """Return the document of a replay without the times that its plan has refused: these streams are read as a whole.

    Raises:
        ReplayRefusedError: none would begin at the time.
    """
    changed = without_times(document, problems)
    timed, left = (
        [name for name, stream in found["spec"]["streams"].items() if TIME in stream] for found in (document, changed)
    )
    if timed and not left:
        raise ReplayRefusedError(
            f"no input can begin at a time: {', '.join(timed)} must be read from the beginning. Leave the time out"
        )
    return changed


def without_times(document: Mapping[str, Any], problems: Iterable[Problem]) -> dict[str, Any]:
    """Return a document without the times of streams that its plan has refused: these are read as a whole."""
    changed = copy_document(document)
    paths = {problem.path for problem in problems}
    for name, stream in changed["spec"]["streams"].items():
        if f"spec.streams.{name}.{TIME}" in paths:
            stream.pop(TIME, None)
    return changed


def copy_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy in which nothing stands at two places, as what a YAML alias repeats does."""
    made: dict[str, Any] = json.loads(json.dumps(document))
    return made


def _check(plan: Plan, replay: Replay) -> None:
    inputs = {stream.name: stream for stream in plan.streams.values() if stream.role is StreamRole.INPUT}
    placed = sorted(name for name, stream in inputs.items() if _has_positions(stream))
    app = plan.app.metadata.name
    for positions in (replay.start, replay.until):
        for name in positions.offsets:
            if name not in placed:
                raise ReplayRefusedError(f"{app} has no stream {name} with offsets; it reads {_listed(placed)}")
        if positions.time is not None and not placed:
            raise ReplayRefusedError(f"{app} reads no stream of Kafka or a log, so nothing it reads has times")
    endless = sorted(name for name, s in inputs.items() if s.shared or s.system_kind.grows)
    if endless and not replay.follow:
        raise ReplayRefusedError(
            f"{_listed(endless)} of {app} has no end: replay it with --follow, and stop it yourself"
        )
    if replay.follow and (replay.until.time is not None or replay.until.offsets):
        raise ReplayRefusedError("a replay that goes on for ever has no end: leave out --follow, or --to")
    kept = sorted(
        s.name for s in plan.streams.values() if s.role is StreamRole.OUTPUT and not s.system_kind.transactional
    )
    if replay.into_live_outputs and kept:
        raise ReplayRefusedError(
            f"{_listed(kept)}: files and tables belong to the app that writes them; leave out --outputs, so that the "
            "replay writes others"
        )
    shared = sorted(s.name for s in plan.streams.values() if s.shared and s.role is StreamRole.INTERMEDIATE)
    if replay.into_live_outputs and shared:
        raise ReplayRefusedError(
            f"other apps read what {_listed(shared)} writes, and would take the rows of both for one stream; leave out "
            "--outputs"
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _has_positions(stream: PlannedStream) -> bool:
    return stream.system_kind.transactional and not stream.shared


def _metadata(metadata: Mapping[str, Any], plan: Plan, run_id: str) -> dict[str, Any]:
    name = f"{plan.app.metadata.name}-{run_id}"
    if len(name) > _LONGEST_NAME:
        raise ReplayRefusedError(f"{name} has {len(name)} characters, and names have {_LONGEST_NAME}: shorten --run-id")
    kept = {field: metadata[field] for field in _KEPT_OF_METADATA if field in metadata}
    if isinstance(kept.get("annotations"), dict):
        kept["annotations"] = {key: text for key, text in kept["annotations"].items() if key != _APPLIED}
    return {"name": name, **kept}


def _place(stream: dict[str, Any], name: str, replay: Replay) -> None:
    for field in POSITIONS:
        stream.pop(field, None)
    stream |= _fields("starting", name, replay.start)
    if not replay.follow:
        stream["bounded"] = True
        stream |= _fields("ending", name, replay.until)


def _fields(which: str, name: str, positions: Positions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if positions.time is not None:
        found[f"{which}Timestamp"] = format_milliseconds(positions.time)
    if name in positions.offsets:
        found[f"{which}Offsets"] = {str(number): offset for number, offset in sorted(positions.offsets[name].items())}
    return found


def _rename(stream: dict[str, Any], planned: PlannedStream, run_id: str) -> None:
    """Rename an output; a table of a database has a name without dashes."""
    address = planned.address.rstrip("/")
    if planned.system_kind in (SystemKind.POSTGRESQL, SystemKind.SPARK):
        stream["name"] = f"{address}_{run_id.replace('-', '_')}"
        return
    stream["name"] = f"{address}-{run_id}"
    if planned.system_kind.transactional:
        stream["partitions"] = planned.partitions
