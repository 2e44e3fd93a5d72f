"""Random apps on random rows, in random circumstances: what the planner accepts of them must be right.

Every edge between operators has the columns `id int, k KEY, g KEY, v int`, so that any operator may follow any
other; what makes other columns is followed by a map that restores these. All is drawn from a number, so that an app can
be had again by the number of its seed and its own.
"""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from differential.cases import Case, Source, Start
from differential.key_kinds import KINDS, KeyKind
from differential.random_inputs import BOUNDS, random_changes, random_source, random_table
from streamapp_runtime.fail_points import FailPoint, Moment

MAPS = (
    "id, k, g, v",
    "id, g as k, k as g, v",
    "id, k, k as g, v * 2 as v",
    "id, nullif(k, g) as k, g, v",
    "id, case when id % 2 = 0 then k else g end as k, g, v",
)
FILTERS = ("v > 0 or v is null", "id % 3 <> 0", "k = g")
KEYS = ("k", "g", ["k", "g"], ["g", "k"])
GROUPS = (("k",), ("g",), ("k", "g"))
AGGREGATES = (
    "count(*) as id, max({other}) as {other}, sum(v) as v",
    "count(v) as id, min({other}) as {other}, max(v) as v",
    "count(distinct {other}) as id, max({other}) as {other}, count(*) as v",
    "sum(distinct id) as id, min({other}) as {other}, count(distinct v) as v",
)
ALL_KEYS = "count(*) as id, sum(v) as v"
RESTORED = "cast(id as int) as id, k, g, cast(v as int) as v"
WINDOWS = ({"tumbling": "1h"}, {"sliding": "2h", "every": "1h"}, {"session": "1h"}, {"tumbling": "30m"})
JOINS = ("inner", "left", "right", "full")
LAST_ROWS = ("sum(v) as m", "count(*) as m", "min(id) as m", "max(v) as m", "count(v) as m")
ORDERS = ("v desc, id", "abs(v), id desc nulls first", "id % 3 nulls last, v")
KEY_OF = {"hashed": {"key": "k"}, "hashed by both": {"key": ["g", "k"]}, "hashed by id": {"key": "id"}}
FAR = {"ttl": "30d"}
"""Longer than all rows are apart: what has a `ttl` keeps them in other ways, and finds the same."""
MOST_STEPS = 6
PROCESSORS = (1, 1, 2, 3)
FUNCTIONS = ("Totals", "Silence", "Hourly", "Before")


@dataclass
class _Draft:
    """An app on its way: `open` are the names that may be read, `unread` those that nothing has read yet."""

    random: Random
    kind: KeyKind
    starts: int
    streams: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    operators: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    begun: int = 0
    changes: bool = False
    may_begin_late: bool = False

    @property
    def columns(self) -> str:
        """The columns of every edge."""
        return f"id int, k {self.kind.type}, g {self.kind.type}, v int"

    def add(self, base: str, reads: str | list[str], **config: Any) -> str:
        """Add an operator and return its name; what it reads is read."""
        name = f"{base}-{len(self.operators)}"
        self.operators.append({"name": name, "from": reads, **config})
        others = [config["join"]["with"]] if "join" in config else []
        for read in [*([reads] if isinstance(reads, str) else reads), *others]:
            if read in self.unread:
                self.unread.remove(read)
        return name

    def result(self, name: str) -> None:
        """Let later operators read this; it ends a step."""
        self.open.append(name)
        self.unread.append(name)
        self.steps[name] = tuple(operator["name"] for operator in self.operators[self.begun :])
        self.begun = len(self.operators)

    def pick(self, *, but: str | None = None) -> str:
        """Choose something to read, most often what nothing has read yet."""
        candidates = [name for name in self.open if name != but]
        recent = [name for name in self.unread if name != but]
        return self.random.choice(recent if recent and self.random.random() < 0.7 else candidates)


def _source(draft: _Draft, name: str) -> None:
    random = draft.random
    bound = random.choice(list(BOUNDS))
    source = random_source(random, draft.kind, bound=bound, starts=draft.starts)
    event_time = {"column": "at", "maxOutOfOrderness": bound}
    if source.last and len(source.stages) == 1 and random.random() < 0.3:
        source = replace(source, last=tuple(random.sample(source.last, random.randint(1, len(source.last)))))
        event_time["idleTimeout"] = "300ms"
    draft.sources[name] = source
    draft.streams[name] = {
        "system": source.system,
        "schema": f"{draft.columns}, at timestamp",
        "eventTime": event_time,
        **_format(source),
        **({"broadcast": True} if random.random() < 0.1 else {}),
    }
    draft.result(draft.add("base", name, map=MAPS[0]))


def _changes(draft: _Draft, name: str) -> None:
    """Read a stream of changes; a function may be given its event times, so it has some."""
    source = random_changes(draft.random, draft.kind, starts=draft.starts, grows=not draft.may_begin_late)
    draft.sources[name] = source
    draft.streams[name] = {
        "system": "log",
        "schema": f"{draft.columns}, at timestamp",
        "changes": "upsert",
        "eventTime": {"column": "at", "maxOutOfOrderness": "1d"},
        **_format(source),
    }
    draft.result(draft.add("base", name, map=MAPS[0]))


def _ttl(draft: _Draft) -> dict[str, str]:
    return FAR if draft.random.random() < 0.15 and not draft.changes else {}


def _format(source: Source) -> dict[str, Any]:
    """Return what a declaration says of a stream's system, keys and end; files claim less than they might."""
    if source.system == "files":
        claim = {"key": "k", "partitioned": True} if source.placing == "apart" else {}
        return {"format": "csv", "csv": {"nullValue": "NULL"}, **claim}
    return {**({} if source.last else {"bounded": True}), **KEY_OF.get(source.placing, {})}


def _filter(draft: _Draft) -> None:
    draft.result(draft.add("filter", draft.pick(), filter=draft.random.choice(FILTERS)))


def _map(draft: _Draft) -> None:
    draft.result(draft.add("map", draft.pick(), map=draft.random.choice([*MAPS, *draft.kind.maps])))


def _flat_map(draft: _Draft) -> None:
    made = draft.add("exploded", draft.pick(), flatMap="id, k, g, v, explode(split('x,y', ',')) as part")
    draft.result(draft.add("restored", made, map=MAPS[0]))


def _shuffle(draft: _Draft) -> None:
    draft.result(draft.add("by", draft.pick(), partitionBy={"key": draft.random.choice(KEYS)}))


def _broadcast(draft: _Draft) -> None:
    draft.result(draft.add("everywhere", draft.pick(), broadcast={}))


def _merge(draft: _Draft) -> None:
    first = draft.pick()
    if len(draft.open) == 1:
        return
    second = draft.pick(but=first)
    draft.result(draft.add("merge", [first, second], merge={}))


def _grouped(draft: _Draft, by: tuple[str, ...]) -> str:
    """Read something, most often regrouped by a column of the group, or by all."""
    source = draft.pick()
    if draft.random.random() < 0.25:
        return source
    return draft.add("keyed", source, partitionBy={"key": list(by) if draft.random.random() < 0.5 else by[0]})


def _select(draft: _Draft, by: tuple[str, ...]) -> str:
    others = [column for column in ("k", "g") if column not in by]
    return draft.random.choice(AGGREGATES).format(other=others[0]) if others else ALL_KEYS


def _aggregate(draft: _Draft) -> None:
    by = draft.random.choice(GROUPS)
    total = {"by": list(by), "select": _select(draft, by), **_ttl(draft)}
    draft.result(draft.add("restored", draft.add("total", _grouped(draft, by), aggregate=total), map=RESTORED))


def _top_n(draft: _Draft) -> None:
    by, n = draft.random.choice(GROUPS), draft.random.choice([1, 1, 2, 3])
    rank = {} if n == 1 or draft.random.random() < 0.2 else {"rank": "place"}
    top = {"by": list(by), "orderBy": draft.random.choice(ORDERS), "n": n, **rank, **_ttl(draft)}
    made = draft.add("top", _grouped(draft, by), topN=top)
    draft.result(draft.add("restored", made, map="id, k, g, place as v") if rank else made)


def _over(draft: _Draft) -> None:
    by, random = draft.random.choice(GROUPS), draft.random
    frame = random.choice(
        [{"rows": 1}, {"rows": 3}, {"rows": 2, "range": "forever"}, {"range": "30m"}, {"range": "0ms"}]
    )
    over = {"by": list(by), **frame, "select": random.choice(LAST_ROWS)}
    if random.random() < 0.1:
        over["orderBy"] = random.choice(ORDERS)
    made = draft.add("recent", _grouped(draft, by), over=over)
    draft.result(draft.add("restored", made, map="id, k, g, cast(m as int) as v"))


def _over_results(draft: _Draft) -> None:
    """Read the last ones of results, which replace each other."""
    by = draft.random.choice(GROUPS)
    total = draft.add("total", _grouped(draft, by), aggregate={"by": list(by), "select": _select(draft, by)})
    results = draft.add("restored", total, map=RESTORED)
    if draft.random.random() < 0.5:
        results = draft.add("filter", results, filter=draft.random.choice(FILTERS))
    again = draft.random.choice(by)
    over = {"by": [again], "orderBy": draft.random.choice(ORDERS), "rows": 2, "select": draft.random.choice(LAST_ROWS)}
    made = draft.add("recent", draft.add("keyed", results, partitionBy={"key": again}), over=over)
    draft.result(draft.add("restored", made, map="id, k, g, cast(m as int) as v"))


def _of_results(draft: _Draft) -> None:
    """Group the results of an aggregate, which replace each other."""
    _aggregate(draft)
    before, unread = draft.open, draft.unread
    results = before[-1]
    draft.open, draft.unread = [results], [results]
    draft.random.choice([_top_n, _top_n, _aggregate])(draft)
    draft.open = [*before, *draft.open[1:]]
    draft.unread = [*(name for name in unread if name != results), *draft.unread]


def _joined_results(draft: _Draft) -> None:
    """Join the results of two aggregates, which replace each other."""
    left, right = (
        draft.add("total", _grouped(draft, ("k",)), aggregate={"by": ["k"], "select": _select(draft, ("k",))})
        for _ in range(2)
    )
    other = draft.add("other", right, map="cast(id as int) as rid, k as rk, g as rg, cast(v as int) as rv")
    mine = draft.add("restored", left, map=RESTORED)
    if draft.random.random() < 0.5:
        mine = draft.add("filter", mine, filter=draft.random.choice(FILTERS))
    made = draft.add("join", mine, join={"with": other, "on": {"left": "k", "right": "rk"}})
    columns = "coalesce(id, 0) + coalesce(rid, 0) as id, k, coalesce(g, rg) as g, coalesce(v, rv) as v"
    draft.result(draft.add("joined-results", made, map=columns))


def _over_changes(draft: _Draft) -> None:
    """Read the last ones of rows that most probably replace each other."""
    by, random = draft.random.choice(GROUPS), draft.random
    over = {"by": list(by), "orderBy": random.choice(ORDERS), "rows": random.randint(1, 3)}
    made = draft.add("recent", _grouped(draft, by), over={**over, "select": random.choice(LAST_ROWS)})
    draft.result(draft.add("restored", made, map="id, k, g, cast(m as int) as v"))


def _joined_changes(draft: _Draft) -> None:
    """Join rows that most probably replace each other by keys of theirs, and keep both keys."""
    left, right = _grouped(draft, ("k",)), _grouped(draft, ("k",))
    other = draft.add("other", right, map="id as rid, k as rk, g as rg, v as rv")
    made = draft.add("join", left, join={"with": other, "on": {"left": "k", "right": "rk"}})
    rest = draft.random.choice(["g, rid as v", "rg as g, rid as v", "g, coalesce(v, rv) as v"])
    draft.result(draft.add("joined-changes", made, map=f"id, k, {rest}"))


def _kept(draft: _Draft) -> None:
    """Write the table at the end, or the history of changes."""
    by = draft.random.choice(GROUPS)
    made = draft.add("total", _grouped(draft, by), aggregate={"by": list(by), "select": _select(draft, by)})
    results = draft.add("restored", made, map=RESTORED)
    if draft.random.random() < 0.5:
        results = draft.add("filter", results, filter=draft.random.choice(FILTERS))
    endless = any(source.last for source in draft.sources.values())
    name = f"kept-{results}"
    changes = "log" if endless else draft.random.choice(["log", "final", "final"])
    draft.streams[name] = {"system": "files", "name": f"out/{name}", "format": "csv", "changes": changes}
    draft.add("sent", results, sendTo=name)


def _dedup(draft: _Draft) -> None:
    """Add an output of the different keys: which of their rows are first, and their times, have no one meaning."""
    by = draft.random.choice(GROUPS)
    once = draft.add("once", _grouped(draft, by), dedup={"by": list(by), **_ttl(draft)})
    name = f"different-{once}"
    draft.streams[name] = {"system": "files", "name": f"out/{name}", "format": "csv"}
    columns = ", ".join(column if column in by else f"{by[0]} as {column}" for column in ("k", "g"))
    draft.add("sent", draft.add("keys", once, map=f"1 as id, {columns}, 1 as v"), sendTo=name)


def _window(draft: _Draft) -> None:
    by = draft.random.choice(GROUPS)
    window = {**draft.random.choice(WINDOWS), "by": list(by), "select": _select(draft, by)}
    if "session" not in window and draft.random.random() < 0.3:
        del window["select"]
        ties = draft.random.random() < 0.5
        window["topN"] = {"orderBy": draft.random.choice(ORDERS), "n": draft.random.randint(1, 2), "ties": ties}
        made = draft.add("window", _grouped(draft, by), window=window)
        draft.result(draft.add("restored", made, map=MAPS[0]))
        return
    made = draft.add("window", _grouped(draft, by), window=window)
    draft.result(draft.add("restored", made, map=RESTORED))


def _join(draft: _Draft) -> None:
    left, right = _grouped(draft, ("k",)), _grouped(draft, ("k",))
    key = f"cast(k as {draft.kind.joined_as})" if draft.random.random() < 0.15 else "k"
    other = draft.add("other", right, map=f"id as rid, {key} as rk, g as rg, v as rv")
    join = {"with": other, "on": {"left": "k", "right": "rk"}, **_bound(draft.random)}
    made = draft.add("join", left, join=join)
    columns = "coalesce(id, 0) + coalesce(rid, 0) as id, k, coalesce(g, rg) as g, coalesce(v, rv) as v"
    draft.result(draft.add("joined", made, map=columns))


def _bound(random: Random) -> dict[str, Any]:
    """Return how a join is bounded, and what it emits without a partner."""
    if random.random() < 0.25:
        return {"asOf": True, "type": random.choice(JOINS[:2]), **random.choice([{}, {"within": "1h"}])}
    unbounded = random.choice([{}, {}, FAR])
    return unbounded if random.random() < 0.3 else {"type": random.choice(JOINS), "within": "1h"}


def _join_by_both(draft: _Draft) -> None:
    """Join by two columns rows that are regrouped by both, or by one of them."""
    key = draft.random.choice(KEYS[::2])
    left, right = (draft.add("keyed", draft.pick(), partitionBy={"key": key}) for _ in range(2))
    other = draft.add("other", right, map="id as rid, k, g, v as rv")
    made = draft.add("join", left, join={"with": other, "on": ["k", "g"], **_bound(draft.random)})
    columns = "coalesce(id, 0) + coalesce(rid, 0) as id, k, g, coalesce(v, rv) as v"
    draft.result(draft.add("joined", made, map=columns))


def _process(draft: _Draft) -> None:
    random = draft.random
    if random.random() < 0.25:
        function = random.choice(["twice", "later"])
        process = {"function": f"differential.functions:{function}", "schema": draft.columns}
        draft.result(draft.add("called", draft.pick(), process=process))
        return
    name, key = random.choice(FUNCTIONS), random.choice(["k", "g", ["g", "k"]])
    by = key if isinstance(key, list) else [key]
    process = {
        "function": f"differential.functions:{name}By{'And'.join(map(str.upper, by))}",
        "schema": draft.columns,
        "state": {"key": key},
        **({"order": "arrival"} if name == "Totals" and random.random() < 0.7 else {}),
    }
    draft.result(draft.add("called", _grouped(draft, tuple(by)), process=process))


def _join_table(draft: _Draft) -> None:
    random = draft.random
    table = _side_table(draft) if not draft.tables or random.random() < 0.8 else random.choice(list(draft.tables))
    both = isinstance(draft.tables[table]["key"], list)
    on = random.choice(["k", "g"])
    filled = "sideInputs" not in draft.tables[table]
    kind = "left" if filled else random.choice(["inner", "left"])
    by = ("k",) if both else (on,)
    looked_up = {"table": table, "on": ["k", "g"] if both else on, "type": kind}
    made = draft.add("sized", _grouped(draft, by), joinTable=looked_up)
    # What an operator puts into a table comes before or after the rows that look it up: that has no one meaning, and
    # goes to outputs alone (`_fill_table`), where it must be something that the key once had.
    draft.result(draft.add("restored", made, map=MAPS[0] if filled else "id, k, g, coalesce(size, v) as v"))


def _side_table(draft: _Draft) -> str:
    random, kind = draft.random, draft.kind
    table = f"sizes{len(draft.tables)}"
    broadcast, avoid = random.random() < 0.4, set[str]()
    sides = []
    for _ in range(random.choice([1, 1, 1, 2])):
        stream = f"names{len(draft.streams)}"
        source = random_table(random, kind, avoid=avoid, one_file=not broadcast and random.random() < 0.8)
        draft.sources[stream] = source
        draft.streams[stream] = {
            "system": source.system,
            "schema": f"nid int, nk {kind.type}, ng {kind.type}, nv int, nat timestamp",
            "bounded": random.random() < 0.7,
            **({"format": "csv", "csv": {"nullValue": "NULL"}} if source.system == "files" else {}),
            **({"key": "nk"} if source.placing == "hashed" else {}),
            **({"key": "nk", "partitioned": True} if source.system == "files" else {}),
            **({"broadcast": True} if broadcast else {}),
        }
        sides.append(stream)
    key = ["nk", "ng"] if random.random() < 0.3 else "nk"
    draft.tables[table] = {"key": key, "value": "nv as size", "sideInputs": sides}
    return table


def _fill_table(draft: _Draft) -> None:
    table = f"filled{len(draft.tables)}"
    draft.tables[table] = {"key": "k", "value": "id * 1000 + coalesce(v, 0) as size", "schema": draft.columns}
    filling = _grouped(draft, ("k",))
    draft.add("stored", filling, sendToTable=table)
    draft.streams[f"put-into-{table}"] = {"system": "files", "name": f"out/put-into-{table}", "format": "csv"}
    draft.add("put", filling, sendTo=f"put-into-{table}")
    on = draft.random.choice(["k", "k", "g"])
    made = draft.add("sized", _grouped(draft, (on,)), joinTable={"table": table, "on": on, "type": "left"})
    draft.streams[f"found-in-{table}"] = {"system": "files", "name": f"out/found-in-{table}", "format": "csv"}
    draft.add("found", made, sendTo=f"found-in-{table}")
    draft.result(draft.add("restored", made, map=MAPS[0]))


def _keep_last_rows_waiting(draft: _Draft) -> None:
    """Let no watermark reach the last rows of streams without an end where a function would emit these rows."""
    if any(":Before" in operator.get("process", {}).get("function", "") for operator in draft.operators):
        for name, source in draft.sources.items():
            event_time = draft.streams[name].get("eventTime", {})
            if source.last and event_time["maxOutOfOrderness"] == "0ms":
                event_time["maxOutOfOrderness"] = "1ms"


STEPS = (
    _filter,
    _map,
    _flat_map,
    _shuffle,
    _broadcast,
    _merge,
    _aggregate,
    _top_n,
    _over,
    _over_results,
    _of_results,
    _joined_results,
    _dedup,
    _window,
    _join,
    _join_by_both,
    _join_table,
    _process,
    _kept,
)
WEIGHTED = (*STEPS, _merge, _merge, _window, _window, _join, _process, _process, _fill_table, _fill_table)
CHANGE_STEPS = (
    _filter,
    _map,
    _shuffle,
    _aggregate,
    _aggregate,
    _top_n,
    _top_n,
    _over_changes,
    _over_changes,
    _joined_results,
    _joined_changes,
    _joined_changes,
    _join_table,
    _of_results,
    _kept,
)
"""Steps that may follow rows that replace each other."""


def random_case(seed: int, number: int) -> Case:
    """Return a random app with its rows and circumstances; whether the planner accepts it is not known."""
    random = Random(f"{seed}/{number}")
    keys = random.choice(["string", "string", "string", *KINDS])
    starts = tuple(_start(random) for _ in range(random.choice([0, 0, 1, 1, 2])))
    may_begin_late = any((start.fail_point or "").startswith("run") for start in starts)
    draft = _Draft(random, KINDS[keys], len(starts), may_begin_late=may_begin_late)
    draft.changes = random.random() < 0.3
    for place in range(random.randint(1, 3)):
        (_changes if draft.changes and random.random() < 0.8 else _source)(draft, f"rows{place}")
    for _ in range(random.randint(1, MOST_STEPS)):
        random.choice(CHANGE_STEPS if draft.changes else WEIGHTED)(draft)
    _keep_last_rows_waiting(draft)
    sent = [*draft.unread, *random.sample(draft.open, min(len(draft.open), random.choice([0, 0, 1, 2])))]
    for place, name in enumerate(sent):
        draft.streams[f"out{place}"] = {"system": "files", "name": f"out/{place}-{name}", "format": "csv"}
        draft.add("sent", name, sendTo=f"out{place}")
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
            "defaultSystem": "log",
            "streams": draft.streams,
            "tables": draft.tables,
            "operators": draft.operators,
            "job": _job(random, grows=any(len(source.stages) > 1 for source in draft.sources.values())),
            "processors": {"count": random.choice(PROCESSORS)},
        },
    }
    return Case(document=document, keys=keys, sources=draft.sources, steps=draft.steps, starts=starts)


def _job(random: Random, *, grows: bool) -> dict[str, Any]:
    partitions = random.choice([None, None, 1, 2, 3, 4, 5])
    return {
        "commitInterval": random.choice(["10ms", "20ms", "50ms", "300ms", "300ms", "1s"]),
        "watermarkInterval": random.choice(["1ms", "1ms", "100ms"]),
        "grouper": random.choice([*["partition"] * 20, "stream-partition", "all"]),
        "partitionMonitor": {"interval": "1s" if grows else "1m"},
        **({} if partitions is None else {"intermediateStreamPartitions": partitions}),
    }


def _start(random: Random) -> Start:
    processors = random.choice(PROCESSORS)
    if random.random() < 0.35:
        return Start(processors=processors, reports=random.randint(1, 3))
    point = random.choice([point for point in FailPoint if not point.startswith("replace")])
    if random.random() < 0.5:
        point = random.choice([point for point in FailPoint if point.startswith("commit")])
    times = random.randint(1, 8) if point.startswith(("commit", "task")) else 1
    return Start(processors=processors, fail_point=f"{point}:{random.choice(list(Moment))}:{times}")
