"""Requests to the brokers of apps, and their answers. They are answered in a process of their own.

What a hostile broker, or a client's bug, does to such a process is one request's error. Answers come back as JSON, not
as objects: nothing that such a process sends can run code here.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from pydantic import TypeAdapter

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import JobModelTooNewError, JobModelUnreadableError
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.coordinator_stream import CoordinatorReader
from streamapp_systems.kafka import Cluster, KafkaAdmin, KafkaConsumer
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


@dataclass(frozen=True, slots=True, kw_only=True)
class CountPartitions:
    """A request for the partition counts of topics; those that do not exist are absent from the answer."""

    cluster: Cluster
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBackup:
    """A request for the newest job model, and its driver's epoch, in a coordinator stream."""

    cluster: Cluster
    stream: StreamDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopics:
    """A request to delete all topics whose names begin with a prefix."""

    cluster: Cluster
    prefix: str


BrokerRequest = CountPartitions | ReadBackup | DeleteTopics


class ErrorKind(StrEnum):
    """The kinds of errors that an answer may have."""

    SYSTEM = "StreamSystemError"
    UNREADABLE = "JobModelUnreadableError"
    TOO_NEW = "JobModelTooNewError"


_ERRORS: Mapping[ErrorKind, type[Exception]] = {
    ErrorKind.SYSTEM: StreamSystemError,
    ErrorKind.TOO_NEW: JobModelTooNewError,
    ErrorKind.UNREADABLE: JobModelUnreadableError,
}
"""The first that an error is an instance of is its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAnswer:
    """The answer to a request: what it asks for, or an error. A backup that does not exist has neither part."""

    counts: Mapping[str, int] | None = None
    model: JobModel | None = None
    epoch: int | None = None
    error: str | None = None
    error_kind: ErrorKind = ErrorKind.SYSTEM


AskBrokers = Callable[[str, BrokerRequest], BrokerAnswer]
"""Sends a request of a namespace's app to its brokers, and returns the answer; it raises as `read_answer` does."""

_answers = TypeAdapter(BrokerAnswer)


def answer_request(request: BrokerRequest) -> bytes:
    """Answer a request, with the brokers; errors are answers. It is called in a process of its own."""
    try:
        answer = _answer(request)
    except (StreamSystemError, JobModelUnreadableError) as error:
        kind = next(kind for kind, known in _ERRORS.items() if isinstance(error, known))
        answer = BrokerAnswer(error=str(error), error_kind=kind)
    return _answers.dump_json(answer)


def read_answer(data: bytes) -> BrokerAnswer:
    """Read an answer.

    Raises:
        StreamSystemError, JobModelUnreadableError, JobModelTooNewError: the answer is this error.
        ValueError: it is no answer.
    """
    answer = _answers.validate_json(data)
    if answer.error is not None:
        raise _ERRORS[answer.error_kind](answer.error)
    return answer


def _answer(request: BrokerRequest) -> BrokerAnswer:
    cluster = request.cluster
    with closing(KafkaAdmin(cluster)) as admin:
        match request:
            case CountPartitions(topics=topics):
                return BrokerAnswer(counts=admin.partitions([_describe_topic(cluster, topic) for topic in topics]))
            case ReadBackup(stream=stream):
                reader = CoordinatorReader(stream, admin, lambda: KafkaConsumer(cluster, [stream]))
                newest, model = reader.newest(), reader.job_model()
                return BrokerAnswer(model=model, epoch=None if newest is None else newest.epoch)
            case DeleteTopics(prefix=prefix):
                admin.delete([_describe_topic(cluster, topic) for topic in admin.beginning_with(prefix)])
                return BrokerAnswer()
            case _:
                assert_never(request)


def _describe_topic(cluster: Cluster, topic: str) -> StreamDescriptor:
    """Return the descriptor of a topic whose records are not read: its format does not matter."""
    return StreamDescriptor(name=topic, system=cluster.name, address=topic, format=StreamFormat.JSON)
