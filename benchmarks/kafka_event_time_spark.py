"""One run on Structured Streaming: `python -m benchmarks.kafka_event_time_spark windows|pairs FOLDER SERVERS OUTPUT`.

All in the JVM, state in RocksDB with a changelog, results once they are final (append mode), at least once.
"""

import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr, from_json, struct, to_json, window

from benchmarks.kafka_spark import SCHEMA, session
from benchmarks.structured_streaming import measured

BATCH = {"windows": 1_000_000, "pairs": 200_000}
"""Rows of each topic per batch."""


def read(spark: SparkSession, servers: str, topic: str, rows: int) -> DataFrame:
    """Read a topic as rows with an event time."""
    source = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(rows),
    }
    loaded = spark.readStream.format("kafka").options(**source).load()
    rows_of = loaded.select(from_json(col("value").cast("string"), SCHEMA).alias("row")).select("row.*")
    return rows_of.selectExpr("sensor", "value", "timestamp_millis(at) as time").withWatermark("time", "10 seconds")


def windows(spark: SparkSession, servers: str) -> DataFrame:
    readings = read(spark, servers, "readings", BATCH["windows"])
    counts = (expr("count(*) as readings"), expr("sum(value) as total"))
    counted = readings.groupBy("sensor", window("time", "1 minute").alias("minute")).agg(*counts)
    return counted.selectExpr("sensor", "minute.start as start", "minute.end as end", "readings", "total")


def pairs(spark: SparkSession, servers: str) -> DataFrame:
    left, right = (read(spark, servers, topic, BATCH["pairs"]) for topic in ("left", "right"))
    near = "time between left_time - interval 10 seconds and left_time + interval 10 seconds"
    joined = left.withColumnRenamed("time", "left_time").join(
        right.withColumnsRenamed({"sensor": "right_sensor", "value": "other"}),
        expr(f"sensor = right_sensor and {near}"),
    )
    return joined.selectExpr("sensor", "1 as readings", "value + other as total")


def main() -> None:
    case, place, servers, output = sys.argv[1:]
    spark = session(Path(place).absolute())
    began = time.monotonic()
    result = windows(spark, servers) if case == "windows" else pairs(spark, servers)
    messages = result.select(col("sensor").alias("key"), to_json(struct("*")).alias("value"))
    options = {"kafka.bootstrap.servers": servers, "topic": output}
    sink = messages.writeStream.format("kafka").options(**options).outputMode("append").trigger(availableNow=True)
    running = sink.option("checkpointLocation", f"{place}/checkpoint").start()
    running.awaitTermination()
    taken = measured([running], time.monotonic() - began)
    spark.stop()
    taken.print()


if __name__ == "__main__":
    main()
