"""Write a shop's customers, as Debezium writes a table's changes, and its orders into topics of Avro."""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import fastavro
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

CUSTOMERS, ORDERS = "shop.public.customers", "orders"
PARTITIONS = 4
FIRST_ORDER = datetime(2024, 5, 1, 8, tzinfo=UTC)
NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eve")
COUNTRIES = ("CL", "IT", "NO")

KEY = {"type": "record", "name": "Key", "namespace": CUSTOMERS, "fields": [{"name": "id", "type": "long"}]}
ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "country", "type": ["null", "string"], "default": None},
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": CUSTOMERS,
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "customer", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "ordered_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def main() -> None:
    """Write the customers and some orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("orders", type=int, nargs="?", default=1000, help="how many; default: %(default)s")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="default: %(default)s")
    parser.add_argument("--registry", default="http://127.0.0.1:8081/apis/ccompat/v7", help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        fill(arguments.bootstrap_servers, arguments.registry, arguments.orders)
    except (KafkaException, URLError) as error:
        sys.exit(f"{error}; `make kafka PORT=9092 REGISTRY=8081` starts a broker and a registry here")
    print(f"{CUSTOMERS}: {len(customer_changes())} changes\n{ORDERS}: {arguments.orders:,} records")


def fill(bootstrap_servers: str, registry: str, orders: int, prefix: str = "") -> None:
    """Write all changes of customers, then orders, each record with the id that a registry has for its schema.

    The names of the topics begin with `prefix`.
    """
    changed, ordered = f"{prefix}{CUSTOMERS}", f"{prefix}{ORDERS}"
    create_topics(AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2}), changed, ordered)
    key = register(registry, f"{changed}-key", KEY)
    envelope = register(registry, f"{changed}-value", ENVELOPE)
    order = register(registry, f"{ordered}-value", ORDER)
    settings = {"partitioner": "murmur2_random", "enable.idempotence": True, "log_level": 2}
    producer = Producer({"bootstrap.servers": bootstrap_servers, **settings})
    for id_, change in customer_changes():
        value = None if change is None else encode(envelope, ENVELOPE, change)
        producer.produce(changed, value, encode(key, KEY, {"id": id_}))
    for row in order_rows(orders):
        producer.produce(ordered, encode(order, ORDER, row), str(row["customer"]))
    producer.flush()


def customer_changes() -> list[tuple[int, dict[str, Any] | None]]:
    """Return the changes of the table, with their keys: rows, one of them changed and one deleted later."""
    rows = [{"id": n, "name": name, "country": COUNTRIES[n % 3]} for n, name in enumerate(NAMES, 1)]
    moved = rows[0] | {"country": "IT"}
    return [
        *((row["id"], {"op": "r", "before": None, "after": row}) for row in rows),
        (1, {"op": "u", "before": rows[0], "after": moved}),
        (5, {"op": "d", "before": rows[4], "after": None}),
        (5, None),
    ]


def order_rows(count: int) -> Iterator[dict[str, Any]]:
    """Return orders, a minute apart, the same ones each time."""
    random = Random(1)  # noqa: S311 - no secrets
    for number in range(1, count + 1):
        yield {
            "number": number,
            "customer": random.randint(1, len(NAMES)),
            "amount": Decimal(random.randrange(100, 100_000)) / 100,
            "ordered_at": FIRST_ORDER + timedelta(minutes=number),
        }


def create_topics(admin: AdminClient, *topics: str) -> None:
    """Make those topics that there are not."""
    for done in admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics]).values():
        try:
            done.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def register(registry: str, subject: str, schema: Mapping[str, Any]) -> int:
    """Return the id of a schema, which a registry gives it under a subject."""
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    request = Request(f"{registry}/subjects/{subject}/versions", body, {"Content-Type": "application/json"})  # noqa: S310
    with urlopen(request, timeout=10) as answer:  # noqa: S310 - the address is the user's own
        return int(json.load(answer)["id"])


def encode(number: int, schema: Mapping[str, Any], record: Mapping[str, Any]) -> bytes:
    """Return a record in Confluent's form: a byte 0, the id of its schema, the record."""
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4, "big"))
    fastavro.schemaless_writer(out, dict(schema), record)
    return out.getvalue()


if __name__ == "__main__":
    main()
