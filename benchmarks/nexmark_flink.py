"""One run of a Nexmark query on Flink: `python -m benchmarks.nexmark_flink BACKEND QUERY FOLDER SERVERS TOPIC OUTPUT`.

`BACKEND` is `heap` or `rocksdb`. Exactly once, with the settings of `benchmarks.flink_sql`. With an interval as one
more argument it does not end: checkpoints come at this interval, and nothing waits for more rows.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.flink_sql import JSON, run, sink, source, with_options
from benchmarks.nexmark_queries import EVENT, KEYS, KINDS, query_text, result_columns

TYPES = {"bigint": "BIGINT", "string": "STRING", "timestamp": "TIMESTAMP_LTZ(3)"}
RESULT_TYPES = {"VARCHAR": "STRING", "TIMESTAMP": "TIMESTAMP_LTZ(3)", "HUGEINT": "BIGINT"}
"""Those of DuckDB that Flink has under other names."""


LIVE = {
    "table.exec.mini-batch.enabled": "false",
    "execution.buffer-timeout.interval": "5ms",
}
"""Settings for latency: rows are handled one by one, and do not wait for others on their way between operators."""


def script(query: str, servers: str, topic: str, output: str, side: Path, *, bounded: bool) -> Iterator[str]:
    """Return the statements of a run; the last one is the query's."""
    columns = ", ".join(f"{kind} ROW<{_columns(names)}>" for kind, names in EVENT.items())
    times = ", ".join(f"{kind}.`dateTime`" for kind in EVENT)
    options = with_options(source(servers, topic, bounded=bounded))
    yield (
        f"CREATE TABLE events ({columns}, event_time AS COALESCE({times}), "
        f"WATERMARK FOR event_time AS event_time - INTERVAL '4' SECOND) {options}"
    )
    yield (
        f"CREATE TABLE side (`key` BIGINT, `value` STRING) "
        f"{with_options({'connector': 'filesystem', 'path': str(side), 'format': 'json'})}"
    )
    yield from (_view(kind) for kind in KINDS)
    yield _results(query, servers, output)
    yield f"INSERT INTO results {query_text(query, 'flink')}"


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in columns.items())


def _view(kind: str) -> str:
    fields = ("event_time AS `dateTime`" if name == "dateTime" else f"events.{kind}.`{name}`" for name in EVENT[kind])
    return f"CREATE VIEW {kind} AS SELECT {', '.join(fields)} FROM events WHERE {kind} IS NOT NULL"


def _results(query: str, servers: str, output: str) -> str:
    columns = [f"`{name}` {RESULT_TYPES.get(kind, kind)}" for name, kind in result_columns(query).items()]
    upsert = query in KEYS
    options = sink(servers, output, upsert=upsert)
    if upsert:
        columns.append(f"PRIMARY KEY ({', '.join(f'`{name}`' for name in KEYS[query])}) NOT ENFORCED")
    for part in ("key.", "value.") if upsert else ("",):
        options |= {f"{part}{name}": value for name, value in ({"format": "json"} | JSON).items()}
    return f"CREATE TABLE results ({', '.join(columns)}) {with_options(options)}"


def main() -> None:
    backend, query, place, servers, topic, output, *interval = sys.argv[1:]
    folder = Path(place).absolute()
    live = LIVE | {"execution.checkpointing.interval": interval[0]} if interval else {}
    statements = script(query, servers, topic, output, folder / "side.jsonl", bounded=not interval)
    run(statements, backend, folder, live)


if __name__ == "__main__":
    main()
