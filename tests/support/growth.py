"""An app that counts and copies the rows of each key, from a stream of a log or a broker that grows under it.

Of each key the numbers 0, 1, 2, ... are written, each by a producer that puts key `k` into partition `k % count` for
the number of partitions that it knows. In messages, `k` is a number that murmur2 puts there (`hashed_keys`), unless an
app partitions its rows again anyway.
"""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from itertools import repeat
from pathlib import Path

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Producer as SystemProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from streamapp_systems.registry import local_systems
from support import apps
from support.hashed_keys import number_in

HUB = "hub"
DEADLINE = 240


def partitions(summary) -> int:
    """Tell how many partitions of the growing stream an app reads."""
    return next(stream.partitions for stream in summary.streams if stream.name == "in")


class Stop(KeyboardInterrupt):
    """Ends an endless run from its listener."""


class Growing:
    """One app in a folder, and its streams in a system (`{log: ...}` or `{kafka: ...}`)."""

    def __init__(self, folder: Path, system: dict, name: str = "app", partitions: int = 4, *, hashed: bool = True):
        self.folder = folder
        self._number = number_in if hashed else int
        self.name = name
        self.system = system
        self._spec = SystemSpec.model_validate_json(json.dumps(system))
        self.written: dict[int, int] = defaultdict(int)
        with closing(self.admin()) as admin:
            admin.create({self.stream("in"): partitions})

    def document(self, *, operators=None, processors=2, **job) -> dict:
        """Give the app: each row goes to `out`, and the count of its key to `counts`."""
        form = {"system": HUB, "key": "k"}
        counts = {"counts": {**form, "name": f"{self.name}.counts", "partitions": 3}} if operators is None else {}
        spec = {
            "systems": {HUB: self.system},
            "streams": {
                "in": {**form, "name": f"{self.name}.in", "schema": "k int, n int"},
                "out": {**form, "name": f"{self.name}.out", "partitions": 3},
                **counts,
            },
            "operators": operators
            or [
                {"name": "copied", "from": "in", "sendTo": "out"},
                {"name": "counted", "from": "in", "aggregate": {"by": ["k"], "select": "count(*) as c"}},
                {"name": "told", "from": "counted", "sendTo": "counts"},
            ],
            "job": {"commitInterval": "50ms", "partitionMonitor": {"interval": "1s"}, **job},
            "processors": {"count": processors},
        }
        return {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": self.name},
            "spec": spec,
        }

    def producer(self, name: str, count: int) -> "Producer":
        """Open a producer that knows `count` partitions."""
        return self.producer_of(lambda: self.open_producer(name, "in"), count)

    def open_producer(self, name: str, which: str) -> SystemProducer:
        """Open a producer of a stream; `name` is in its transactional id."""
        owner = TransactionOwner(id=f"{self.name}-{name}", epoch=1)
        return local_systems(self.folder).open_producer(HUB, self._spec, [self.stream(which)], owner)

    def producer_of(self, open_: Callable[[], SystemProducer], count: int) -> "Producer":
        """Open a producer that knows `count` partitions and sends by another one."""
        return Producer(self.written, open_, count, self._number, self.messages)

    def messages(self, row: dict) -> list[bytes]:
        """Give the values of the messages in which a row is sent."""
        return [json.dumps(row).encode()]

    def write(self, *keys: int, count: int, at=None) -> None:
        """Append the next row of each of these keys, in one transaction of a producer that knows `count` partitions.

        `at` is their event time, or one for each (ms since 1970); None: now.
        """
        with closing(self.producer("source", count)) as producer:
            producer.write(*keys, at=at)

    def expand(self, count: int) -> None:
        """Give the stream more partitions."""
        with closing(self.admin()) as admin:
            admin.expand(self.stream("in"), count)

    def run(self, document: dict, until, *, listener=lambda summary: None, **options) -> None:
        """Run the app until a condition holds."""
        deadline = time.monotonic() + DEADLINE

        def listen(summary):
            listener(summary)
            if until(summary):
                raise Stop
            assert time.monotonic() < deadline, summary

        with pytest.raises(Stop):
            apps.run(document, self.folder, fresh=False, listener=listen, **options)

    def all_counted(self, summary) -> bool:
        """Return whether a run counts as many rows emitted as were written; perhaps it has not committed them yet."""
        return summary.written.get("out", 0) >= sum(self.written.values())

    def all_copied(self, summary) -> bool:
        """Return whether as many rows were emitted as were written, and committed."""
        return self.copied(summary, sum(self.written.values()))

    def copied(self, summary, count: int) -> bool:
        """Return whether so many rows were emitted, and committed."""
        return summary.written.get("out", 0) >= count and len(self.rows("out")) >= count

    def numbers(self) -> dict[int, list[int]]:
        """Read the numbers of each key in the order they were emitted."""
        found = defaultdict(list)
        for row in self.rows("out"):
            found[row["k"]].append(row["n"])
        return dict(found)

    def check(self) -> None:
        """Prove that no row was lost or doubled, that each key is in order, and that the counts are exact."""
        expected = {key: list(range(count)) for key, count in self.written.items()}
        found = self.numbers()
        assert {key: sorted(numbers) for key, numbers in found.items()} == expected
        assert found == expected
        assert {row["k"]: row["c"] for row in self.rows("counts")} == self.written

    def admin(self):
        """Open the metadata of the system."""
        return local_systems(self.folder).open_transactional_admin(HUB, self._spec)

    def locked(self) -> bool:
        """Tell whether somebody is in the middle of writing to the log: nobody else can, until that one goes on."""
        if "log" not in self.system:
            return False
        try:
            with closing(sqlite3.connect(self.folder / self.system["log"]["path"], timeout=1.0)) as log:
                log.execute("BEGIN IMMEDIATE")
                log.rollback()
        except sqlite3.OperationalError:
            return True
        return False

    def stream(self, which: str, prefix: str | None = None) -> StreamDescriptor:
        """Describe the input `in` or an output; addresses begin with the app's name, or with another prefix."""
        address = f"{prefix or self.name}.{which}"
        return StreamDescriptor(name=which, system=HUB, address=address, format=StreamFormat.JSON)

    def rows(self, which: str) -> list[dict]:
        """Read an output: the rows of each partition in their order."""
        rows = map(json.loads, self.values(self.stream(which)))
        return [self.with_key(row) if "k" in row else row for row in rows]

    def with_key(self, row: dict) -> dict:
        """Give a row as it was written: with its key in place of the number that stands for it in messages."""
        keys = {self._number(key): key for key in self.written}
        return row | {"k": keys.get(row["k"], row["k"])}

    def values(self, stream: StreamDescriptor) -> list[bytes]:
        """Read the values of a stream: those of each partition in their order."""
        found = []
        with closing(self.admin()) as admin:
            ends = admin.end_offsets([stream])
        with closing(local_systems(self.folder).open_consumer(HUB, self._spec, [stream])) as consumer:
            consumer.assign(dict.fromkeys(ends, 0), ends)
            reading = set(ends)
            while reading:
                for part in consumer.poll(reading, 100_000, 1.0):
                    found += [message.value for message in part.messages]
                    if part.ended:
                        reading.discard(part.ssp)
        return found


class Producer:
    """Writes the next rows of keys to the partitions they have in its metadata."""

    def __init__(
        self,
        written: dict[int, int],
        open_: Callable[[], SystemProducer],
        count: int,
        number: Callable[[int], int],
        messages: Callable[[dict], list[bytes]],
    ):
        self._written = written
        self._number = number
        self._messages = messages
        self._open = open_
        self._producer = open_()
        self.count = count

    def learn(self, count: int) -> None:
        """Take up newer metadata, between two transactions."""
        self._producer.close()
        self._producer = self._open()
        self.count = count

    def send(self, *keys: int, at=None) -> None:
        """Send the next row of each of these keys; `commit` makes them visible."""
        now = time.time_ns() // 1_000_000 if at is None else at
        for key, timestamp in zip(keys, repeat(now) if isinstance(now, int) else now, strict=False):
            number = self._number(key)
            ssp = Ssp(HUB, "in", key % self.count)
            for value in self._messages({"k": number, "n": self._written[key]}):
                self._producer.send(ssp, value, key=str(number).encode(), timestamp=timestamp)
            self._written[key] += 1

    def commit(self) -> None:
        """Make what was sent visible."""
        self._producer.commit()

    def write(self, *keys: int, at=None) -> None:
        """Send and commit."""
        self.send(*keys, at=at)
        self.commit()

    def close(self) -> None:
        """Release the producer."""
        self._producer.close()
