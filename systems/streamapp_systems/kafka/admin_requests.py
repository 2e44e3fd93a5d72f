"""Requests of an admin client: repeated while their errors are transient, explained when they fail for good."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription

from streamapp_core.spec.kafka_client_settings import ClientKind
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_client import (
    Answer,
    Key,
    ask_until,
    ask_until_known,
    explained_settings,
    request_with_retry,
)
from streamapp_systems.kafka.kafka_errors import MISSING, TRANSIENT, ClientProblems
from streamapp_systems.kafka.missing_rights import NO_NEEDS, Needs, on_topic
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


class AdminRequests:
    """The client of one admin. Used by one thread; every request ends within the cluster's timeout."""

    def __init__(self, cluster: Cluster) -> None:
        """Create the client; nothing is requested yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self.cluster = cluster
        self._problems = ClientProblems(cluster)
        settings: dict[str, Any] = {**cluster.client(ClientKind.ADMIN), "error_cb": self._problems.note}
        with explained_settings(cluster):
            self.client = AdminClient(settings)

    def deadline(self) -> float:
        """Return until when a request that begins now may take, in seconds of the monotonic clock."""
        return time.monotonic() + self.cluster.timeout

    def request(
        self,
        ask: Callable[[Sequence[Key]], Mapping[Key, Future[Answer]]],
        keys: Sequence[Key],
        deadline: float,
        transient: frozenset[int] = TRANSIENT,
        error_in: Callable[[Answer], KafkaError | None] = lambda _: None,
    ) -> tuple[Mapping[Key, Answer], Mapping[Key, KafkaError]]:
        """Request all keys, as `request_with_retry` does."""
        answers, errors = request_with_retry(
            ask, keys, deadline, transient, permanent=self._permanent, error_in=error_in
        )
        if answers:
            self._problems.clear()
        return answers, errors

    def describe_expected(self, streams: Sequence[StreamDescriptor], deadline: float) -> Mapping[str, TopicDescription]:
        """Describe the topics of these streams, by topic; one that must be there is absent only if no broker knows it.

        Raises:
            StreamSystemError: the brokers can't be reached, or refuse.
        """
        topics = {stream.address for stream in streams}
        return ask_until_known(lambda: self._describe(topics, deadline), lambda found: found.keys() >= topics)

    def _describe(self, topics: Collection[str], deadline: float) -> Mapping[str, TopicDescription]:
        described, errors = self.request(
            lambda topics: self.client.describe_topics(
                TopicCollection(list(topics)), request_timeout=seconds_left(deadline)
            ),
            sorted(topics),
            deadline,
        )
        for topic, error in errors.items():
            if error.code() not in MISSING:
                self.fail(f"topic {topic} can't be described", error, on_topic("Describe", topic))
        return described

    def count(self, streams: Sequence[StreamDescriptor], deadline: float) -> Mapping[str, int]:
        """Count the partitions of these streams' topics, those that a broker knows now, by topic.

        Raises:
            StreamSystemError: the brokers can't be reached, or refuse.
        """
        described = self._describe({stream.address for stream in streams}, deadline)
        return {topic: len(description.partitions) for topic, description in described.items()}

    def await_counts(
        self, streams: Sequence[StreamDescriptor], deadline: float, done: str, expected: Callable[[int], bool]
    ) -> None:
        """Wait until the brokers report the expected counts of all these topics: they learn them one by one.

        Raises:
            StreamSystemError: they don't, or can't be reached.
        """
        topics = sorted({stream.address for stream in streams})

        def find_odd() -> list[str]:
            counts = self.count(streams, deadline)
            return [topic for topic in topics if not expected(counts.get(topic, 0))]

        if odd := ask_until(find_odd, lambda odd: not odd, deadline):
            raise StreamSystemError(
                f"{self.cluster}: {', '.join(odd)}: {done}, but the brokers don't show it. Try again"
            )

    def fail(self, what: str, error: KafkaError, needs: Needs = NO_NEEDS) -> NoReturn:
        """Explain an error of a request, which `needs` these rights.

        Raises:
            StreamSystemError: always.
        """
        self.client.poll(0)
        raise self._problems.explain(what, error, needs)

    def close(self) -> None:
        """Release the connections."""
        self.client.poll(0)
        del self.client

    def _permanent(self) -> bool:
        self.client.poll(0)
        return self._problems.permanent


def seconds_left(deadline: float) -> float:
    """Return the seconds until a deadline; as many as a request needs at the least."""
    return max(deadline - time.monotonic(), 0.1)
