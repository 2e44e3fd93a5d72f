"""Writes orders and payments while everything dies: one thread with two producers.

Records of even keys are written in transactions, of which some are aborted; the others by an idempotent producer, also
while a transaction is open. One producer writes all records of a key, so they lie in their order.
"""

import json
import threading
from collections import Counter
from dataclasses import dataclass
from functools import partial
from random import Random

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from chaos.shop_app import ORDER_PARTITIONS, OUTPUT_PARTITIONS, OUTPUTS, PAYMENT_PARTITIONS
from chaos.shop_records import KEYS, LATENESS, SESSION, TICK, TUMBLING, Record, encode, partition_of
from support.waiting import eventually

_PAID = 0.25
"""This share of the records are payments."""
_ABORTED = 0.2
_BATCHES, _BATCH = 4, 40
"""A transaction has at most so many batches, of so many records."""
_SLOWER = 5
_START = 3_600_000
_ANSWER = 10.0
_MAKING = 60.0


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What Kafka has said of the records: `certain` are there, `impossible` are not; and the last order of each key."""

    certain: frozenset[int]
    impossible: frozenset[int]
    last: dict[int, int]


class ShopFeed:
    """Makes the topics, which begin with a prefix, then writes: `with ShopFeed(...) as feed:`."""

    def __init__(self, brokers: str, prefix: str, random: Random, rate: float) -> None:
        """Take the addresses of brokers, and how many records a second to write."""
        self._prefix = prefix
        self._random = random
        self._pause = _BATCH / rate
        self._settings = {"bootstrap.servers": brokers, "log_level": 2, "reconnect.backoff.max.ms": 1000}
        self._admin = AdminClient(self._settings)
        self.fates: Counter[str] = Counter()
        """How transactions ended: committed, aborted, unknown."""
        self.partitions = ORDER_PARTITIONS
        self._counts = {"idempotent": self.partitions, "transactional": self.partitions}
        self._certain: set[int] = set()
        self._impossible: set[int] = set()
        self._last: dict[int, int] = {}
        self.written = 0
        """How many records were written, also in transactions that were aborted."""
        self._at = _START
        self._limit: int | None = None
        self._ended, self._abandoned = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self._make_topics()
        self._idempotent = self._open_idempotent()
        self._transactional = self._open_transactional()

    def __enter__(self) -> "ShopFeed":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._abandoned.set()
        self._ended.set()
        self._thread.join()

    def confirmed(self) -> Confirmed:
        """Return what Kafka has said so far.

        Raises:
            RuntimeError: nothing is written any more.
        """
        if self._failure:
            raise RuntimeError(f"the feed has ended: {self._failure!r}") from self._failure
        with self._lock:
            return Confirmed(frozenset(self._certain), frozenset(self._impossible), dict(self._last))

    def grow(self, partitions: int) -> None:
        """Add partitions to the orders; one producer uses them at once, the other one some transactions later.

        Event time goes on by less than `LATENESS` until `grown` is called: rows that are in new partitions before the
        app knows of these are not late.
        """
        self._limit = self._at + LATENESS // 2
        topic = self._topic("orders")
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(timeout=_MAKING)
        self._wait_for(
            lambda: len(self._admin.list_topics(topic, timeout=_ANSWER).topics[topic].partitions) == partitions
        )
        self.partitions = partitions

    def grown(self) -> None:
        """Let event time go on as it did before the growth."""
        self._limit = None

    def finish(self) -> int:
        """End the writing; the last records complete all results before the watermark that is returned."""
        self._ended.set()
        self._thread.join()
        self.confirmed()
        self._at += LATENESS + TUMBLING + SESSION
        first = self._at
        self._write_idempotently([(stream, key) for key in range(KEYS) for stream in ("orders", "payments")])
        return first - LATENESS

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self._learn()
                self._transact(self._random.randint(1, _BATCHES), commit=self._random.random() >= _ABORTED)
        except Exception as error:  # noqa: BLE001 - `confirmed` raises it
            self._failure = error

    def _learn(self) -> None:
        """Use the partitions that there are: the idempotent producer at once, the other one at some time later."""
        if self._counts["idempotent"] != self.partitions:
            self._idempotent = self._open_idempotent()
            self._counts["idempotent"] = self.partitions
        elif self._counts["transactional"] != self.partitions and self._random.random() < 1 / _BATCHES:
            self._transactional = self._open_transactional()
            self._counts["transactional"] = self.partitions

    def _transact(self, batches: int, *, commit: bool) -> None:
        inside: list[tuple[str, Record]] = []
        try:
            self._transactional.begin_transaction()
            for _ in range(batches):
                lanes = self._next_lanes()
                for stream, key in (lane for lane in lanes if lane[1] % 2 == 0):
                    record = self._produce(self._transactional, "transactional", stream, key)
                    inside.append((stream, record))
                self._write_idempotently([lane for lane in lanes if lane[1] % 2])
                if self._ended.wait(self._pause * (_SLOWER if self._limit else 1)):
                    break
        except KafkaException:
            commit = False
        fate = self._end_transaction(commit=commit)
        self.fates[fate] += 1
        for stream, record in inside:
            if fate == "committed":
                self._confirm(stream, record, None, None)
        if fate == "aborted":
            with self._lock:
                self._impossible.update(record.number for _, record in inside)

    def _next_lanes(self) -> list[tuple[str, int]]:
        """Choose streams and keys of the next records."""
        count = _BATCH if self._limit is None else max(0, min(_BATCH, (self._limit - self._at) // TICK))
        return [
            ("payments" if self._random.random() < _PAID else "orders", self._random.randrange(KEYS))
            for _ in range(count)
        ]

    def _produce(self, producer: Producer, kind: str, stream: str, key: int) -> Record:
        self.written += 1
        self._at += TICK
        record = Record(key=key, number=self.written, value=self._random.randrange(100), at=self._at)
        partition = partition_of(key, self._counts[kind] if stream == "orders" else PAYMENT_PARTITIONS)
        told = partial(self._confirm, stream, record) if kind == "idempotent" else None
        producer.produce(self._topic(stream), encode(record), str(key), partition, on_delivery=told)
        return record

    def _write_idempotently(self, lanes: list[tuple[str, int]]) -> None:
        """Write records and wait until Kafka has them, however long it is away."""
        for lane in lanes:
            self._produce(self._idempotent, "idempotent", *lane)
        while self._idempotent.flush(1) and not self._abandoned.is_set():
            pass

    def _confirm(self, stream: str, record: Record, error: object, _: object) -> None:
        if error is not None:
            self._failure = RuntimeError(f"{record}: {error}")
            return
        with self._lock:
            self._certain.add(record.number)
            if stream == "orders":
                self._last[record.key] = record.number

    def _end_transaction(self, *, commit: bool) -> str:
        """End the transaction, however long that takes; return how it ended."""
        asked = commit
        while not self._abandoned.is_set():
            try:
                (self._transactional.commit_transaction if commit else self._transactional.abort_transaction)(_ANSWER)
            except KafkaException as failed:
                error = failed.args[0]
                if error.retriable():
                    continue
                if commit and error.txn_requires_abort():
                    commit = False
                    continue
                self._transactional = self._open_transactional()
                return "unknown" if asked else "aborted"
            return "committed" if commit else "aborted"
        return "unknown"

    def _open_idempotent(self) -> Producer:
        return Producer({**self._settings, "enable.idempotence": True, "message.timeout.ms": 0})

    def _open_transactional(self) -> Producer:
        """Open a producer; what an earlier one has left unfinished is aborted then."""
        producer = Producer({**self._settings, "transactional.id": f"{self._prefix}-feed"})
        self._wait_for(partial(_initialized, producer))
        return producer

    def _wait_for(self, fact) -> None:
        assert eventually(lambda: self._abandoned.is_set() or fact(), 600, 0.2)

    def _make_topics(self) -> None:
        counts = {"orders": self.partitions, "payments": PAYMENT_PARTITIONS, "names": 1}
        counts |= dict.fromkeys(OUTPUTS, OUTPUT_PARTITIONS)
        forever = {"retention.ms": "-1"}
        topics = [NewTopic(self._topic(stream), count, config=forever) for stream, count in counts.items()]
        for made in self._admin.create_topics(topics).values():
            made.result(timeout=_MAKING)
        names = self._open_idempotent()
        for key in range(KEYS):
            names.produce(self._topic("names"), json.dumps({"k": key, "name": f"name {key}"}), str(key))
        assert names.flush(_MAKING) == 0

    def _topic(self, stream: str) -> str:
        return f"{self._prefix}.{stream}"


def _initialized(producer: Producer) -> bool:
    try:
        producer.init_transactions(_ANSWER)
    except KafkaException as failed:
        if failed.args[0].fatal():
            raise
        return False
    return True
