"""Resources that Kubernetes itself refuses, each with its message; also used with a real API server."""

from copy import deepcopy

APP = {
    "apiVersion": "streamapp.dev/v1alpha1",
    "kind": "StreamApp",
    "metadata": {"name": "app"},
    "spec": {
        "image": "streamapp-runtime:dev",
        "systems": {"log": {"log": {"path": "log"}}},
        "defaultSystem": "log",
        "streams": {"a": {"system": "log", "key": "k"}, "b": {"system": "log", "key": "k"}, "out": {"system": "log"}},
        "tables": {"t": {"key": "k", "sideInputs": ["b"]}},
        "operators": [
            {"name": "typed", "from": "a", "joinTable": {"table": "t", "on": "k"}},
            {"name": "late", "from": ["typed"], "filter": "x > 1"},
            {"name": "hourly", "from": "late", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
            {"name": "send", "from": "hourly", "sendTo": "out"},
        ],
        "processors": {"location": {"by": "node"}, "state": {"hostPath": "/var/lib/streamapp"}},
    },
}

ABSENT = object()
WINDOW = ("spec", "operators", 2, "window")
LOCATION = ("spec", "processors", "location")
STATE = ("spec", "processors", "state")

UNKNOWN = {
    "a field of no model": (("spec", "operators", 0, "joinTable", "tabel"), "t", "joinTable.tabel: unknown"),
    "a kind that does not exist": (("spec", "operators", 1, "filtre"), "x", "operators[1].filtre: unknown"),
    "`on` as YAML 1.1 reads it": (("spec", "operators", 0, "joinTable", "true"), "k", "joinTable.true: unknown"),
}

BY_SCHEMA = {
    "no streams": (("spec", "streams"), ABSENT, "spec: required"),
    "no `on`": (("spec", "operators", 0, "joinTable", "on"), ABSENT, "joinTable: required"),
    "several inputs without merge": (("spec", "operators", 1, "from"), ["typed", "a"], "operators[1]: anyOf"),
    "no `from`": (("spec", "operators", 1, "from"), ABSENT, "operators[1]: anyOf"),
    "one name for two operators": (("spec", "operators", 1, "name"), "typed", "operators: x-kubernetes-list-map-keys"),
    "a name that is no label": (("spec", "operators", 1, "name"), "Late", "operators[1].name: pattern"),
    "a list of names that are none": (("spec", "operators", 1, "from"), ["No"], "operators[1].from[0]: pattern"),
    "no input": (("spec", "operators", 1, "from"), [], "operators[1].from: minItems"),
    "no processors": (("spec", "processors", "count"), 0, "processors.count: minimum"),
    "a duration without unit": ((*WINDOW, "tumbling"), "60", "window.tumbling: pattern"),
    "a table without key": (("spec", "tables", "t", "key"), ABSENT, "spec.tables.t: anyOf"),
    "a key of no columns": (("spec", "streams", "a", "key"), [], "streams.a.key: minItems"),
    "a part of a key that is no column": (("spec", "streams", "a", "key"), ["k", ""], "streams.a.key[1]: minLength"),
    "half a join": (
        ("spec", "operators", 1),
        {"name": "late", "from": "typed", "join": {"with": "a", "on": {"left": "k"}, "within": "1h"}},
        "join.on: required",
    ),
}

BY_RULE = {
    "a long name": (("metadata", "name"), "a" * 41, "at most 40 characters"),
    "a name with dots": (("metadata", "name"), "a.b", "no dots"),
    "a default system that is not declared": (("spec", "defaultSystem"), "kafka", "names no declared system"),
    "a system's name that is no label": (("spec", "systems", "Log"), {"log": {"path": "x"}}, "names of systems"),
    "a stream's name that is too long": (("spec", "streams", "s" * 64), {"system": "log"}, "names of streams"),
    "a table's name with a dot": (("spec", "tables", "t.t"), {"key": "k"}, "names of tables"),
    "a system of two kinds": (
        ("spec", "systems", "log", "file"),
        {"path": "x"},
        "exactly one of kafka, log, file, folder, delta, iceberg",
    ),
    "a system of no kind": (
        ("spec", "systems", "log", "log"),
        ABSENT,
        "exactly one of kafka, log, file, folder, delta, iceberg",
    ),
    "an operator of two kinds": (("spec", "operators", 1, "map"), "x", "exactly one kind"),
    "an operator of no kind": (("spec", "operators", 1, "filter"), ABSENT, "exactly one kind"),
    "a window of two kinds": ((*WINDOW, "session"), "5m", "tumbling, sliding and session"),
    "a window of no kind": ((*WINDOW, "tumbling"), ABSENT, "tumbling, sliding and session"),
    "every without sliding": ((*WINDOW, "every"), "5m", "sliding and every"),
    "a window that lists and ranks": ((*WINDOW, "topN"), {"orderBy": "a", "n": 1}, "either select"),
    "a session that ranks": (
        WINDOW,
        {"session": "5m", "by": ["k"], "topN": {"orderBy": "a", "n": 1}},
        "tumbling and sliding windows",
    ),
    "a session that emits early": (
        WINDOW,
        {"session": "5m", "by": ["k"], "select": "count(*) as n", "emit": {"every": "1s"}},
        "tumbling and sliding windows",
    ),
    "the last row of a key within a span": (
        ("spec", "operators", 1),
        {"name": "once", "from": "typed", "dedup": {"by": ["k"], "keep": "last", "within": "1h"}},
        "within belongs to keep: first",
    ),
    "duplicates that are bounded twice": (
        ("spec", "operators", 1),
        {"name": "once", "from": "typed", "dedup": {"by": ["k"], "within": "1h", "ttl": "forever"}},
        "within bounds the state",
    ),
    "the last rows of a key without a bound": (
        ("spec", "operators", 1),
        {"name": "mean", "from": "typed", "over": {"by": ["k"], "range": "forever", "select": "count(*) as n"}},
        "over needs rows",
    ),
    "rows in an order and of a range of time": (
        ("spec", "operators", 1),
        {
            "name": "mean",
            "from": "typed",
            "over": {"by": ["k"], "orderBy": "k", "rows": 3, "range": "1h", "select": "count(*) as n"},
        },
        "orderBy goes with rows alone",
    ),
    "versions for rows that are none": (
        ("spec", "operators", 1),
        {"name": "valid", "from": "typed", "join": {"with": "a", "on": "k", "asOf": True, "type": "full"}},
        "asOf is for inner and left joins",
    ),
    "versions with a time to live": (
        ("spec", "operators", 1),
        {"name": "valid", "from": "typed", "join": {"with": "a", "on": "k", "asOf": True, "ttl": "1h"}},
        "asOf keeps the last versions",
    ),
    "a condition on versions": (
        ("spec", "operators", 1),
        {
            "name": "valid",
            "from": "typed",
            "join": {"with": "a", "on": "k", "asOf": True, "within": "1h", "condition": "k > 'x'"},
        },
        "condition is for pairs, leave asOf out",
    ),
    "a function without state in event-time order": (
        ("spec", "operators", 1),
        {"name": "late", "from": "typed", "process": {"function": "m:f", "schema": "x int", "order": "eventTime"}},
        "order: eventTime is for functions with state",
    ),
    "a label that is not asked for": ((*LOCATION, "label"), "zone", "label names the pod label"),
    "no label where one is needed": ((*LOCATION, "by"), "label", "label names the pod label"),
    "two kinds of state": ((*STATE, "emptyDir"), {}, "exactly one of emptyDir"),
    "no kind of state": ((*STATE, "hostPath"), ABSENT, "exactly one of emptyDir"),
}


def changed(path, value):
    """Return a copy of the app with another value at a path, or without it."""
    result = deepcopy(APP)
    *parents, last = path
    holder = result
    for part in parents:
        holder = holder[part]
    if value is ABSENT:
        del holder[last]
    else:
        holder[last] = value
    return result
