"""An app on Kafka that counts visits by windows, and whose input may have idle partitions."""


def idle_visits(prefix, servers, idle_seconds):
    """Give the app; its topics begin with a prefix, and a partition is idle after so many seconds without a row."""
    spec = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": servers}}},
        "streams": {
            "in": {
                "system": "kafka",
                "name": f"{prefix}.in",
                "schema": "who string, at bigint",
                "eventTime": {"column": "at", "idleTimeout": f"{idle_seconds}s"},
            },
            "out": {"system": "kafka", "name": f"{prefix}.out", "partitions": 1},
        },
        "operators": [
            {"name": "by", "from": "in", "partitionBy": {"key": "who"}},
            {"name": "counted", "from": "by", "window": {"tumbling": "1s", "by": ["who"], "select": "count(*) as n"}},
            {"name": "sent", "from": "counted", "sendTo": "out"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms", "intermediateStreamPartitions": 1},
    }
    metadata = {"name": f"visits-{prefix[-8:]}"}
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": metadata, "spec": spec}
