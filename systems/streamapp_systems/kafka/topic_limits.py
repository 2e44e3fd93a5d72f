"""The limits that topics set to their records."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import ConfigResource, ResourceType

from streamapp_systems.kafka.admin_requests import AdminRequests, seconds_left
from streamapp_systems.kafka.kafka_errors import MISSING
from streamapp_systems.kafka.missing_rights import on_topic
from streamapp_systems.protocols import RecordLimits, StreamDescriptor

_NO_LIMIT = (1 << 63) - 1


def read_record_limits(requests: AdminRequests, streams: Sequence[StreamDescriptor]) -> Mapping[str, RecordLimits]:
    """Return the limits of these streams' topics, those that exist, by stream; see `KafkaAdmin.record_limits`."""
    deadline = requests.deadline()

    def ask(topics: Sequence[str]) -> Mapping[str, Future[Any]]:
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        asked = requests.client.describe_configs(resources, request_timeout=seconds_left(deadline))
        return {resource.name: future for resource, future in asked.items()}

    answers, errors = requests.request(ask, sorted({stream.address for stream in streams}), deadline)
    for topic, error in errors.items():
        if error.code() not in MISSING:
            requests.fail(f"the settings of topic {topic} can't be read", error, on_topic("DescribeConfigs", topic))
    limits = {topic: _limits({name: entry.value for name, entry in found.items()}) for topic, found in answers.items()}
    return {stream.name: limits[stream.address] for stream in streams if stream.address in limits}


def _limits(settings: Mapping[str, str | None]) -> RecordLimits:
    by_broker = settings.get("message.timestamp.type") == "LogAppendTime"
    return RecordLimits(
        before=None if by_broker else _limit(settings.get("message.timestamp.before.max.ms")),
        after=None if by_broker else _limit(settings.get("message.timestamp.after.max.ms")),
        needs_key="compact" in (settings.get("cleanup.policy") or "").split(","),
    )


def _limit(text: str | None) -> int | None:
    return None if text is None or int(text) == _NO_LIMIT else int(text)
