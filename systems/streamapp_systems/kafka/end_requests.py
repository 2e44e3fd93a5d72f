"""Requests for the ends of partitions, of which nobody waits for the answers."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import ListOffsetsResultInfo, OffsetSpec

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.admin_requests import AdminRequests
from streamapp_systems.kafka.client_config import Cluster

_ANSWER_SECONDS = 2.0
"""A leader that has not answered for so long has no answer. Those of other partitions wait for it."""

Position = Callable[[Ssp], int]
"""Returns the offset below which all records of a partition have been read."""


class EndRequests:
    """The client of these requests. Used by one thread."""

    def __init__(self, cluster: Cluster) -> None:
        """Create the client; nothing is requested yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._requests = AdminRequests(cluster)
        self._separate: frozenset[Ssp] = frozenset()
        """Partitions without an answer to the last request: they are asked for one by one, or others would wait."""

    def ask(self, asked: Mapping[Ssp, TopicPartition], position: Position) -> "PendingEnds":
        """Send the requests; see `Consumer.ask_ends`."""
        together = {ssp: at for ssp, at in asked.items() if ssp not in self._separate}
        alone = [{ssp: at} for ssp, at in asked.items() if ssp in self._separate]
        futures: dict[Ssp, Future[ListOffsetsResultInfo]] = {}
        for group in [together, *alone] if together else alone:
            found = self._requests.client.list_offsets(
                {TopicPartition(at.topic, at.partition): OffsetSpec.latest() for at in group.values()},
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=_ANSWER_SECONDS,
            )
            by_place = {(at.topic, at.partition): future for at, future in found.items()}
            futures |= {ssp: by_place[at.topic, at.partition] for ssp, at in group.items()}
        return PendingEnds(self, futures, position)

    def note_unanswered(self, ssps: frozenset[Ssp]) -> None:
        """Remember the partitions for which no answer came."""
        self._separate = ssps

    def close(self) -> None:
        """Release the connections."""
        self._requests.close()


class PendingEnds:
    """See `EndsAnswer`."""

    def __init__(
        self, requests: EndRequests, futures: Mapping[Ssp, Future[ListOffsetsResultInfo]], position: Position
    ) -> None:
        self._requests = requests
        self._futures = futures
        self._position = position
        self._until = time.monotonic() + 2 * _ANSWER_SECONDS

    def poll(self) -> Mapping[Ssp, bool] | None:
        """See `EndsAnswer.poll`."""
        if time.monotonic() < self._until and not all(future.done() for future in self._futures.values()):
            return None
        ends = {ssp: end for ssp, future in self._futures.items() if (end := _end(future)) is not None}
        self._requests.note_unanswered(frozenset(self._futures.keys() - ends.keys()))
        return {ssp: self._position(ssp) >= end for ssp, end in ends.items()}


def _end(future: "Future[ListOffsetsResultInfo]") -> int | None:
    """Return the end of a partition, None without an answer; where none came in time, the client has one below 0."""
    if not future.done():
        return None
    try:
        end = future.result().offset
    except KafkaException:
        return None
    return None if end < 0 else end
