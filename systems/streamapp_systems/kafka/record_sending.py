"""Hands records to a Kafka client, which sends them when it likes."""

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import TypeAlias

import numpy as np
from confluent_kafka import KafkaError, Message, Producer

from streamapp_systems.native.kafka_writing import produce_records
from streamapp_systems.protocols import SentRecords

OnDelivery: TypeAlias = Callable[[KafkaError | None, Message], None]


def send_records(
    producer: Producer, topic: str, partition: int, records: SentRecords, on_delivery: OnDelivery | None = None
) -> None:
    """Hand over records in their order; times before 1970, which Kafka does not know, become 1.

    Without `on_delivery`, which each record calls, the native library does it. What the client refuses there it is
    given again here, where it says why; so is all that follows.

    Raises:
        KafkaException, SystemError: the client refuses a record; it has those before it.
    """
    if len(records) > 1 and on_delivery is None:
        columns = {"keys": records.keys, "values": records.values, "timestamps": records.timestamps}
        records = records[produce_records(producer, topic, partition, **columns) :]
    if not len(records):
        return
    times = repeat(0) if records.timestamps is None else np.maximum(records.timestamps, 1).tolist()
    values, keys = records.values.to_pylist(), records.keys.to_pylist()
    # A loop in C, and no names of arguments: each would cost as much as the call.
    produce = partial(producer.produce, topic)
    deque(map(produce, values, keys, repeat(partition), repeat(on_delivery), repeat(None), times), maxlen=0)
