"""A first app of a sample: its stream with event time and key, and the first operator that its plan accepts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.data_types import INT, Column, TypeKind
from streamapp_core.inference.draft import Draft, label_of
from streamapp_core.inference.time_names import names_a_time, words_of
from streamapp_core.plan.sql_operators.relations import backquoted
from streamapp_core.schema import Schema
from streamapp_core.spec.base import format_duration
from streamapp_core.spec.streams import EventTime, KeyFormat, StreamFormat
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.inference.sampled_times import SampledTimes, find_event_times
from streamapp_runtime.inference.source_sample import SourceSample
from streamapp_runtime.inference.topic_sample import find_key

_WHOLE = (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT)
_GROUPS = (TypeKind.STRING, *_WHOLE, TypeKind.BOOLEAN, TypeKind.DATE)
"""The types of columns that rows are grouped by, those that are taken first before others."""
_MEASURES = (TypeKind.DOUBLE, TypeKind.DECIMAL, TypeKind.FLOAT)
_NO_MEASURES = {"id", "lat", "lon", "lng", "latitude", "longitude", "x", "y", "zip", "code", "year"}
_IDLE = "1m"
_HOUR = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Operators, the format of what they give, and what an output of theirs needs beside a system."""

    operators: tuple[Mapping[str, Any], ...]
    output: Mapping[str, Any]


def draft_apps(sample: SourceSample, app: str) -> Iterator[Draft]:
    """Yield apps that read a source, the most telling one first: a later one is for who refuses those before it."""
    times = find_event_times(sample)
    key = find_key(sample) if sample.keys else None
    name = label_of(sample.label)
    update: dict[str, Any] = {}
    remarks = {field: list(texts) for field, texts in sample.remarks.items()}
    remarks[""] += _unreadable(sample)
    remarks["schema"] = list(_columns(sample))
    absent = remarks["absent"] = []
    if isinstance(key, tuple):
        sample = _with_key_type(sample, *key)
        update |= {"key": key[0]} if key[1] is KeyFormat.STRING else {"key": key[0], "key_format": key[1]}
        remarks["key"] = [f"The key of all records in the sample is their `{key[0]}`, in the partition of its hash."]
    elif key is not None:
        absent.append(f"No key: {key}.")
    if times is None:
        absent.append(_no_event_time(sample))
    else:
        update["event_time"] = _event_time(times, sample)
        remarks["eventTime"] = _time_remarks(times, sample)
    stream = sample.stream.model_copy(update=update)
    by_time = times is not None or sample.system.kind is SystemKind.KAFKA
    for step in _steps(sample, app, name, times, key[0] if isinstance(key, tuple) else None, by_time=by_time):
        yield Draft(
            app=app,
            stream_name=name,
            system=sample.system,
            stream=stream,
            schema=sample.schema,
            operators=(*step.operators, {"name": "sent", "from": step.operators[-1]["name"], "sendTo": "results"}),
            output=step.output,
            remarks=remarks,
        )


def _with_key_type(sample: SourceSample, key: str, form: KeyFormat) -> SourceSample:
    """Return a sample whose key has the type of its binary form: that of four bytes is no bigint."""
    if form is not KeyFormat.INT:
        return sample
    columns = [Column(key, INT) if column.name == key else column for column in sample.schema.columns]
    schema = Schema(tuple(columns))
    stream = sample.stream.model_copy(update={"stream_schema": str(schema)})
    return replace(sample, schema=schema, stream=stream)


def _event_time(times: SampledTimes, sample: SourceSample) -> EventTime:
    given = {"column": times.path}
    if times.bound:
        given["maxOutOfOrderness"] = format_duration(times.bound)
    if any(not len(rows) for rows in sample.rows) and not sample.bounded:
        given["idleTimeout"] = _IDLE
    return EventTime.model_validate(given)


def _time_remarks(times: SampledTimes, sample: SourceSample) -> list[str]:
    order = (
        "in order: if later rows are not, say by how much (`maxOutOfOrderness: 10s`), or they are late"
        if not times.disorder
        else f"up to {times.disorder / 1_000:,.3f} s behind rows before them in their partition; twice that, rounded "
        "up, is waited for"
    )
    remarks = [f"The times of the {times.rows:,} sampled rows are {order}."]
    if times.missing:
        remarks.append(f"{times.missing:,} rows have none: windows leave such rows out, and count them.")
    if not sample.bounded and any(not len(rows) for rows in sample.rows):
        remarks.append(f"A partition has no rows: without rows for {_IDLE}, the others go on without it.")
    return remarks


def _no_event_time(sample: SourceSample) -> str:
    if sample.system.kind is SystemKind.KAFKA:
        return "No eventTime: no column has times, so those of the records themselves count."
    return "No eventTime: no column has timestamps (or a name of a time, and milliseconds since 1970)."


def _unreadable(sample: SourceSample) -> Iterator[str]:
    if sample.unreadable:
        yield (
            f"{len(sample.unreadable):,} of the sampled records can't be read with any columns, and end the app: mend "
            "them, or leave such records out and count them with `job: {onError: skip}` (docs/formats.md). The first: "
            f"{sample.unreadable[0]}"
        )


def _columns(sample: SourceSample) -> Iterator[str]:
    empty = [
        column.name
        for column in sample.schema.columns
        if all(rows.column(column.name).null_count == len(rows) for rows in sample.rows)
    ]
    if empty:
        yield f"Without any value in the sample, so their types are guessed: {', '.join(empty)}."
    if sample.left_out:
        yield f"Left out, as no column can have their names or values: {', '.join(sample.left_out)}."


def _steps(
    sample: SourceSample, app: str, name: str, times: SampledTimes | None, key: str | None, *, by_time: bool
) -> Iterator[_Step]:
    group = key or _group(sample, times)
    if group is not None:
        first = [] if key else [{"name": "by-key", "from": name, "partitionBy": {"key": group}}]
        source = first[-1]["name"] if first else name
        select = _aggregates(sample, group, times)
        if by_time:
            size = format_duration(_HOUR if times is None else times.window)
            window = {"tumbling": size, "by": [group], "select": select}
            yield _Step(
                operators=(*first, {"name": "counted", "from": source, "window": window}),
                output=_output(sample, app, flat=True),
            )
        aggregate = {"by": [group], "select": select}
        changes = {"changes": "final"} if sample.bounded else {"key": group}
        yield _Step(
            operators=(*first, {"name": "counted", "from": source, "aggregate": aggregate}),
            output={**_output(sample, app, flat=True), **changes},
        )
    some = backquoted(sample.schema.columns[0].name)
    flat = not any(column.type.nested or column.type.kind is TypeKind.VARIANT for column in sample.schema.columns)
    yield _Step(
        operators=({"name": "chosen", "from": name, "filter": f"{some} is not null"},),
        output=_output(sample, app, flat=flat),
    )


def _output(sample: SourceSample, app: str, *, flat: bool) -> Mapping[str, Any]:
    """Return where results go: files of a bounded app, else a stream of the log, which `streamapp peek` shows."""
    if not sample.bounded:
        return {"system": "log", "partitions": 1}
    return {
        "system": "results",
        "name": f"results/{app}",
        "format": str(StreamFormat.CSV if flat else StreamFormat.JSON),
    }


def _group(sample: SourceSample, times: SampledTimes | None) -> str | None:
    """Return the column that divides the sample into the fewest groups, texts first; None if none has several rows."""
    counted = []
    for place, column in enumerate(sample.schema.columns):
        if column.type.kind not in _GROUPS or (times is not None and column.name == times.path):
            continue
        values = _values(sample, column)
        groups = pc.count_distinct(values).as_py()
        if 1 < groups <= len(values) // 2 and not (column.type.kind in _WHOLE and names_a_time(column.name)):
            counted.append((_GROUPS.index(column.type.kind), groups, place, column.name))
    return min(counted)[-1] if counted else None


def _aggregates(sample: SourceSample, group: str, times: SampledTimes | None) -> str:
    taken = {group.lower(), "window_start", "window_end"}
    measure = next((column for column in sample.schema.columns if _is_measure(column, group, times)), None)
    found = [("count(*)", "rows")]
    if measure is not None:
        found.append((f"avg({backquoted(measure.name)})", "mean"))
    return ", ".join(f"{call} as {_unused(name, taken)}" for call, name in found)


def _is_measure(column: Column, group: str, times: SampledTimes | None) -> bool:
    other = column.name != group and (times is None or column.name != times.path)
    return other and column.type.kind in _MEASURES and words_of(column.name).isdisjoint(_NO_MEASURES)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _values(sample: SourceSample, column: Column) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for rows in sample.rows for chunk in rows.column(column.name).chunks] or [[]])
