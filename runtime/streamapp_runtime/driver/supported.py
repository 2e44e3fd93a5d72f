"""What this release runs. The rest of the spec is planned and checked, and refused here with its place."""

from collections.abc import Iterator

from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import KeyFormat, StartFrom, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.errors import NotSupported

_OPERATORS = {
    OperatorKind.JOIN: "joins of two streams",
}
_LONGEST_TRANSACTION = 10_000


def check_supported(plan: Plan) -> None:
    """Refuse an accepted plan that needs what this release lacks, all of it at once.

    Raises:
        NotSupported: something is missing; the message lists path and feature.
    """
    missing = [*_streams(plan), *_tables(plan), *_operators(plan), *_job(plan)]
    if missing:
        raise NotSupported("this release can't run:\n" + "\n".join(f"  {line}" for line in sorted(missing)))


def _streams(plan: Plan) -> Iterator[str]:
    for stream in plan.streams.values():
        path = f"spec.streams.{stream.name}"
        if stream.spec is not None and stream.system_kind is not SystemKind.FILE:
            yield from _messages(path, stream.role, stream.spec)


def _messages(path: str, role: StreamRole, spec: StreamSpec) -> Iterator[str]:
    if role is StreamRole.SIDE_INPUT:
        yield f"{path}.system: side inputs from logs and topics (files only)"
    if spec.format is not StreamFormat.JSON:
        yield f"{path}.format: messages that are not json"
    if spec.key_format is not KeyFormat.STRING:
        yield f"{path}.keyFormat: binary keys (string only)"
    if spec.start_from is not StartFrom.EARLIEST:
        yield f"{path}.startFrom: reading from the end (earliest only)"
    if spec.control_messages:
        yield f"{path}.controlMessages: intermediate streams of other apps"


def _tables(plan: Plan) -> Iterator[str]:
    for table in plan.tables.values():
        path = f"spec.tables.{table.name}"
        if not table.spec.bootstrap:
            yield f"{path}.bootstrap: tables that fill while they are joined (bootstrap: true only)"
        if table.spec.extractor is not None:
            yield f"{path}.extractor: Python functions"


def _operators(plan: Plan) -> Iterator[str]:
    for index, declared in enumerate(plan.app.spec.operators):
        path = f"spec.operators[{index}]"
        if declared.kind in _OPERATORS:
            yield f"{path}: {_OPERATORS[declared.kind]}"
        if declared.process is not None and declared.process.state is not None:
            yield f"{path}.process.state: Python functions that keep state"
        if declared.window is not None and declared.window.tumbling is None:
            yield f"{path}.window: sliding and session windows (tumbling only)"
        if declared.partition_by is not None and declared.partition_by.stream is not None:
            yield f"{path}.partitionBy.stream: streams shared with other apps"


def _job(plan: Plan) -> Iterator[str]:
    on_kafka = plan.app.spec.systems[plan.default_system].kind is SystemKind.KAFKA
    if on_kafka and plan.app.spec.job.commit_interval > _LONGEST_TRANSACTION:
        yield "spec.job.commitInterval: transactions of Kafka longer than 10s (brokers abort them after 15s)"
