"""The features that this release runs: the one list of what is refused although a spec may say it (docs/planner.md)."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.check_avro import check_avro
from streamapp_core.plan.check_avro_keys import check_avro_keys
from streamapp_core.plan.check_change_streams import check_change_streams
from streamapp_core.plan.check_database_tables import check_database_tables
from streamapp_core.plan.check_folder_columns import check_folder_columns
from streamapp_core.plan.check_growing_files import check_growing_files, check_tables, no_versions
from streamapp_core.plan.check_nested_columns import check_nested_columns
from streamapp_core.plan.check_positions import check_positions
from streamapp_core.plan.check_protobuf import check_protobuf
from streamapp_core.plan.check_spark_outputs import check_spark_outputs
from streamapp_core.plan.check_spark_sources import check_spark_sources
from streamapp_core.plan.check_stores import check_stores
from streamapp_core.plan.check_tables_written import check_tables_written
from streamapp_core.plan.check_value_formats import WHOLE_VALUES, check_value_formats
from streamapp_core.plan.check_variants import check_variants
from streamapp_core.plan.delivery import default_system
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import TypeKind
from streamapp_core.spec.streams import KeyFormat, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

FILE_FORMATS = (StreamFormat.CSV, StreamFormat.JSON, StreamFormat.PARQUET)
"""The formats of files."""
_MESSAGE_FORMATS = (StreamFormat.JSON, StreamFormat.AVRO, StreamFormat.PROTOBUF, StreamFormat.CSV, *WHOLE_VALUES)

_LONGEST_TRANSACTION = 10_000
_LINE_PARTS = '"\r\n'
_INTS = (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT)
_BINARY_KEYS = {KeyFormat.INT: _INTS, KeyFormat.LONG: (*_INTS, TypeKind.BIGINT)}


def check_supported(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find everything that the runtime can't do, so that an accepted app is one that runs."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None:
            continue
        if system.kind.holds_tables:
            yield from check_tables(graph, name, stream)
            yield from check_tables_written(graph, rows, name, stream)
        elif system.postgresql is not None:
            yield from check_database_tables(graph, rows, name, stream)
        elif system.spark is not None:
            yield from check_spark_sources(graph, rows, name, stream)
            yield from check_spark_outputs(graph, rows, name, stream)
        elif system.kind.holds_files:
            yield from _check_files(graph, name, stream)
        else:
            yield from _check_messages(graph, name, stream)
            yield from _check_binary_key(graph, rows, name, stream)
            yield from check_avro_keys(graph, rows, name, stream, system)
        if system.kind.grows:
            yield from check_growing_files(graph, name, stream)
        if not system.kind.holds_tables and stream.starting_version is not None:
            yield no_versions(name)
        yield from check_positions(graph, name, stream, system.kind)
        yield from _check_max_ahead(graph, name, stream, system.kind)
    yield from check_nested_columns(graph, rows)
    yield from check_variants(graph, rows)
    yield from check_value_formats(graph, rows)
    yield from check_folder_columns(graph, rows)
    yield from check_avro(graph, rows)
    yield from check_protobuf(graph, rows)
    yield from check_change_streams(graph, rows)
    yield from check_stores(graph)
    yield from _check_transactions(graph)


def _check_files(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    if stream.format not in FILE_FORMATS:
        yield _problem(
            f"spec.streams.{name}.format",
            f"files of `{name}` are csv, json or parquet, not {stream.format}",
            _set_format(name, StreamFormat.PARQUET) if name in graph.senders else None,
        )
    yield from _check_delimiter(name, stream)


def _check_delimiter(name: str, stream: StreamSpec) -> Iterator[Problem]:
    delimiter = stream.csv.delimiter
    if stream.format is StreamFormat.CSV and (not "\0" < delimiter <= "\x7f" or delimiter in _LINE_PARTS):
        yield _problem(
            f"spec.streams.{name}.csv.delimiter",
            f"{delimiter!r} can't delimit values: it is to be an ASCII character, and no quote or line break",
        )


def _check_messages(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    path = f"spec.streams.{name}"
    between_apps = (StreamFormat.JSON, StreamFormat.ARROW)
    if stream.format not in (between_apps if stream.control_messages else _MESSAGE_FORMATS):
        repair = _set_format(name, StreamFormat.JSON) if name in graph.senders else None
        known = "arrow" if stream.control_messages else "json, avro, protobuf, csv, text or raw"
        yield _problem(f"{path}.format", f"messages of `{name}` are {known}, not {stream.format}", repair)
    yield from _check_delimiter(name, stream)
    if stream.control_messages and stream.key_format is not KeyFormat.STRING:
        yield _problem(f"{path}.keyFormat", f"`{name}` is a stream between apps, and their keys are text (`string`)")
    if stream.control_messages and name in graph.senders:
        yield _problem(
            f"{path}.controlMessages",
            f"`{name}` is an output, and outputs have no control messages; `partitionBy.stream` writes such a stream",
        )


def _check_binary_key(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find keys that are no numbers of their format's width."""
    if stream.key is None or stream.key_format not in _BINARY_KEYS:
        return
    if len(stream.key_columns) > 1:
        yield _problem(
            f"spec.streams.{name}.keyFormat",
            f"the key of `{name}` has several columns, so it is text: a JSON object; leave `keyFormat` out",
        )
        return
    fitting = _BINARY_KEYS[stream.key_format]
    for schema in stream_schemas(graph, rows, name):
        column = schema.get(stream.key_columns[0])
        if column is not None and column.type.kind not in fitting:
            yield _problem(
                f"spec.streams.{name}.keyFormat",
                f"`{column.name}` is {column.type}, and {stream.key_format} keys are of columns that are "
                f"{' or '.join(fitting)}",
            )


def _check_max_ahead(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> Iterator[Problem]:
    """Find bounds of event times where no record has a time of its own, or nobody goes by event times."""
    if stream.event_time is None or stream.event_time.max_ahead is None:
        return
    if kind.holds_files:
        why = "rows of files have no other time to compare theirs with"
    elif name in graph.side_inputs:
        why = "it is a side input, whose event times move no watermark"
    elif stream.control_messages:
        why = "it is an intermediate stream of another app, which says itself how far event time has come"
    elif name in graph.senders:
        why = "it is an output"
    else:
        return
    pointer = f"/spec/streams/{name}/eventTime/maxAhead"
    yield _problem(
        f"spec.streams.{name}.eventTime.maxAhead",
        f"event times of `{name}` can't be bounded: {why}",
        Repair(
            text=f"remove `spec.streams.{name}.eventTime.maxAhead`",
            edits=(Edit(op="remove", pointer=pointer),),
        ),
    )


def _check_transactions(graph: Graph) -> Iterator[Problem]:
    default = default_system(graph.spec)
    system = None if default is None else graph.spec.systems.get(default)
    if system is None or system.kind is not SystemKind.KAFKA:
        return
    if graph.spec.job.commit_interval > _LONGEST_TRANSACTION:
        yield _problem(
            "spec.job.commitInterval",
            f"a commit is a transaction of Kafka (`{default}`), which brokers abort after 15s: at most 10s",
            Repair(
                text="set `spec.job.commitInterval` to 10s",
                edits=(Edit(op="replace", pointer="/spec/job/commitInterval", value="10s"),),
            ),
        )


def _set_format(name: str, form: StreamFormat) -> Repair:
    pointer = f"/spec/streams/{name}/format"
    return Repair(
        text=f"set `spec.streams.{name}.format` to `{form}`",
        edits=(Edit(op="replace", pointer=pointer, value=form.value),),
    )


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
