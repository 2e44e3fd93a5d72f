"""Windows and joins over the numbered records: a record's number is its event time, so all results are known.

Of each key there are tumbling windows, sessions, and pairs of records that come through two shuffles of their own. What
comes out proves that none is lost, doubled, emitted too early or counted in part.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path

from streamapp_core.spec.systems import SystemSpec
from streamapp_systems.registry import local_systems
from support import numbered

LENGTH, BURST, PAUSE = 50, 10, 10
"""Numbers of a window; of a session; and between two of these."""
COLLECTED = 3
OUTPUTS = ("windows", "sessions", "pairs")


def extended(document: dict) -> dict:
    """Add windows, sessions and a join to the app of `numbered`."""
    spec, name = document["spec"], document["metadata"]["name"]
    spec["streams"]["in"] |= {"schema": "k int, n bigint", "eventTime": {"column": "n"}}
    form = {"system": numbered.HUB, "key": "k", "partitions": numbered.OUT_PARTITIONS}
    spec["streams"] |= {which: {**form, "name": f"{name}.{which}"} for which in OUTPUTS}
    some = f"array_join(slice(collect_list(n), 1, {COLLECTED}), ' ')"
    select = f"count(*) as c, count(distinct n) as d, first(n) as first, last(n) as last, {some} as some"
    on = {"left": "k", "right": "key"}
    spec["operators"] += [
        {"name": "tumbled", "from": "again", "window": {"tumbling": f"{LENGTH}ms", "by": ["k"], "select": select}},
        {"name": "windows-sent", "from": "tumbled", "sendTo": "windows"},
        {"name": "bursts", "from": "again", "filter": f"n % {BURST + PAUSE} < {BURST}"},
        {"name": "gathered", "from": "bursts", "window": {"session": f"{PAUSE}ms", "by": ["k"], "select": select}},
        {"name": "sessions-sent", "from": "gathered", "sendTo": "sessions"},
        {"name": "fives", "from": "again", "filter": "n % 5 = 0"},
        {"name": "tens", "from": "by-name", "filter": "n % 10 = 0"},
        {"name": "echoes", "from": "tens", "map": "k as key, n as m"},
        {"name": "echoed", "from": "echoes", "partitionBy": {"key": "key"}},
        {"name": "paired", "from": "fives", "join": {"with": "echoed", "on": on, "type": "left", "within": "4ms"}},
        {"name": "pairs-sent", "from": "paired", "sendTo": "pairs"},
    ]
    return document


def lay_out(folder: Path, *arguments: object, **options: object) -> None:
    """As `numbered.lay_out`, with windows and joins."""
    numbered.lay_out(folder, *arguments, **options)
    (folder / "app.yaml").write_text(json.dumps(extended(json.loads((folder / "app.yaml").read_text()))))


def check(folder: Path, records: int = numbered.RECORDS) -> None:
    """Prove what `numbered.check` proves, and that results in time are exact.

    Streams without an end have windows that are still open; then results are those of the first numbers of each key.
    """
    numbered.check(folder, records)
    document = json.loads((folder / "app.yaml").read_text())
    name, spec = document["metadata"]["name"], document["spec"]
    streams = [numbered.stream_of(name, which) for which in OUTPUTS]
    system = SystemSpec.model_validate_json(json.dumps(spec["systems"][numbered.HUB]))
    found = numbered.read(local_systems(folder), system, streams)
    bounded = spec["streams"]["in"]["bounded"]
    for which, expected in zip(OUTPUTS, (_windows, _sessions, _pairs), strict=True):
        given = _by_key(found[which])
        for key in range(min(numbered.KEYS, records)):
            every = expected(len(range(key, records, numbered.KEYS)))
            wanted = every if bounded else _as_far(every, given[key])
            assert Counter(given[key]) == Counter(wanted), (which, key)


def _by_key(rows: list[tuple[int, dict]]) -> dict[int, list[tuple]]:
    found = defaultdict(list)
    for _, row in rows:
        columns = ("n", "m") if "n" in row else ("c", "d", "first", "last", "some")
        found[row["k"]].append(tuple(row.get(column) for column in columns))
    return found


def _windows(count: int) -> list[tuple]:
    return [_result(start, min(start + LENGTH, count)) for start in range(0, count, LENGTH)]


def _sessions(count: int) -> list[tuple]:
    return [_result(start, min(start + BURST, count)) for start in range(0, count, BURST + PAUSE)]


def _result(first: int, end: int) -> tuple:
    some = range(first, min(first + COLLECTED, end))
    return end - first, end - first, first, end - 1, " ".join(map(str, some))


def _pairs(count: int) -> list[tuple]:
    return [(n, None if n % 10 else n) for n in range(0, count, 5)]


def _as_far(every: list[tuple], given: list[tuple]) -> list[tuple]:
    """Take as many results as were given from the first ones; those that met nobody come later than the others."""
    alone = [[result for result in results if result[1] is None] for results in (every, given)]
    others = [[result for result in results if result[1] is not None] for results in (every, given)]
    return [result for all_, some in (alone, others) for result in all_[: len(some)]]
