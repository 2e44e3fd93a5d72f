"""The time of a restart until the first record, with little and much state, and of a full restore.

One processor in this process, without Spark. A key's state is about a kilobyte.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_load import PARTITIONS, make_topics, partitions_of
from benchmarks.kafka_ours import head
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import Drained
from streamapp_runtime.hosts.in_process_host import InProcessHost

MEGABYTES = (10, 100, 1_000)
RESTARTS = 11
_BATCH = 5_000
_KILOBYTE = 1_000
_TIMEOUT_SECONDS = 1_800.0


class App:
    """The last text of each key; what goes out is only how often the key came."""

    def __init__(self, servers: str, folder: Path, name: str) -> None:
        self._servers = servers
        self._topic, self._output = f"{name}-in", f"{name}-out"
        spec: dict[str, Any] = {
            "systems": {"kafka": {"kafka": {"bootstrapServers": servers}}},
            "defaultSystem": "kafka",
            "streams": {
                "texts": {"system": "kafka", "name": self._topic, "schema": "id string, text string", "key": "id"},
                "out": {"system": "kafka", "name": self._output, "key": "id"},
            },
            "operators": [
                {"name": "kept", "from": "texts", "aggregate": {"by": ["id"], "select": "count(*) n, max(text) text"}},
                {"name": "counted", "from": "kept", "map": "id, n"},
                {"name": "asked", "from": "counted", "filter": "n > 1"},
                {"name": "sent", "from": "asked", "sendTo": "out"},
            ],
            "processors": {"count": 1},
            "job": {"commitInterval": "100ms"},
        }
        self.state = folder / name
        self._request = RunRequest(text=head(name, spec), folder=folder, state=self.state, fresh=False, run_id="r1")
        make_topics(servers, self._topic, self._output)

    def send(self, keys: int) -> None:
        """Write a text for each of so many keys."""
        producer = Producer({"bootstrap.servers": self._servers, "compression.type": "lz4"})
        for start in range(0, keys, _BATCH):
            ids = [b"%09d" % number for number in range(start, min(start + _BATCH, keys))]
            for key, partition in zip(ids, partitions_of(ids).tolist(), strict=True):
                text = os.urandom(_KILOBYTE // 2).hex().encode()
                producer.produce(self._topic, b'{"id":"%b","text":"%b"}' % (key, text), key, partition)
            producer.flush()

    @contextmanager
    def running(self, looks: list[Summary]) -> Iterator[None]:
        """Run the app until the end of the block, then stop it after a last commit."""
        stop = threading.Event()

        def run() -> None:
            with suppress(Drained):
                run_app(self._request, lambda channel, *_: InProcessHost(channel), looks.append, drain=stop.is_set)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def build(self, keys: int) -> None:
        """Read a text of each key."""
        self.send(keys)
        looks: list[Summary] = []
        with self.running(looks):
            _until(lambda: bool(looks) and sum(stream.read for stream in looks[-1].streams) >= keys)

    def restart(self) -> tuple[float, Summary]:
        """Start again with one record waiting; give the seconds until its result is visible, and the last summary."""
        ends = self._ends()
        self.send(1)
        looks: list[Summary] = []
        began = time.monotonic()
        with self.running(looks):
            _until(lambda: self._ends() > ends)
            seconds = time.monotonic() - began
            _until(lambda: bool(looks))
        return seconds, looks[-1]

    def _ends(self) -> int:
        consumer = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "ends", "isolation.level": "read_committed"}
        )
        places = [TopicPartition(self._output, partition) for partition in range(PARTITIONS)]
        ends = sum(consumer.get_watermark_offsets(place)[1] for place in places)
        consumer.close()
        return ends


def _until(true: Any) -> None:  # noqa: ANN401
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not true():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.005)


def main() -> None:
    with Broker(kafka_jars(default_cache())) as broker, tempfile.TemporaryDirectory() as folder:
        for megabytes in MEGABYTES:
            measure(broker.bootstrap_servers, Path(folder), megabytes)


def measure(servers: str, folder: Path, megabytes: int) -> None:
    """Print what one size of state takes."""
    app = App(servers, folder, f"state-{megabytes}")
    app.build(megabytes * 1_000_000 // _KILOBYTE)
    again = median(app.restart()[0] for _ in range(RESTARTS))
    shutil.rmtree(app.state / "state")
    seconds, summary = app.restart()
    restored = summary.state.records
    load = os.getloadavg()[0]
    print(
        f"{megabytes:>5} MB: first record after {again:.2f} s (median of {RESTARTS}); with state rebuilt from "
        f"{restored:,} records {seconds:.1f} s, {restored / seconds:,.0f} rows/s; load {load:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
