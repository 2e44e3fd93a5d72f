"""What this release runs. The rest of the spec is planned and checked, and refused here with its place."""

from collections.abc import Iterator

from streamapp_core.plan.model import Plan
from streamapp_core.spec.streams import KeyFormat, StartFrom, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.errors import NotSupported

_LONGEST_TRANSACTION = 10_000


def check_supported(plan: Plan) -> None:
    """Refuse an accepted plan that needs what this release lacks, all of it at once.

    Raises:
        NotSupported: something is missing; the message lists path and feature.
    """
    missing = [*_streams(plan), *_operators(plan), *_job(plan)]
    if missing:
        raise NotSupported("this release can't run:\n" + "\n".join(f"  {line}" for line in sorted(missing)))


def _streams(plan: Plan) -> Iterator[str]:
    for stream in plan.streams.values():
        path = f"spec.streams.{stream.name}"
        if stream.spec is not None and stream.system_kind is not SystemKind.FILE:
            yield from _messages(path, stream.spec)


def _messages(path: str, spec: StreamSpec) -> Iterator[str]:
    if spec.format is not StreamFormat.JSON:
        yield f"{path}.format: messages that are not json"
    if spec.key_format is not KeyFormat.STRING:
        yield f"{path}.keyFormat: binary keys (string only)"
    if spec.start_from is not StartFrom.EARLIEST:
        yield f"{path}.startFrom: reading from the end (earliest only)"
    if spec.control_messages:
        yield f"{path}.controlMessages: intermediate streams of other apps"


def _operators(plan: Plan) -> Iterator[str]:
    for index, declared in enumerate(plan.app.spec.operators):
        path = f"spec.operators[{index}]"
        if declared.partition_by is not None and declared.partition_by.stream is not None:
            yield f"{path}.partitionBy.stream: streams shared with other apps"


def _job(plan: Plan) -> Iterator[str]:
    on_kafka = plan.app.spec.systems[plan.default_system].kind is SystemKind.KAFKA
    if on_kafka and plan.app.spec.job.commit_interval > _LONGEST_TRANSACTION:
        yield "spec.job.commitInterval: transactions of Kafka longer than 10s (brokers abort them after 15s)"
