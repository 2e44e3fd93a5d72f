"""The features that this release runs. The rest of the spec is planned and checked, and refused here with its path."""

from collections.abc import Iterator

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.schema import TypeKind
from streamapp_core.spec.streams import KeyFormat, StartFrom, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.errors import NotSupported

_LONGEST_TRANSACTION = 10_000
_BINARY_KEYS = {KeyFormat.INT: (TypeKind.INT,), KeyFormat.LONG: (TypeKind.INT, TypeKind.BIGINT)}


def check_supported(plan: Plan) -> None:
    """Refuse an accepted plan that needs what this release lacks, all of it at once.

    Raises:
        NotSupported: something is missing; the message lists path and feature.
    """
    missing = [*_streams(plan), *_job(plan)]
    if missing:
        raise NotSupported("this release can't run:\n" + "\n".join(f"  {line}" for line in sorted(missing)))


def _streams(plan: Plan) -> Iterator[str]:
    for stream in plan.streams.values():
        path = f"spec.streams.{stream.name}"
        if stream.spec is None:
            continue
        if stream.system_kind is not SystemKind.FILE:
            yield from _messages(path, stream.spec, stream.role)
            yield from _binary_key(path, stream, stream.spec.key_format)
        if stream.spec.start_from is StartFrom.LATEST and (why := _only_from_its_beginning(stream, stream.spec)):
            yield f"{path}.startFrom: {why} is read from its beginning (earliest only)"


def _only_from_its_beginning(stream: PlannedStream, spec: StreamSpec) -> str | None:
    if stream.role is StreamRole.SIDE_INPUT:
        return "a side input"
    if spec.bounded or stream.system_kind is SystemKind.FILE:
        return "a bounded stream"
    return "an intermediate stream of another app" if spec.control_messages else None


def _binary_key(path: str, stream: PlannedStream, form: KeyFormat) -> Iterator[str]:
    """Refuse keys that are no numbers of their format's width."""
    column = None if stream.key is None or stream.schema is None else stream.schema.get(stream.key)
    if form is not KeyFormat.STRING and column is not None and column.type.kind not in _BINARY_KEYS[form]:
        fitting = " or ".join(_BINARY_KEYS[form])
        yield f"{path}.keyFormat: {form} keys of a column that is {column.type} ({fitting} only)"


def _messages(path: str, spec: StreamSpec, role: StreamRole) -> Iterator[str]:
    if spec.format is not StreamFormat.JSON and not (spec.control_messages and spec.format is StreamFormat.ARROW):
        yield f"{path}.format: messages that are not json"
    if spec.key_format is not KeyFormat.STRING and spec.control_messages:
        yield f"{path}.keyFormat: binary keys in streams between apps (string only)"
    if spec.control_messages and role is StreamRole.OUTPUT:
        yield f"{path}.controlMessages: outputs with control messages (partitionBy.stream writes such a stream)"


def _job(plan: Plan) -> Iterator[str]:
    on_kafka = plan.app.spec.systems[plan.default_system].kind is SystemKind.KAFKA
    if on_kafka and plan.app.spec.job.commit_interval > _LONGEST_TRANSACTION:
        yield "spec.job.commitInterval: transactions of Kafka longer than 10s (brokers abort them after 15s)"
