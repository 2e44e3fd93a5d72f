"""The timeline of a driver's restart on a cluster: what the API server and the driver's log say, and when rows came."""

import json
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise

from confluent_kafka import Consumer, TopicPartition

_POLL_SECONDS = 0.05


class Arrivals:
    """The times at which committed rows of a topic could be read."""

    def __init__(self, servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": str(uuid.uuid4()),
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
            }
        )
        partitions = self._consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = [TopicPartition(topic, number) for number in partitions]
        self._consumer.assign(
            [TopicPartition(topic, end.partition, self._consumer.get_watermark_offsets(end)[1]) for end in ends]
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.times: list[float] = []
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def gap(self, since: float) -> tuple[float, float]:
        """Return the longest gap from a time on: the last row before it, and the first one after it."""
        times = [since, *(found for found in self.times if found >= since)]
        return max(pairwise(times), key=lambda pair: pair[1] - pair[0], default=(since, since))

    def _read(self) -> None:
        while not self._ended.is_set():
            if any(message.error() is None for message in self._consumer.consume(1_000, _POLL_SECONDS)):
                self.times.append(time.time())


class PodWatch:
    """What the API server tells of the pods of a namespace, with the time at which it was told."""

    def __init__(self, cluster, namespace: str) -> None:
        command = [cluster.programs / "kubectl", "get", "pods", f"--namespace={namespace}", "--watch", "--output=json"]
        self._watch = subprocess.Popen(
            [*command, "--output-watch-events"], env=cluster.environment, stdout=subprocess.PIPE, text=True
        )
        self.seen: dict[tuple[str, str], float] = {}
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def close(self) -> None:
        self._watch.terminate()
        self._thread.join()
        self._watch.wait()

    def _read(self) -> None:
        decoder, text = json.JSONDecoder(), ""
        for line in self._watch.stdout:
            text += line
            try:
                event, _ = decoder.raw_decode(text)
            except ValueError:
                continue
            text = ""
            self._note(event["type"], event["object"])
        self._watch.stdout.close()

    def _note(self, kind: str, pod: dict) -> None:
        now, name, status = time.time(), pod["metadata"]["name"], pod["status"]
        true = [found["type"] for found in status.get("conditions", ()) if found["status"] == "True"]
        states = [state for found in status.get("containerStatuses", ()) for state in found["state"]]
        deleting = ["deleting"] if pod["metadata"].get("deletionTimestamp") else []
        for what in ("created", *true, *states, status["phase"], *deleting, *(["gone"] if kind == "DELETED" else [])):
            self.seen.setdefault((name, what), now)


@contextmanager
def watched(cluster, namespace: str, servers: str, topic: str) -> Iterator[tuple[PodWatch, Arrivals]]:
    """Watch pods and rows during the block."""
    pods, arrivals = PodWatch(cluster, namespace), Arrivals(servers, topic)
    try:
        yield pods, arrivals
    finally:
        arrivals.close()
        pods.close()


def log_events(cluster, namespace: str, pod: str) -> list[tuple[float, str]]:
    """Return what a driver's log says, with its times."""
    found = []
    for line in cluster.kubectl("logs", f"--namespace={namespace}", pod).splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            at = datetime.fromisoformat(entry.pop("timestamp")).timestamp()
            found.append((at, " ".join(map(str, entry.values()))))
    return found
