"""Random apps on random rows, in random circumstances: what the planner accepts of them must be right.

Every edge between operators has the columns `id int, k string, g string, v int`, so that any operator may follow any
other; what makes other columns is followed by a map that restores these.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

SCHEMA = "id int, k string, g string, v int, at timestamp"
MAPS = ("id, k, g, v", "id, g as k, k as g, v", "id, k, k as g, v * 2 as v", "id, upper(k) as k, g, v")
FILTERS = ("v > 0 or v is null", "id % 3 <> 0", "k = g")
GROUPS = (("k",), ("g",), ("k", "g"))
AGGREGATES = "count(*) as id, max({other}) as {other}, sum(v) as v"
ALL_KEYS = "count(*) as id, sum(v) as v"
RESTORED = "cast(id as int) as id, k, g, cast(v as int) as v"
WINDOWS = ({"tumbling": "1h"}, {"sliding": "2h", "every": "1h"}, {"session": "1h"})
JOINS = ("inner", "left", "right", "full")
MOST_STEPS = 6

KEYS = st.sampled_from(["a", "b", "c", "d", "ü"])
ROW = st.tuples(
    st.integers(0, 99),
    st.none() | KEYS,
    KEYS,
    st.none() | st.integers(-9, 9),
    st.integers(0, 5 * 3600),
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """An input: its rows, in partitions. Rows of a log with a key are in the partition of their key."""

    system: str
    partitions: int
    keyed: bool
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An app, what it reads, and after how many reports of progress it is stopped and started again."""

    document: dict[str, Any]
    sources: dict[str, Source]
    stops: tuple[int, ...]


@dataclass
class _Draft:
    """An app on its way: `open` are the names that may be read, `unread` those that nothing has read yet."""

    draw: Any
    streams: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    operators: list[dict[str, Any]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

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
        """Let later operators read this."""
        self.open.append(name)
        self.unread.append(name)

    def pick(self, *, but: str | None = None) -> str:
        """Choose something to read, most often what nothing has read yet."""
        candidates = [name for name in self.open if name != but]
        recent = [name for name in self.unread if name != but]
        return self.draw(st.sampled_from(recent if recent and self.draw(st.integers(0, 2)) else candidates))


def _source(draft: _Draft, name: str) -> None:
    draw = draft.draw
    system = draw(st.sampled_from(["files", "log"]))
    keyed = draw(st.booleans())
    broadcast = draw(st.integers(0, 6)) == 0
    rows = tuple(draw(st.lists(ROW, min_size=1, max_size=25)))
    draft.sources[name] = Source(system=system, partitions=draw(st.integers(1, 4)), keyed=keyed, rows=rows)
    draft.streams[name] = {
        "system": system,
        "schema": SCHEMA,
        "eventTime": {"column": "at", "maxOutOfOrderness": "1d"},
        **({"format": "csv", "csv": {"nullValue": "NULL"}} if system == "files" else {"bounded": True}),
        **({"key": "k"} if keyed else {}),
        **({"broadcast": True} if broadcast else {}),
    }
    draft.result(draft.add("base", name, map=MAPS[0]))


def _filter(draft: _Draft) -> None:
    draft.result(draft.add("filter", draft.pick(), filter=draft.draw(st.sampled_from(FILTERS))))


def _map(draft: _Draft) -> None:
    draft.result(draft.add("map", draft.pick(), map=draft.draw(st.sampled_from(MAPS))))


def _shuffle(draft: _Draft) -> None:
    draft.result(draft.add("by", draft.pick(), partitionBy={"key": draft.draw(st.sampled_from(["k", "g"]))}))


def _broadcast(draft: _Draft) -> None:
    draft.result(draft.add("everywhere", draft.pick(), broadcast={}))


def _merge(draft: _Draft) -> None:
    first = draft.pick()
    if len(draft.open) == 1:
        return
    second = draft.pick(but=first)
    draft.result(draft.add("merge", [first, second], merge={}))


def _grouped(draft: _Draft, by: tuple[str, ...]) -> str:
    """Read something, most often regrouped by a column of the group."""
    source = draft.pick()
    if draft.draw(st.integers(0, 3)) == 0:
        return source
    return draft.add("keyed", source, partitionBy={"key": by[0]})


def _select(by: tuple[str, ...]) -> str:
    others = [column for column in ("k", "g") if column not in by]
    return AGGREGATES.format(other=others[0]) if others else ALL_KEYS


def _aggregate(draft: _Draft) -> None:
    by = draft.draw(st.sampled_from(GROUPS))
    made = draft.add("total", _grouped(draft, by), aggregate={"by": list(by), "select": _select(by)})
    draft.result(draft.add("restored", made, map=RESTORED))


def _window(draft: _Draft) -> None:
    by = draft.draw(st.sampled_from(GROUPS))
    window = {**draft.draw(st.sampled_from(WINDOWS)), "by": list(by), "select": _select(by)}
    made = draft.add("window", _grouped(draft, by), window=window)
    draft.result(draft.add("restored", made, map=RESTORED))


def _join(draft: _Draft) -> None:
    left, right = _grouped(draft, ("k",)), _grouped(draft, ("k",))
    other = draft.add("other", right, map="id as rid, k as rk, g as rg, v as rv")
    kind = draft.draw(st.sampled_from(JOINS))
    join = {"with": other, "on": {"left": "k", "right": "rk"}, "type": kind, "within": "1h"}
    made = draft.add("join", left, join=join)
    columns = "coalesce(id, 0) + coalesce(rid, 0) as id, k, coalesce(g, rg) as g, coalesce(v, rv) as v"
    draft.result(draft.add("joined", made, map=columns))


def _join_table(draft: _Draft) -> None:
    draw = draft.draw
    number = len(draft.tables)
    names = draw(st.dictionaries(KEYS, st.integers(0, 9), min_size=1, max_size=4))
    system = draw(st.sampled_from(["files", "log"]))
    source = Source(
        system=system,
        partitions=draw(st.integers(1, 4)),
        keyed=True,
        rows=tuple((size, key, key, size, 0) for key, size in names.items()),
    )
    stream, table = f"names{number}", f"sizes{number}"
    draft.sources[stream] = source
    draft.streams[stream] = {
        "system": system,
        "schema": "nid int, nk string, ng string, nv int, nat timestamp",
        "key": "nk",
        **({"format": "csv", "csv": {"nullValue": "NULL"}} if system == "files" else {"bounded": True}),
        **({"broadcast": True} if draw(st.booleans()) else {}),
    }
    draft.tables[table] = {"key": "nk", "value": "nv as size", "sideInputs": [stream]}
    on = draw(st.sampled_from(["k", "g"]))
    read = _grouped(draft, (on,))
    kind = draw(st.sampled_from(["inner", "left"]))
    made = draft.add("sized", read, joinTable={"table": table, "on": on, "type": kind})
    draft.result(draft.add("restored", made, map="id, k, g, coalesce(size, v) as v"))


STEPS = (_filter, _map, _shuffle, _broadcast, _merge, _aggregate, _window, _join, _join_table)
WEIGHTED = (*STEPS, _merge, _merge, _aggregate, _window, _window, _join)


@st.composite
def cases(draw: Any) -> Case:
    """Return a random app with its rows and circumstances; whether the planner accepts it is not known."""
    draft = _Draft(draw)
    for number in range(draw(st.integers(1, 3))):
        _source(draft, f"rows{number}")
    for _ in range(draw(st.integers(1, MOST_STEPS))):
        draw(st.sampled_from(WEIGHTED))(draft)
    for name in list(draft.unread):
        draft.streams[f"out-{name}"] = {"system": "files", "name": f"out/{name}", "format": "csv"}
        draft.add("sent", name, sendTo=f"out-{name}")
    partitions = draw(st.none() | st.integers(1, 5))
    job = {
        "commitInterval": draw(st.sampled_from(["10ms", "50ms", "300ms"])),
        "watermarkInterval": "1ms",
        "grouper": draw(st.sampled_from(["partition", "partition", "partition", "stream-partition"])),
        **({} if partitions is None else {"intermediateStreamPartitions": partitions}),
    }
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": draft.streams,
        "tables": draft.tables,
        "operators": draft.operators,
        "job": job,
        "processors": {"count": draw(st.integers(1, 3))},
    }
    document = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}
    return Case(document=document, sources=draft.sources, stops=tuple(draw(st.lists(st.integers(1, 3), max_size=1))))
