"""Keys of several columns in Kafka: another producer's partitions are ours, and ours are another producer's."""

import json
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support import apps, several_keys
from support.several_keys import key_text

PARTITIONS = 3
AT = 1_714_550_400_000
SALES = [(1, "oslo", 7, 2), (2, "Zürich", 7, 4), (3, 'b"c', None, 1), (4, None, None, 9), (5, "oslo", 8, 3)]
PRICES = [("oslo", 7, 20), ("Zürich", 7, 30), ("oslo", 8, 5), ("oslo", 8, None)]


class Shop:
    """The topics of an app, for programs that know nothing of it."""

    def __init__(self, address):
        self.prefix = f"shop-{uuid.uuid4().hex[:8]}."
        self.address = address
        admin = AdminClient({"bootstrap.servers": address})
        made = [NewTopic(f"{self.prefix}{name}", PARTITIONS) for name in ("sales", "prices", "hashed")]
        for future in admin.create_topics(made).values():
            future.result()

    def produce(self, name, records):
        """Let librdkafka choose the partitions, by the hash that Java's producers have."""
        producer = Producer({"bootstrap.servers": self.address, "partitioner": "murmur2_random"})
        for key, value in records:
            producer.produce(f"{self.prefix}{name}", None if value is None else json.dumps(value), key)
        assert producer.flush(60) == 0

    def sell(self, *sales):
        self.produce(
            "sales",
            [(key_text(shop=s, item=i), {"id": id_, "shop": s, "item": i, "n": n, "at": AT}) for id_, s, i, n in sales],
        )

    def read(self, name):
        """Return keys, values and partitions of what is committed."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "reader", "enable.partition.eof": True})
        consumer.assign([TopicPartition(f"{self.prefix}{name}", number, 0) for number in range(PARTITIONS)])
        found, ended = [], 0
        while ended < PARTITIONS:
            message = consumer.poll(60)
            assert message is not None
            if message.error() is not None:
                ended += 1
                continue
            value = message.value()
            found.append((message.key().decode(), None if value is None else json.loads(value), message.partition()))
        consumer.close()
        return found

    def newest(self, name):
        """Return the last value of each key that is not deleted."""
        last = {key: value for key, value, _ in self.read(name)}
        return {key: value for key, value in last.items() if value is not None}


@pytest.fixture
def shop(kafka):
    return Shop(kafka.bootstrap_servers)


def test_another_producers_keys_are_read_and_ours_are_where_it_would_put_them(tmp_path, shop):
    (tmp_path / "spending.py").write_text(several_keys.SPENT)
    prices = [
        (key_text(shop=s, item=i), None if p is None else {"shop": s, "item": i, "price": p}) for s, i, p in PRICES
    ]
    shop.produce("prices", prices)
    shop.sell(*SALES)
    document = several_keys.app(
        {"kafka": {"bootstrapServers": shop.address}}, shop.prefix[:-1], bounded=False, prefix=shop.prefix, processors=2
    )
    totals = {
        key_text(shop=s, item=i): {"item": i, "shop": s, "sales": count, "n": n}
        for (s, i), (count, n) in several_keys.newest_sales(SALES).items()
    }
    price = {(s, i): p for s, i, p in PRICES}

    def all_sold():
        return shop.newest("totals") == totals and len(shop.read("priced")) == len(SALES)

    apps.run_until(tmp_path, document, all_sold)
    found = {key: (value["id"], value["price"]) for key, value in shop.newest("priced").items()}
    assert found == {key_text(item=i, shop=s): (id_, price.get((s, i))) for id_, s, i, _ in SALES}
    moved = (1, "rome", 9, 2)
    shop.sell(moved)
    gone, new = key_text(shop="oslo", item=7), key_text(shop="rome", item=9)
    apps.run_until(tmp_path, document, lambda: gone not in shop.newest("totals") and new in shop.newest("totals"))
    found = shop.read("totals")
    assert (gone, None) in {(key, None) for key, value, _ in found if value is None}
    partitions = {key: partition for key, _, partition in found}
    shop.produce("hashed", [(key, {}) for key in partitions])
    assert partitions == {key: partition for key, _, partition in shop.read("hashed")}
    assert shop.newest("places").keys() >= {key_text(shop="rome", place=1), key_text(shop=None, place=1)}
