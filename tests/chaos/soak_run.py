"""One soak: an app that is fed, struck, edited and grown, and how far it has come. All that happens goes to a log."""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError
from tools.cluster.process import say

from chaos.cluster_faults import Aimed, ClusterFaults, Fault
from chaos.expected_outputs import Output, differences, disorder, expected
from chaos.shop_app import OUTPUT_PARTITIONS, OUTPUTS, PAYMENT_PARTITIONS
from chaos.shop_feed import ShopFeed
from chaos.shop_records import Record, decode
from chaos.topic_reader import TopicReader
from support import cluster_apps
from support.waiting import eventually, nothing_for

T = TypeVar("T")
DEADLINE = 900.0
"""Seconds until an app has caught up after a fault: on a busy machine a driver takes minutes to start."""
_FRESH = 100
"""So many records more must be confirmed after a fault, and come out."""


class SoakRun:
    """An app under fire. Every method that waits says in the log for how long."""

    def __init__(
        self, cluster: Cluster, document: dict, feed: ShopFeed, kafka: str, outside: str, folder: Path, random: Random
    ) -> None:
        """Take the app, who feeds it, Kafka's namespace and its addresses for this machine, and a folder for logs."""
        metadata = document["metadata"]
        self._cluster, self._namespace, self._app = cluster, metadata["namespace"], metadata["name"]
        self._document = document
        self._prefix = f"{self._namespace}.{self._app}"
        self._feed = feed
        self._outside = outside
        self._folder = folder
        self._random = random
        self._faults = ClusterFaults(cluster, self._namespace, self._app, kafka, random)
        self._reader = TopicReader(
            outside, {f"{self._prefix}.{which}": OUTPUT_PARTITIONS for which in OUTPUTS}, self._output
        )
        self._seen: dict[int, int] = {}
        self._began = time.monotonic()
        self.struck: Counter[str] = Counter()
        """How often each fault, edit and growth happened."""

    def start(self) -> None:
        """Apply the app, and wait until results come out."""
        cluster_apps.apply(self._cluster, self._document)
        self.catch_up()

    def step(self, faults: list[Fault], *, patient: bool) -> None:
        """Let faults strike together, and heal them; who is patient waits until the app has caught up."""
        self._wait_for(self._cluster.is_ready, "the cluster")
        self._save_logs()
        aimed = [self._asked(partial(self._faults.aim, fault)) for fault in faults]
        hit = sorted((one for one in aimed if one is not None), key=lambda one: one.turn)
        struck: list[Aimed] = []
        try:
            for one in hit:
                self.tell(f"{one}: {one.strike()}")
                self.struck[f"{one.fault.victim} {one.fault.deed}"] += 1
                struck.append(one)
            nothing_for(max((one.fault.seconds for one in struck), default=0.0))
        finally:
            for one in reversed(struck):
                self.tell(f"{one.fault}: over {one.heal()}")
        if patient:
            self.catch_up()

    def edit(self) -> None:
        """Change how many processors there are or how often they commit, or stop the app for a while."""
        spec = self._document["spec"]
        what = self._random.choice(["processors", "commits", "suspension"])
        self.struck[f"edit of {what}"] += 1
        if what == "processors":
            spec["processors"]["count"] = 5 - spec["processors"]["count"]
            count = spec["processors"]["count"]
            self._edit(processors={"count": count})
            self._wait_for(lambda: self._status().get("processors") == {"ready": count}, f"{count} processors")
        elif what == "commits":
            self._edit(job={"commitInterval": self._random.choice(["100ms", "300ms", "1s"])})
        else:
            self._suspend()
            self._edit(suspend=False)
        self.catch_up()

    def grow(self) -> None:
        """Add partitions to the orders, and wait until the app reads them."""
        count = self._feed.partitions + 4
        self.tell(f"growth to {count} partitions")
        self.struck["growth"] += 1
        self._feed.grow(count)
        self._wait_for(lambda: self._status()["plan"]["streams"]["orders"] == count, "the plan with the new partitions")
        self.catch_up()
        self._feed.grown()

    def catch_up(self) -> None:
        """Wait until records that were written from now on have come out.

        Raises:
            AssertionError: they do not.
        """
        began = time.monotonic()
        fresh = len(self._feed.confirmed().certain) + _FRESH
        self._wait_for(lambda: len(self._feed.confirmed().certain) >= fresh, "Kafka to take records")
        wanted = self._feed.confirmed().last
        behind = sum(self._seen.get(key, 0) < number for key, number in wanted.items())
        self._wait_for(lambda: self._has_seen(wanted), "records to come out")
        self.tell(f"caught up after {time.monotonic() - began:.0f} s, {behind} keys were behind; {self.summary()}")

    def finish(self) -> list[str]:
        """Let everything come out, stop the app, and return how the outputs differ from what they must be."""
        watermark = self._feed.finish()
        orders, payments = self._inputs("orders", self._feed.partitions), self._inputs("payments", PAYMENT_PARTITIONS)
        wanted = expected(orders, payments, watermark)
        self.tell(f"{len(orders)} orders, {len(payments)} payments; {self.summary()}")
        with suppress(AssertionError):  # what is not there will be named
            self._wait_for(lambda: self._read() or self._complete(wanted.size), "all results")
        self._suspend()
        self._wait_for(self._reader.at_end, "the ends of the outputs")
        found = [*self._unconfirmed(orders + payments), *disorder(orders), *disorder(payments)]
        found += differences(wanted, self._reader.found)
        read = {which: self._reader.counts[f"{self._prefix}.{which}"] for which in OUTPUTS}
        self.tell(f"{read} came out, {dict(wanted.size)} are right; {len(found)} differences")
        for difference in found:
            self.tell(difference)
        return found

    def summary(self) -> str:
        """Tell how much was written, and what happened."""
        fates = ", ".join(f"{count} {fate}" for fate, count in sorted(self._feed.fates.items()))
        return (
            f"{self._feed.written} records written, transactions: {fates}; {self._reader.counts.total()} results read"
        )

    def tell(self, text: str) -> None:
        """Write a line to the log and to whoever watches."""
        line = f"{datetime.now(UTC):%H:%M:%S} {time.monotonic() - self._began:7.1f} {text}"
        say(line)
        with (self._folder / "soak.log").open("a") as log:
            log.write(line + "\n")

    def close(self) -> None:
        """Release the reader."""
        self._reader.close()

    def _suspend(self) -> None:
        self._edit(suspend=True)
        self._wait_for(lambda: self._status().get("phase") == "Suspended", "the app to stop")

    def _edit(self, **fields: object) -> None:
        self.tell(f"edit: {fields}")
        self._asked(lambda: cluster_apps.edit(self._cluster, self._namespace, self._app, **fields) is None)

    def _status(self) -> dict:
        with suppress(ClusterError):
            return cluster_apps.status(self._cluster, self._namespace, self._app)
        return {}

    def _asked(self, ask: Callable[[], T]) -> T:
        """Return what the API server answers, as soon as it does."""
        answers: list[T] = []

        def answered() -> bool:
            with suppress(ClusterError):
                answers.append(ask())
            return bool(answers)

        self._wait_for(answered, "the API server")
        return answers[0]

    def _wait_for(self, fact: Callable[[], object], what: str) -> None:
        assert eventually(fact, DEADLINE, 0.5), f"waited for {what} for {DEADLINE:.0f} s; {self.summary()}"

    def _has_seen(self, wanted: dict[int, int]) -> bool:
        self._read()
        return all(self._seen.get(key, 0) >= number for key, number in wanted.items())

    def _read(self) -> None:
        for output in self._reader.read():
            if output.stream == "out":
                key, number = output.row["k"], output.row["n"]
                self._seen[key] = max(number, self._seen.get(key, 0))

    def _complete(self, size: Counter[str]) -> bool:
        return all(self._reader.counts[f"{self._prefix}.{stream}"] >= count for stream, count in size.items())

    def _inputs(self, stream: str, partitions: int) -> list[Record]:
        topic = f"{self._prefix}.{stream}"
        reader = TopicReader(self._outside, {topic: partitions}, _record)
        try:
            self._wait_for(reader.at_end, f"the end of {stream}")
        finally:
            reader.close()
        return reader.found

    def _output(self, topic: str, partition: int, offset: int, value: bytes) -> Output:
        return Output(topic.removeprefix(f"{self._prefix}."), (partition, offset), json.loads(value))

    def _unconfirmed(self, records: list[Record]) -> list[str]:
        """Name what Kafka has lost or kept against its word: then nobody can be exact."""
        there, confirmed = {record.number for record in records}, self._feed.confirmed()
        lost, risen = confirmed.certain - there, confirmed.impossible & there
        told = {"lost what was confirmed": lost, "shows what was aborted": risen}
        return [f"Kafka {what}: {len(numbers)}: {sorted(numbers)[:5]}" for what, numbers in told.items() if numbers]

    def _save_logs(self) -> None:
        """Keep the logs of pods that may soon be gone."""
        folder = self._folder / f"{datetime.now(UTC):%H%M%S}"
        folder.mkdir(parents=True, exist_ok=True)
        for home in (self._namespace, cluster_apps.HOME):
            with suppress(ClusterError):
                for pod in self._cluster.get("pods", f"--namespace={home}"):
                    name = pod["metadata"]["name"]
                    with suppress(ClusterError):
                        text = self._cluster.kubectl("logs", f"--namespace={home}", name, "--all-containers")
                        (folder / f"{name}.log").write_text(text)


def _record(_: str, partition: int, offset: int, value: bytes) -> Record:
    return decode(value, (partition, offset))
