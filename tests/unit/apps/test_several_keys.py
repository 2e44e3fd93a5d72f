"""Keys of several columns in the log: read from another producer, through an app, and written as it expects them."""

import json
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ClaimBroken
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import BadRecord, StreamDescriptor, TransactionOwner
from support import apps, several_keys
from support.hashed_keys import partition_of
from support.several_keys import key_text

PARTITIONS = 3
LOG = {"log": {"path": "log.db"}}
AT = 1_714_550_400_000


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


def write(folder, name, records, epoch=1, place=partition_of):
    """Write records as another producer does: a key of JSON, in the partition of its bytes."""
    with closing(LogAdmin(folder / "log.db")) as admin:
        if epoch == 1:
            admin.create({stream(name): PARTITIONS})
    with closing(LogProducer(folder / "log.db", [stream(name)], TransactionOwner(id=name, epoch=epoch))) as producer:
        for key, value in records:
            data = None if value is None else json.dumps(value).encode()
            producer.send(Ssp("log", name, place(key, PARTITIONS)), data, key=key.encode(), timestamp=AT)
        producer.commit()


def write_sales(folder, sales, epoch=1):
    write(
        folder,
        "sales",
        [
            (key_text(shop=s, item=i), {"id": id_, "shop": s, "item": i, "n": n, "at": AT + place})
            for place, (id_, s, i, n) in enumerate(sales)
        ],
        epoch,
    )


def write_prices(folder, prices):
    records = [
        (key_text(shop=s, item=i), None if price is None else {"shop": s, "item": i, "price": price})
        for s, i, price in prices
    ]
    write(folder, "prices", records)


def read(folder, name):
    """Read the keys and values of an output; each is in the partition of its key."""
    found = []
    for partition in range(PARTITIONS):
        ssp = Ssp("log", name, partition)
        with closing(LogConsumer(folder / "log.db", [stream(name)])) as consumer:
            consumer.assign({ssp: 0}, {})
            for fetched in consumer.poll([ssp], 10_000, 0):
                for message in fetched.messages:
                    assert partition_of(message.key, PARTITIONS) == partition
                    found.append((message.key.decode(), None if message.value is None else json.loads(message.value)))
    return found


def newest(folder, name):
    """The last value of each key; none if it was deleted."""
    return {key: value for key, value in dict(read(folder, name)).items() if value is not None}


def run(folder, document, **options):
    (folder / "spending.py").write_text(several_keys.SPENT)
    return apps.run(document, folder, **options)


SHOPS = st.sampled_from(["a", "ü", 'b"c', None])
SALES = st.lists(
    st.tuples(st.integers(1, 4), SHOPS, st.none() | st.integers(1, 3), st.integers(-3, 3)), min_size=1, max_size=12
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sales=SALES,
    prices=st.lists(st.tuples(SHOPS, st.integers(1, 3), st.none() | st.integers(1, 9)), max_size=6),
    processors=st.integers(1, 3),
)
def test_rows_of_two_columns_meet_and_are_written_under_both(tmp_path_factory, sales, prices, processors):
    folder = tmp_path_factory.mktemp("app")
    sales = [sale for place, sale in enumerate(sales) if sale[0] not in {other[0] for other in sales[:place]}]
    write_sales(folder, sales)
    write_prices(folder, prices)
    run(folder, several_keys.app(LOG, processors=processors))
    totals = {
        key_text(shop=shop, item=item): {"item": item, "shop": shop, "sales": count, "n": n}
        for (shop, item), (count, n) in several_keys.newest_sales(sales).items()
    }
    assert newest(folder, "totals") == totals
    assert newest(folder, "spent") == {
        key_text(shop=shop, item=item): {"shop": shop, "item": item, "spent": n}
        for (shop, item), n in several_keys.spent(sales).items()
    }
    assert newest(folder, "places") == {
        key_text(shop=shop, place=place): {
            "item": item,
            "shop": shop,
            "sales": totals[key_text(shop=shop, item=item)]["sales"],
            "n": n,
            "place": place,
        }
        for (shop, place), (item, n) in several_keys.best_items(sales).items()
    }
    price = {(shop, item): price for shop, item, price in prices if shop is not None}
    found = [(key, value["id"], value["price"]) for key, value in read(folder, "priced")]
    assert sorted(found) == sorted(
        (key_text(item=item, shop=shop), id_, price.get((shop, item))) for id_, shop, item, _ in sales
    )


def test_a_key_that_has_no_rows_any_more_is_deleted_under_both(tmp_path):
    (tmp_path / "spending.py").write_text(several_keys.SPENT)
    write_sales(tmp_path, [(1, "ü", 7, 2)])
    write_prices(tmp_path, [])
    document = several_keys.app(LOG, bounded=False)
    first, second = key_text(shop="ü", item=7), key_text(shop="b", item=None)
    apps.run_until(tmp_path, document, lambda: newest(tmp_path, "totals").keys() == {first})
    write_sales(tmp_path, [(1, "b", None, 5)], epoch=2)
    apps.run_until(tmp_path, document, lambda: newest(tmp_path, "totals").keys() == {second})
    assert (first, None) in read(tmp_path, "totals")
    assert newest(tmp_path, "places").keys() == {key_text(shop="b", place=1)}


def test_rows_that_are_not_where_the_bytes_of_their_key_belong_end_the_app(tmp_path):
    write_prices(tmp_path, [])
    key = key_text(shop="ü", item=7)
    elsewhere = (partition_of(key, PARTITIONS) + 1) % PARTITIONS
    value = {"id": 1, "shop": "ü", "item": 7, "n": 1, "at": AT}
    write(tmp_path, "sales", [(key, value)], place=lambda *_: elsewhere)
    with pytest.raises(ClaimBroken) as raised:
        run(tmp_path, several_keys.app(LOG))
    assert f"the row with key {key} is in partition {elsewhere}" in str(raised.value)
    assert 'murmur2 of `{"shop":...,"item":...}`, a JSON object without spaces' in str(raised.value)
    assert "`partitionBy` with the key `shop`, `item`" in str(raised.value)


@pytest.mark.parametrize("key", ['{"item":7,"shop":"ü"}', '{"shop":"ü"}', "ü", '{"shop":"ü","item":"seven"}'])
def test_a_deletion_of_a_key_that_is_another_one_can_not_be_read(tmp_path, key):
    write_sales(tmp_path, [(1, "ü", 7, 2)])
    write(tmp_path, "prices", [(key, None)])
    with pytest.raises(BadRecord, match=r"prices.*offset 0: (.*no JSON|column item)"):
        run(tmp_path, several_keys.app(LOG))


def stock(**fields):
    """The stock of each shop and item, as another producer changes it, summed by shop."""
    return {
        **several_keys.SHOP,
        "spec": {
            "systems": {"s": LOG},
            "streams": {
                "stock": {
                    "system": "s",
                    "schema": "shop string, item int, n int",
                    "key": ["shop", "item"],
                    "changes": "upsert",
                    **fields,
                },
                "shops": {"system": "s", "key": "shop", "partitions": PARTITIONS},
                "items": {"system": "s", "key": ["item", "shop"], "partitions": PARTITIONS},
            },
            "operators": [
                {"name": "by-shop", "from": "stock", "partitionBy": {"key": "shop"}},
                {"name": "total", "from": "by-shop", "aggregate": {"by": ["shop"], "select": "sum(n) as n"}},
                {"name": "sent", "from": "total", "sendTo": "shops"},
                {"name": "some", "from": "stock", "filter": "n > 0"},
                {"name": "some-sent", "from": "some", "sendTo": "items"},
            ],
            "job": {"commitInterval": "20ms"},
        },
    }


def changes(*rows):
    return [
        (key_text(shop=shop, item=item), None if n is None else {"shop": shop, "item": item, "n": n})
        for shop, item, n in rows
    ]


def test_changes_replace_each_other_by_both_columns_and_deletions_take_theirs_back(tmp_path):
    write(tmp_path, "stock", changes(("a", 1, 5), ("a", 2, 7), ("ü", None, 1), ("a", 1, 6), ("ü", None, None)))
    apps.run(stock(bounded=True), tmp_path)
    assert newest(tmp_path, "shops") == {"a": {"shop": "a", "n": 13}}
    assert newest(tmp_path, "items").keys() == {key_text(item=1, shop="a"), key_text(item=2, shop="a")}


@pytest.mark.parametrize("key", ['{"shop": "a", "item": 1}', '{"item":1,"shop":"a"}', '{"shop":"a","item":2}', "a"])
def test_a_change_under_another_key_than_that_of_its_row_can_not_be_read(tmp_path, key):
    write(tmp_path, "stock", [(key, {"shop": "a", "item": 1, "n": 5})])
    with pytest.raises(BadRecord, match=r"its key is .*, and its `shop` and `item` give .*"):
        apps.run(stock(bounded=True), tmp_path)


def test_another_app_groups_what_is_regrouped_by_both_where_it_is(tmp_path):
    sold = [(1, "ü", 7, 2), (2, "a", 7, 4), (3, "a", 8, 1)]
    write_sales(tmp_path, sold)
    sales = several_keys.app(LOG)["spec"]["streams"]["sales"]
    by_id = {"name": "by-id", "from": "sales", "partitionBy": {"key": "id"}}
    shared = {"name": "by-both", "from": "by-id", "partitionBy": {"key": ["shop", "item"], "stream": "shared"}}
    first = {
        **several_keys.SHOP,
        "spec": {
            "systems": {"s": LOG},
            "defaultSystem": "s",
            "streams": {"sales": sales},
            "operators": [by_id, shared],
            "job": {"commitInterval": "20ms", "watermarkInterval": "1ms", "intermediateStreamPartitions": PARTITIONS},
        },
    }
    schema = "id int, shop string, item int, n int, at timestamp"
    read_by = {"system": "s", "name": "shared", "schema": schema, "key": ["shop", "item"], "controlMessages": True}
    total = {"by": ["shop", "item"], "select": "sum(n) as n"}
    second = {
        **several_keys.SHOP,
        "metadata": {"name": "reader"},
        "spec": {
            "systems": {"s": {"log": {"path": str(tmp_path / "log.db")}}},
            "streams": {
                "read": read_by,
                "out": {"system": "s", "key": ["shop", "item"], "partitions": PARTITIONS},
            },
            "operators": [
                {"name": "total", "from": "read", "aggregate": total},
                {"name": "sent", "from": "total", "sendTo": "out"},
            ],
            "job": {"commitInterval": "20ms"},
        },
    }
    apps.run(first, tmp_path)
    expected = {key_text(shop=s, item=i): {"shop": s, "item": i, "n": n} for _, s, i, n in sold}
    (tmp_path / "reader").mkdir()
    apps.run_until(tmp_path / "reader", second, lambda: newest(tmp_path, "out") == expected)
