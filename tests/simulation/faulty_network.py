"""The network of a simulation: every message takes a while, and may be lost, late, or too late.

A request for which nobody waits any more, or whose sender is dead, still arrives.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulation.deterministic_scheduler import Scheduler, SimulatedThread
from simulation.kafka_requests import (
    Answer,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    EndTxn,
    InitProducerId,
    NoAnswer,
    Request,
    RequestError,
    TopicPartition,
)
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_coordinator import DueMarker
from simulation.simulated_process import EPOCH_MS, SimulatedProcess

REQUEST_SECONDS = 5.0
"""How long a client waits for an answer."""
MARKER_SECONDS = 0.02
"""The mean time until a marker is written, if nothing is wrong."""
_EXPIRY_SECONDS = 1.0
_UNASKED_SECONDS = 5.0
_CHANGING = (CreateTopic, CreatePartitions, DeleteTopic)
_SENT_FIRST = 0.2
"""The share of requests that are on their way before their process reaches the step at which it may die."""


class News(NamedTuple):
    """What was known of a partition: counts that rise when records become readable, and when (seconds)."""

    markers: int
    topics: int
    at: float


@dataclass(slots=True)
class _Call:
    """A request on its way: `answer` is set when the answer has arrived."""

    answer: Callable[[], Any] | None = None


class BrokerService:
    """A broker under the scheduler: it answers requests, and writes markers a while after they were decided."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.broker = SimulatedBroker()
        self.marker_seconds = MARKER_SECONDS
        """The mean time until a marker is written for one of the transactional ids that are slow."""
        self.is_slow: Callable[[str], bool] = lambda _: False
        self.markers: Counter[TopicPartition] = Counter()
        """How many markers each partition got: all records are in transactions, so only a marker makes any readable."""
        self.topic_changes = 0
        self.awaiting: dict[SimulatedThread, Collection[TopicPartition] | None] = {}
        """The threads that await news, each with the partitions of which it does; None: of all."""
        self._scheduler = scheduler
        self._planned: set[DueMarker] = set()
        self.after_end: Callable[[str], object] = do_nothing
        """Called with a transactional id when its transaction has been ended, and the markers are not written yet."""
        scheduler.at(_EXPIRY_SECONDS, self._expire)

    @property
    def now(self) -> int:
        """The broker's time of day in milliseconds."""
        return EPOCH_MS + round(1_000 * self._scheduler.now)

    def handle(self, request: Request[Answer]) -> Callable[[], Answer]:
        """Apply a request; return what gives or raises its answer."""
        try:
            answer = self.broker.handle(request, self.now)
        except (RequestError, NoAnswer) as error:
            return _raising(error)
        finally:
            if isinstance(request, EndTxn):
                self.after_end(request.transactional_id)
            if isinstance(request, EndTxn | InitProducerId):
                self.plan_markers()
            if isinstance(request, _CHANGING):
                self.topic_changes += 1
                self.tell()
        return lambda: answer

    def plan_markers(self) -> None:
        """Have the markers that are due written, each at its time."""
        for marker in self.broker.due_markers():
            if marker not in self._planned:
                self._planned.add(marker)
                mean = self.marker_seconds if self.is_slow(marker.transactional_id) else MARKER_SECONDS
                delay = self._scheduler.random.expovariate(1 / mean)
                self._scheduler.at(self._scheduler.now + delay, lambda marker=marker: self._write(marker))

    def _write(self, marker: DueMarker) -> None:
        self._planned.discard(marker)
        if marker in self.broker.due_markers():
            self.broker.write_marker(marker, self.now)
            self.markers[marker.partition] += 1
            self.tell(marker.partition)

    def tell(self, partition: TopicPartition | None = None) -> None:
        """Wake those that await news of a partition; None: all."""
        for thread, partitions in list(self.awaiting.items()):
            if partition is None or partitions is None or partition in partitions:
                del self.awaiting[thread]
                self._scheduler.wake(thread)

    def _expire(self) -> None:
        self.broker.abort_expired_transactions(self.now)
        self.plan_markers()
        self._scheduler.at(self._scheduler.now + _EXPIRY_SECONDS, self._expire)


def _raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class FaultyNetwork:
    """The way of one process to the broker: see `Network`."""

    def __init__(self, process: SimulatedProcess, service: BrokerService) -> None:
        self.cut_until = 0.0
        """Until when nothing gets through."""
        self.answers_lost_until = 0.0
        self.lost_share = 0.0
        """The share of answers that are lost until then."""
        self.late_until = 0.0
        """Until when the ends of transactions arrive late: after their sender has given them up."""
        self._process = process
        self._service = service
        self._scheduler = process.scheduler

    def call(self, request: Request[Answer]) -> Answer:
        """Return the broker's answer, as `Network.call` does."""
        scheduler, call = self._scheduler, _Call()
        what = type(request).__name__
        thread = scheduler.current

        def arrive() -> None:
            outcome = self._service.handle(request)
            scheduler.note(f"broker: {what} of {self._process.name}")
            lost = scheduler.now < self.answers_lost_until and scheduler.random.random() < self.lost_share
            if not lost and scheduler.now >= self.cut_until:
                scheduler.at(scheduler.now + self._latency(), lambda: receive(outcome))

        def receive(outcome: Callable[[], Any]) -> None:
            if not self._process.dead:
                call.answer = outcome
                scheduler.wake(thread)

        def send() -> None:
            arrival = scheduler.now + self._latency()
            if isinstance(request, EndTxn) and scheduler.now < self.late_until:
                arrival += REQUEST_SECONDS * scheduler.random.uniform(0.5, 2.5)
            if scheduler.now >= self.cut_until:
                scheduler.at(arrival, arrive)

        sent_first = scheduler.random.random() < _SENT_FIRST
        if sent_first:
            send()
        self._process.step(what)
        if not sent_first:
            send()
        deadline = scheduler.now + REQUEST_SECONDS
        while call.answer is None and scheduler.now < deadline:
            scheduler.wait(deadline)
        if call.answer is None:
            raise NoAnswer
        return call.answer()

    def news(self, partition: TopicPartition) -> News:
        """Return what is known of a partition now."""
        return News(self._service.markers[partition], self._service.topic_changes, self._scheduler.now)

    def has_news(self, partition: TopicPartition, known: News | None) -> bool:
        """Return whether there may be more to read since then; after a while the broker is asked in any case."""
        service = self._service
        return (
            known is None
            or service.markers[partition] != known.markers
            or service.topic_changes != known.topics
            or self._scheduler.now - known.at >= _UNASKED_SECONDS
        )

    def await_news(self, seconds: float, partitions: Collection[TopicPartition] | None = None) -> None:
        """Wait until the broker has news of these partitions, by default of any, or for so long."""
        thread = self._scheduler.current
        self._service.awaiting[thread] = partitions
        self._scheduler.wait(self._scheduler.now + seconds)
        self._service.awaiting.pop(thread, None)

    def tell(self) -> None:
        """Wake those that await news."""
        self._service.tell()

    def connection(self) -> int:
        """See `Network.connection`."""
        return self._service.broker.deaths

    def now(self) -> int:
        """Return the time of day of the process."""
        return self._process.time_of_day()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._scheduler.wait(self._scheduler.now + seconds)

    def _latency(self) -> float:
        return self._scheduler.random.expovariate(1_000) * self._process.slowness


def do_nothing(_: str) -> None: ...
