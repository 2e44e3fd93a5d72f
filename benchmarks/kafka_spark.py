"""One run of a case on Structured Streaming: `python -m benchmarks.kafka_spark FORM CASE FOLDER SERVERS ROWS OUTPUT`.

`FORM` is `jvm`, where all is in the JVM, state in RocksDB with a changelog; windows and pairs come once they are
final. `rows` and `pandas` keep the counts in Python: transformWithState in its form for rows, and in the one for
pandas. Everything is at least once: Kafka's sink has nothing else.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, expr, from_json, struct, to_json, window
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_load import topics
from benchmarks.structured_streaming import ROCKSDB, measured

SCHEMA = "sensor string, value int, at bigint, site string, note string"
RESULT = "sensor string, readings bigint, total bigint, at bigint"
POM = Path(__file__).with_name("spark-kafka.xml")
BATCH = {"rows": 100_000, "pandas": 5_000, "pairs": 200_000}
"""Rows of each topic per batch: the JVM is fastest with a million otherwise."""


class Count(StatefulProcessor):
    """The running count of a key, with one value of state; a subclass says what rows look like."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("counts", "readings bigint, total bigint, at bigint")

    def add(self, rows: int, total: int, at: int) -> tuple[int, int, int]:
        before = self._state.get() or (0, 0, 0)
        now = (before[0] + rows, before[1] + total, max(before[2], at))
        self._state.update(now)
        return now

    def close(self) -> None:
        """Nothing is open."""


class CountRows(Count):
    def handleInputRows(self, key: tuple[str], rows: Iterator[Row], _: object) -> Iterator[Row]:  # noqa: N802
        found = [(row.value, row.at) for row in rows]
        now = self.add(len(found), sum(value for value, _ in found), max(at for _, at in found))
        yield Row(sensor=key[0], readings=now[0], total=now[1], at=now[2])


class CountPandas(Count):
    def handleInputRows(  # noqa: N802
        self, key: tuple[str], rows: Iterator[pd.DataFrame], _: object
    ) -> Iterator[pd.DataFrame]:
        sums = [(len(frame), int(frame["value"].sum()), int(frame["at"].max())) for frame in rows]
        now = self.add(sum(n for n, _, _ in sums), sum(total for _, total, _ in sums), max(at for _, _, at in sums))
        yield pd.DataFrame({"sensor": [key[0]], "readings": [now[0]], "total": [now[1]], "at": [now[2]]})


def session(folder: Path) -> SparkSession:
    """Start Spark with two slots, two shuffle partitions and RocksDB."""
    log4j = folder / "log4j2.properties"
    log4j.write_text("rootLogger.level = off\n", encoding="utf-8")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.absolute().as_uri()}",
        "spark.jars": ",".join(str(jar) for jar in sorted(kafka_jars(default_cache(), POM).glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.config(map=settings).getOrCreate()


def read(spark: SparkSession, servers: str, topic: str, rows: int) -> DataFrame:
    """Read a topic as rows, so many a batch."""
    source = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(rows),
    }
    loaded = spark.readStream.format("kafka").options(**source).load()
    return loaded.select(from_json(col("value").cast("string"), SCHEMA).alias("row")).select("row.*")


def query(form: str, case: str, streams: Sequence[DataFrame], folder: Path) -> DataFrame:
    """Write the query of a case over its streams."""
    readings = streams[0]
    match case:
        case "join":
            places = readings.sparkSession.read.parquet(f"{folder}/places")
            return readings.select("sensor", "value", "at").join(places.hint("broadcast"), "sensor", "left")
        case "windows":
            grouped = _timed(readings).groupBy("sensor", window("time", "1 minute").alias("minute"))
            counted = grouped.agg(expr("count(*) as readings"), expr("sum(value) as total"))
            return counted.selectExpr("sensor", "minute.start as start", "minute.end as end", "readings", "total")
        case "pairs":
            left, right = map(_timed, streams)
            near = "time between left_time - interval 10 seconds and left_time + interval 10 seconds"
            joined = left.withColumnRenamed("time", "left_time").join(
                right.withColumnsRenamed({"sensor": "right_sensor", "value": "other"}),
                expr(f"sensor = right_sensor and {near}"),
            )
            return joined.selectExpr("sensor", "1 as readings", "value + other as total")
    grouped = readings.groupBy("sensor")
    if form == "rows":
        return grouped.transformWithState(CountRows(), RESULT, "Update", "None")
    if form == "pandas":
        return grouped.transformWithStateInPandas(CountPandas(), RESULT, "Update", "None")
    return grouped.agg(expr("count(*) as readings"), expr("sum(value) as total"), expr("max(at) as at"))


def _timed(readings: DataFrame) -> DataFrame:
    times = readings.selectExpr("sensor", "value", "timestamp_millis(at) as time")
    return times.withWatermark("time", "10 seconds")


def main() -> None:
    form, case, place, servers, rows, output = sys.argv[1:]
    folder = Path(place).absolute()
    spark = session(folder)
    began = time.monotonic()
    batch = BATCH.get(case, BATCH.get(form, 1_000_000))
    streams = [read(spark, servers, topic, batch) for topic in topics(case, int(rows)).values()]
    written = query(form, case, streams, folder)
    messages = written.select(col("sensor").alias("key"), to_json(struct("*")).alias("value"))
    sink = messages.writeStream.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": output})
    sink = sink.outputMode("update" if case == "count" else "append").trigger(availableNow=True)
    running = sink.option("checkpointLocation", f"{folder}/checkpoint").start()
    running.awaitTermination()
    result = measured([running], time.monotonic() - began)
    spark.stop()
    result.print()


if __name__ == "__main__":
    main()
