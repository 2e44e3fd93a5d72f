"""An app whose table is filled by a stream of a log or a broker, and what that stream and the table hold."""

import json
import signal
import time
from collections import defaultdict
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from streamapp_core.adjunct import NoStoreRecord
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.fail_points import VARIABLE
from streamapp_runtime.rows.row_codec import decode_row
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.unlogged_state import PersistentUnloggedStore
from streamapp_runtime.tables.adjunct_store import read_record
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from streamapp_systems.registry import local_systems
from support import crashes
from support.hashed_keys import partition_of

HUB = "hub"
LOG = {"log": {"path": "log.db"}}
PARTITIONS = 2
DEADLINE = 240


def app(system=None, name="app", *, table=None, visits=None, customers=None, processors=1, **job):
    """Give the app: visits are joined with the customers' cities; topics begin with its name."""
    made = {} if table is not None and "extractor" in table else {"key": "customer", "value": "city"}
    spec = {
        "systems": {HUB: system or LOG},
        "streams": {
            "visits": {
                "system": HUB,
                "name": f"{name}.visits",
                "key": "customer",
                "schema": "customer string, n int",
                "partitions": PARTITIONS,
                "bounded": True,
                **(visits or {}),
            },
            "customers": {
                "system": HUB,
                "name": f"{name}.customers",
                "key": "customer",
                "schema": "customer string, city string",
                "partitions": PARTITIONS,
                **(customers or {}),
            },
            "out": {"system": HUB, "name": f"{name}.out", "key": "customer", "partitions": PARTITIONS},
        },
        "tables": {"customer": {"sideInputs": ["customers"], **made, **(table or {})}},
        "operators": [
            {
                "name": "located",
                "from": "visits",
                "joinTable": {"table": "customer", "on": "customer", "type": "left"},
            },
            {"name": "sent", "from": "located", "sendTo": "out"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms", **job},
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": name}, "spec": spec}


class Hub:
    """The system of an app, and who writes to its streams."""

    def __init__(self, folder: Path, document: dict):
        self.folder = folder
        self.name = document["metadata"]["name"]
        self.system = SystemSpec.model_validate_json(json.dumps(document["spec"]["systems"][HUB]))
        self.epoch = 0
        self.counts = {name: spec["partitions"] for name, spec in document["spec"]["streams"].items()}
        with self.admin() as admin:
            admin.create({self.stream(name): count for name, count in self.counts.items()})

    def stream(self, name):
        return StreamDescriptor(name=name, system=HUB, address=f"{self.name}.{name}", format=StreamFormat.JSON)

    def admin(self):
        return closing(local_systems(self.folder).open_transactional_admin(HUB, self.system))

    def expand(self, stream, count):
        with self.admin() as admin:
            admin.expand(self.stream(stream), count)
        self.counts[stream] = count

    def forget(self, stream):
        """Delete what a stream holds: only a store still knows it."""
        with self.admin() as admin:
            admin.delete_records([self.stream(stream)], admin.end_offsets([self.stream(stream)]))

    @contextmanager
    def writer(self, stream):
        """Open a producer; what it committed can be read once it is closed."""
        self.epoch += 1
        owner = TransactionOwner(id=f"{self.name}-{stream}-source", epoch=self.epoch)
        with closing(
            local_systems(self.folder).open_producer(HUB, self.system, [self.stream(stream)], owner)
        ) as producer:
            yield producer
        with self.admin() as admin:
            admin.fence([owner])

    def send(self, stream, *records):
        """Write records, (key, value) each, in one transaction."""
        with self.writer(stream) as producer:
            for key, value in records:
                data = None if value is None else json.dumps(value).encode()
                ssp = Ssp(HUB, stream, partition_of(key, self.counts[stream]))
                producer.send(ssp, data, key=None if key is None else key.encode(), timestamp=0)
            producer.commit()

    def move(self, **cities):
        """Tell where customers live now; None: they are gone."""
        self.send(
            "customers", *((c, None if city is None else {"customer": c, "city": city}) for c, city in cities.items())
        )

    def visit(self, *customers, n=0):
        self.send("visits", *((customer, {"customer": customer, "n": n}) for customer in customers))

    def messages(self, stream):
        """Read all that is committed, by partition."""
        found = defaultdict(list)
        with self.admin() as admin:
            ends = admin.end_offsets([self.stream(stream)])
        with closing(local_systems(self.folder).open_consumer(HUB, self.system, [self.stream(stream)])) as consumer:
            consumer.assign(dict.fromkeys(ends, 0), ends)
            reading = set(ends)
            while reading:
                for part in consumer.poll(reading, 100_000, 1.0):
                    found[part.ssp.partition] += part.messages
                    reading -= {part.ssp} if part.ended else set()
        return found

    def visits(self):
        """Read the output: who came from where, in which visit."""
        rows = [json.loads(message.value) for messages in self.messages("out").values() for message in messages]
        return sorted(((row["customer"], row["n"], row["city"]) for row in rows), key=str)

    def fold(self, below):
        """Fold the side input: the city of each customer by the records of each partition below an offset."""
        cities = {}
        for partition, messages in self.messages("customers").items():
            for message in messages:
                if message.offset < below.get(partition, 0) and message.key is not None:
                    city = None if message.value is None else json.loads(message.value)["city"]
                    cities[message.key.decode()] = city
        return {customer: city for customer, city in cities.items() if city is not None}


def stored(folder: Path, table="customer"):
    """Read a table from the state of a dead task or processor: its rows, and the next offset of each partition.

    None if it has none there.
    """
    environment = LmdbEnvironment(folder)
    kept = PersistentUnloggedStore(environment, table)
    rows = {decode_row(key)[0]: decode_row(value)[0] for key, value in kept.store.scan()}
    saved = read_record(kept.record)
    environment.close()
    return (
        None
        if isinstance(saved, NoStoreRecord)
        else (rows, {held.partition: held.position.offset for held in saved.read_to})
    )


KILLS = 1
BETWEEN = ["commit-3:after", "commit-4:before", "commit-5:before"]
NAMES = [f"{letter}{number}" for letter in "ab" for number in range(20)]


class Life:
    """An app that is killed again and again while its side input goes on."""

    def __init__(self, folder: Path, document: dict, random: Random):
        self.folder, self.random = folder, random
        self.hub = Hub(folder, document)
        self.name = document["metadata"]["name"]
        (folder / "app.yaml").write_text(json.dumps(document))
        self.hub.visit(*NAMES)

    def die(self, place: str, meanwhile):
        """Run the app until it dies at a fail point."""
        process = crashes.start(self.folder, "--host", "in-process", **{VARIABLE: place})
        deadline = time.monotonic() + DEADLINE
        try:
            while process.poll() is None:
                assert time.monotonic() < deadline, "it does not get there"
                meanwhile()
                time.sleep(0.005)
        finally:
            crashes.kill_group(process)
        assert process.returncode == -signal.SIGKILL

    def die_while_customers_move(self, place: str):
        with self.hub.writer("customers") as producer:
            self.die(place, lambda: self.move_some(producer))

    def move_some(self, producer):
        for name in self.random.choices(NAMES, k=5):
            city = self.random.choice([None, "Oslo", "Rome", "Kiev"])
            value = None if city is None else json.dumps({"customer": name, "city": city}).encode()
            ssp = Ssp(HUB, "customers", partition_of(name, PARTITIONS))
            producer.send(ssp, value, key=name.encode(), timestamp=0)
        producer.commit()

    def tables(self):
        """Read all stores of the table: the rows of each, and how far they say that goes."""
        folders = sorted((self.folder / ".streamapp" / self.name / "state").glob("*/*/side-inputs/data.mdb"))
        return [table for file in folders if (table := stored(file.parent)) is not None]

    def check(self):
        """Compare every store with the fold of what it says it holds."""
        tables = self.tables()
        for rows, below in tables:
            assert rows == self.hub.fold(below)
        return tables

    def check_complete(self):
        """Let the app read the rest while nobody moves, so that its stores are the fold of the whole stream."""
        ends = {partition: records[-1].offset for partition, records in self.hub.messages("customers").items()}
        complete = False
        while not complete:
            self.die("commit-5:after:20", lambda: self.hub.visit(*NAMES))
            read_to = [place for _, below in self.check() for place in below.items()]
            complete = bool(read_to) and all(ends[partition] < offset for partition, offset in read_to)


def kill_and_check(folder: Path, document: dict, random: Random):
    """Kill an app between the commit of its streams and that of its stores, while its side input goes on."""
    life = Life(folder, document, random)
    for _ in range(KILLS):
        life.die_while_customers_move(f"{random.choice(BETWEEN)}:{random.randint(1, 12)}")
        life.check()
    life.check_complete()
