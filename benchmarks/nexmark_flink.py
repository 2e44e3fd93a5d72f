"""One run of a Nexmark query on Flink: `python -m benchmarks.nexmark_flink BACKEND QUERY FOLDER SERVERS TOPIC OUTPUT`.

`BACKEND` is `hashmap` or `rocksdb`. Flink's cluster is within one JVM: two slots, exactly once, checkpoints once a
second, objects reused, and aggregates in small batches, as the Nexmark project's own settings are.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.nexmark_queries import EVENT, KEYS, KINDS, query_text, result_columns

HERE = Path(__file__).parent / "flink"
TYPES = {"bigint": "BIGINT", "string": "STRING", "timestamp": "TIMESTAMP_LTZ(3)"}
RESULT_TYPES = {"VARCHAR": "STRING", "TIMESTAMP": "TIMESTAMP_LTZ(3)", "HUGEINT": "BIGINT"}
"""Those of DuckDB that Flink has under other names."""
SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "execution.checkpointing.interval": "1s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.incremental": "true",
    "taskmanager.numberOfTaskSlots": "2",
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.max": "256m",
    "table.local-time-zone": "UTC",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
OPENED = ("util", "lang", "time", "nio")
"""The packages of Java that Flink's start scripts open."""
JSON = "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"


def script(query: str, servers: str, topic: str, output: str, side: Path) -> str:
    """Write the statements of a run; the last one is the query's."""
    columns = ", ".join(f"{kind} ROW<{_columns(names)}>" for kind, names in EVENT.items())
    times = ", ".join(f"{kind}.`dateTime`" for kind in EVENT)
    kafka = f"'properties.bootstrap.servers' = '{servers}'"
    bounds = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"
    statements = [
        f"CREATE TABLE events ({columns}, event_time AS COALESCE({times}), "
        f"WATERMARK FOR event_time AS event_time - INTERVAL '4' SECOND) "
        f"WITH ('connector' = 'kafka', 'topic' = '{topic}', {kafka}, {bounds}, {JSON})",
        f"CREATE TABLE side (`key` BIGINT, `value` STRING) "
        f"WITH ('connector' = 'filesystem', 'path' = '{side}', 'format' = 'json')",
        *(_view(kind) for kind in KINDS),
        _results(query, output, kafka),
        f"INSERT INTO results {query_text(query, 'flink')}",
    ]
    return "".join(f"{statement};\n" for statement in statements)


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in columns.items())


def _view(kind: str) -> str:
    fields = ("event_time AS `dateTime`" if name == "dateTime" else f"events.{kind}.`{name}`" for name in EVENT[kind])
    return f"CREATE VIEW {kind} AS SELECT {', '.join(fields)} FROM events WHERE {kind} IS NOT NULL"


def _results(query: str, output: str, kafka: str) -> str:
    columns = [f"`{name}` {RESULT_TYPES.get(kind, kind)}" for name, kind in result_columns(query).items()]
    sure = f"'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{output}'"
    options = f"'topic' = '{output}', {kafka}, 'properties.transaction.timeout.ms' = '600000', {sure}"
    if query not in KEYS:
        return f"CREATE TABLE results ({', '.join(columns)}) WITH ('connector' = 'kafka', {options}, {JSON})"
    key = ", ".join(f"`{name}`" for name in KEYS[query])
    formats = ", ".join(f"'{part}.{setting[1:]}" for part in ("key", "value") for setting in JSON.split(", "))
    return (
        f"CREATE TABLE results ({', '.join(columns)}, PRIMARY KEY ({key}) NOT ENFORCED) "
        f"WITH ('connector' = 'upsert-kafka', {options}, {formats})"
    )


def main() -> None:
    backend, query, place, servers, topic, output = sys.argv[1:]
    folder = Path(place).absolute()
    statements = folder / "statements.sql"
    statements.write_text(script(query, servers, topic, output, folder / "side.jsonl"), encoding="utf-8")
    jars = kafka_jars(default_cache(), HERE / "pom.xml")
    settings = SETTINGS | {
        "state.backend.type": backend,
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder),
    }
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    given = [f"{name}={value}" for name, value in settings.items()]
    java = ["java", "-Xmx4g", *opened, "-cp", f"{jars}/*", str(HERE / "RunSql.java"), str(statements), *given]
    sys.stdout.flush()
    os.execvp("java", java)  # noqa: S606 S607


if __name__ == "__main__":
    main()
