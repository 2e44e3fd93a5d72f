"""One run of a Kafka case on Flink's SQL: `python -m benchmarks.kafka_flink BACKEND CASE FOLDER SERVERS ROWS OUTPUT`.

`BACKEND` is `heap` or `rocksdb`. Exactly once, with the settings of `benchmarks.flink_sql`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.flink_sql import run, sink, source, with_options
from benchmarks.kafka_load import topics

_COLUMNS = "sensor STRING, `value` INT, `at` BIGINT"
"""Those that no case reads are not declared: Flink decodes what is declared."""
_TIME = ", `time` AS TO_TIMESTAMP_LTZ(`at`, 3), WATERMARK FOR `time` AS `time` - INTERVAL '10' SECOND"
_COUNTED = (
    "sensor STRING, readings BIGINT, total BIGINT, `at` BIGINT, PRIMARY KEY (sensor) NOT ENFORCED",
    "SELECT sensor, COUNT(*), SUM(CAST(`value` AS BIGINT)), MAX(`at`) FROM readings GROUP BY sensor",
)
QUERIES = {
    "count": _COUNTED,
    "join": (
        f"{_COLUMNS}, `floor` INT, room STRING",
        "SELECT sensor, `value`, `at`, `floor`, room FROM readings LEFT JOIN LATERAL TABLE(places(sensor)) ON TRUE",
    ),
    "windows": (
        "sensor STRING, window_start TIMESTAMP_LTZ(3), window_end TIMESTAMP_LTZ(3), readings BIGINT, total BIGINT",
        "SELECT sensor, window_start, window_end, COUNT(*), SUM(CAST(`value` AS BIGINT)) "
        "FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(`time`), INTERVAL '1' MINUTE)) "
        "GROUP BY sensor, window_start, window_end",
    ),
    "pairs": (
        "sensor STRING, readings INT, total BIGINT",
        "SELECT l.sensor, 1, CAST(l.`value` AS BIGINT) + r.`value` FROM `left` AS l JOIN `right` AS r "
        "ON l.sensor = r.sensor "
        "AND l.`time` BETWEEN r.`time` - INTERVAL '10' SECOND AND r.`time` + INTERVAL '10' SECOND",
    ),
}
"""The columns of the results of each case, and its query."""


def script(case: str, servers: str, rows: int, output: str) -> Iterator[str]:
    """Return the statements of a run; the last one is the query's."""
    for stream, topic in topics(case, rows).items():
        columns = _COLUMNS + (_TIME if case in {"windows", "pairs"} else "")
        yield f"CREATE TABLE `{stream}` ({columns}) {with_options(source(servers, topic))}"
    if case == "join":
        yield "CREATE TEMPORARY SYSTEM FUNCTION places AS 'Places'"
    columns, query = QUERIES[case]
    upsert = "PRIMARY KEY" in columns
    key = {"key.format": "raw"} | ({} if upsert else {"key.fields": "sensor"})
    iso = {"value.format": "json", "value.json.timestamp-format.standard": "ISO-8601"}
    yield f"CREATE TABLE results ({columns}) {with_options({**sink(servers, output, upsert=upsert), **key, **iso})}"
    yield f"INSERT INTO results {query}"


def main() -> None:
    backend, case, place, servers, rows, output = sys.argv[1:]
    folder = Path(place).absolute()
    places = {"pipeline.global-job-parameters": f"places:{folder}/places.tsv"}
    run(script(case, servers, int(rows), output), backend, folder, places)


if __name__ == "__main__":
    main()
