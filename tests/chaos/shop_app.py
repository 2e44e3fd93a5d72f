"""The app of the soak: tables, two shuffles, counts, windows, sessions and a join of two streams, all in Kafka."""

from chaos.shop_records import LATENESS, SESSION, TUMBLING, WITHIN

HUB = "kafka"
OUTPUTS = ("out", "counts", "windows", "sessions", "pairs")
ORDER_PARTITIONS, PAYMENT_PARTITIONS, OUTPUT_PARTITIONS = 4, 4, 3
_SUMMED = "count(*) as c, sum(v) as s, first(n) as first, last(n) as last"


def shop_app(namespace: str, name: str, image: str, brokers: str) -> dict:
    """Return the StreamApp; its topics begin with namespace and name."""
    prefix = f"{namespace}.{name}"
    schema = "k int, n bigint, v int, at bigint"
    time = {"eventTime": {"column": "at", "maxOutOfOrderness": f"{LATENESS}ms"}}
    streams = {
        "orders": {"key": "k", "schema": schema, **time},
        "payments": {"key": "k", "schema": schema, **time},
        "names": {"schema": "k int, name string", "broadcast": True},
        **{output: {"key": "k"} for output in OUTPUTS},
    }
    spec = {
        "image": image,
        "systems": {HUB: {"kafka": {"bootstrapServers": brokers}}},
        "defaultSystem": HUB,
        "streams": {
            which: {"system": HUB, "format": "json", "name": f"{prefix}.{which}", **stream}
            for which, stream in streams.items()
        },
        "tables": {"name": {"key": "k", "sideInputs": ["names"]}},
        "operators": _operators(),
        "job": {
            "commitInterval": "200ms",
            "watermarkInterval": "200ms",
            "intermediateStreamPartitions": 5,
            "partitionMonitor": {"interval": "3s"},
        },
        "processors": {"count": 2, "memory": "1Gi"},
        "restartPolicy": {"backoff": "1s", "max": "5s"},
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": metadata, "spec": spec}


def _operators() -> list[dict]:
    def window(name: str, **kind: str) -> dict:
        return {"name": name, "from": "by-key", "window": {**kind, "by": ["k"], "select": _SUMMED}}

    pairing = {"with": "charged", "on": {"left": "k", "right": "key"}, "type": "full", "within": f"{WITHIN}ms"}
    return [
        {"name": "named", "from": "orders", "joinTable": {"table": "name", "on": "k", "type": "left"}},
        {"name": "by-name", "from": "named", "partitionBy": {"key": "name"}},
        {"name": "by-key", "from": "by-name", "partitionBy": {"key": "k"}},
        {"name": "out-sent", "from": "by-key", "sendTo": "out"},
        {"name": "counted", "from": "by-key", "aggregate": {"by": ["k"], "select": "count(*) as c, sum(v) as s"}},
        {"name": "counts-sent", "from": "counted", "sendTo": "counts"},
        window("tumbled", tumbling=f"{TUMBLING}ms"),
        {"name": "windows-sent", "from": "tumbled", "sendTo": "windows"},
        window("gathered", session=f"{SESSION}ms"),
        {"name": "sessions-sent", "from": "gathered", "sendTo": "sessions"},
        {"name": "charged", "from": "payments", "map": "k as key, n as m"},
        {"name": "paired", "from": "orders", "join": pairing},
        {"name": "pairs-sent", "from": "paired", "sendTo": "pairs"},
    ]
