"""Writes the flights and the planes into Kafka topics, for app-kafka.yaml."""

import argparse
import sys
import time
from pathlib import Path

import duckdb
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

DATA = Path(__file__).parent / "data"
PARTITIONS = 4

FLIGHTS = """
SELECT origin, to_json(flights)::VARCHAR
FROM read_csv('{data}/flights/*.csv', nullstr = 'NA', types = {{'scheduled': 'VARCHAR'}}) AS flights
ORDER BY scheduled, carrier, flight
"""
PLANES = """
SELECT tailnum, to_json(planes)::VARCHAR
FROM (SELECT tailnum, year, manufacturer, model, seats FROM read_csv('{data}/planes.csv', nullstr = 'NA')) AS planes
"""


def main() -> None:
    """Recreate the topics and fill them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        for topic, records in load(arguments.bootstrap_servers, DATA).items():
            print(f"{topic}: {records:,} records")
    except KafkaException as error:
        sys.exit(f"{arguments.bootstrap_servers}: {error.args[0].str()}; `make kafka PORT=9092` starts a broker here")


def load(bootstrap_servers: str, data: Path, prefix: str = "") -> dict[str, int]:
    """Fill the topics `flights` and `planes` from the files in a folder; tell how many records each has."""
    counts = {}
    for topic, query in ((f"{prefix}flights", FLIGHTS), (f"{prefix}planes", PLANES)):
        recreate(AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2}), topic)
        with duckdb.connect() as database:
            records = database.execute(query.format(data=data)).fetchall()
        write(bootstrap_servers, topic, records)
        counts[topic] = len(records)
    return counts


def recreate(admin: AdminClient, topic: str) -> None:
    """Delete a topic, if it is there, and make it: loading twice must not double what it holds."""
    if topic in admin.list_topics(timeout=10).topics:
        admin.delete_topics([topic])[topic].result()
        while topic in admin.list_topics(timeout=10).topics:
            time.sleep(0.1)
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result()


def write(bootstrap_servers: str, topic: str, records: list[tuple[str, str]]) -> None:
    """Write keyed records in their order, into the partitions where Java clients would write them."""
    settings = {"partitioner": "murmur2", "enable.idempotence": True, "linger.ms": 20, "log_level": 2}
    producer = Producer({"bootstrap.servers": bootstrap_servers, **settings})
    for number, (key, value) in enumerate(records):
        producer.produce(topic, value, key)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


if __name__ == "__main__":
    main()
