"""Queries over streams of changes, and joins of results, find what DuckDB finds in the newest rows."""

from collections import Counter
from random import Random

import duckdb
import pytest

from support import apps, json_logs

SCHEMAS = {"items": "item string, category string, price bigint", "categories": "category string, label string"}
KEYS = {"items": "item", "categories": "category"}
QUERIES = [
    "select item, price + 1 as more from items where price > 0",
    "select category, count(*) as n, sum(price) as total, max(price) as most from items where price > 0 group by 1",
    "select i.item, i.category, label from items as i join categories as c on i.category = c.category where price > 0",
    "select c.label, count(*) as n, sum(i.price) as total from items i join categories c on i.category = c.category "
    "group by c.label",
    "select i.item, m.category, m.most from items as i join (select category, max(price) as most from items group by "
    "category) as m on i.category = m.category where i.price = m.most",
    "select m.category, label, most from (select category, max(price) as most from items group by category) as m join "
    "categories as c on m.category = c.category",
    "select category, place, item, price from (select *, row_number() over (partition by category order by price desc, "
    "item) as place from items) where place <= 2",
    "select item, category, price, sum(price) over (partition by category order by price nulls first, item rows "
    "between 1 preceding and current row) as two, count(*) over (partition by category order by price nulls first, "
    "item rows between 1 preceding and current row) as n from items where price > -5 or price is null",
    "select i.item, i.category, c.category as found, label, price from items as i left join categories as c on "
    "c.category = i.category and label <> 'x' and price > 0",
    "select i.item, i.category, most, n from items as i left join (select category, max(price) as most, count(*) as n "
    "from items group by category having count(*) > 1) as m on i.category = m.category where n is null or price > 0",
    "select coalesce(label, 'none') as label, count(*) as n, sum(m.most) as total from (select category, max(price) as "
    "most from items group by category) as m left join categories as c on m.category = c.category group by 1",
    "select n, count(*) as categories from (select category, count(*) as n from items group by category) group by n",
    "select a.label, a.category, b.n from categories a join (select category, count(*) as n from items group by "
    "category having count(*) > 1) b on a.category = b.category",
]


def app(draw):
    log = {"system": "log", "changes": "upsert", "bounded": True}
    streams = {name: {**log, "schema": schema, "key": KEYS[name]} for name, schema in SCHEMAS.items()}
    outputs = {
        f"out-{number}": {"system": "files", "name": f"out/{number}", "format": "parquet", "changes": "final"}
        for number, _ in enumerate(QUERIES)
    }
    operators = [{"name": f"q-{number}", "sql": query} for number, query in enumerate(QUERIES)]
    operators += [{"name": f"s-{n}", "from": f"q-{n}", "sendTo": f"out-{n}"} for n, _ in enumerate(QUERIES)]
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}, "files": {"file": {"path": "."}}},
        "defaultSystem": "log",
        "streams": streams | outputs,
        "operators": operators,
        "job": {"commitInterval": draw.choice(["10ms", "5s"]), "intermediateStreamPartitions": draw.randint(1, 3)},
        "processors": {"count": draw.randint(1, 2)},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def changed(draw, stream, keys, fields):
    """Draw changes of a stream's keys, and return them with the newest rows."""
    changes = []
    for _ in range(draw.randint(10, 60)):
        key = draw.choice(keys)
        row = {KEYS[stream]: key, **{name: draw.choice(values) for name, values in fields.items()}}
        changes.append((key, None if draw.random() < 0.2 else row))
    return changes, [row for row in dict(changes).values() if row is not None]


@pytest.mark.parametrize("seed", range(4))
def test_queries_over_changes_find_what_an_oracle_finds_in_the_newest_rows(tmp_path, seed):
    draw = Random(seed)
    drawn = {
        "items": changed(draw, "items", "abcdefgh", {"category": [None, "x", "y", "z"], "price": [None, -1, 1, 2, 5]}),
        "categories": changed(draw, "categories", "xyz", {"label": [None, "good", "bad"]}),
    }
    with duckdb.connect() as database:
        for name, (changes, newest) in drawn.items():
            json_logs.write(tmp_path, name, 1, [(0, key, row) for key, row in changes], epoch=len(name))
            database.execute(f"create table {name} ({SCHEMAS[name].replace('string', 'text')})")
            for row in newest:
                database.execute(f"insert into {name} values ({', '.join('?' for _ in row)})", list(row.values()))
        apps.run(app(draw), tmp_path)
        for number, query in enumerate(QUERIES):
            folder = tmp_path / f"out/{number}"
            parts = f"select * from read_parquet('{folder}/*.parquet')"
            found = database.execute(parts).fetchall() if apps.parts(folder) else []
            assert Counter(found) == Counter(database.execute(query).fetchall()), query
