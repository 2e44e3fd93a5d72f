"""One run on Structured Streaming: `python -m benchmarks.structured_streaming flights|count|count-rocksdb FOLDER`.

The same queries on `local[2]`, all in the JVM: only the call that starts a batch's write is Python. Update mode, as
running aggregates need it; the file sink refuses it, so `foreachBatch` writes each batch's changed keys as files.
"""

import time
from itertools import accumulate
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, window
from pyspark.sql.streaming import StreamingQuery

from benchmarks.measured import Measured, arguments

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FLIGHTS = (
    "scheduled timestamp, carrier string, flight int, tailnum string, origin string, dest string, "
    "dep_delay double, arr_delay double, distance int"
)
READINGS = "sensor string, value int, at timestamp, site string"
HOURLY = (
    "count(*) as flights",
    "sum(case when dep_delay > 15 then 1 else 0 end) as late",
    "avg(dep_delay) as mean_delay",
    "max(dep_delay) as worst_delay",
    "sum(seats) as seats",
)
TOTALS = (
    "count(*) as flights",
    "count(seats) as known_planes",
    "sum(distance) as miles",
    "avg(dep_delay) as mean_delay",
    "min(dep_delay) as earliest",
    "max(dep_delay) as latest",
)


def session(folder: Path, *, rocksdb: bool) -> SparkSession:
    """Start Spark with two slots and two shuffle partitions."""
    log4j = folder / "log4j2.properties"
    log4j.write_text("rootLogger.level = off\n", encoding="utf-8")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.absolute().as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **({"spark.sql.streaming.stateStore.providerClass": ROCKSDB} if rocksdb else {}),
        **({"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"} if rocksdb else {}),
    }
    return SparkSession.builder.config(map=settings).getOrCreate()


def flights(spark: SparkSession, folder: Path) -> list[StreamingQuery]:
    """Start both queries of the example; they share no scan. One batch: each file is a year, in order of time."""
    planes = spark.read.csv(f"{folder}/data/planes.csv", header=True, nullValue="NA")
    flown = (
        spark.readStream.csv(f"{folder}/data/flights", schema=FLIGHTS, header=True, nullValue="NA")
        .filter("dep_delay is not null")
        .join(planes.selectExpr("tailnum", "manufacturer", "cast(seats as int) as seats"), "tailnum", "left")
        .withWatermark("scheduled", "0 seconds")
    )
    hourly = flown.groupBy("carrier", window("scheduled", "1 hour").alias("hour")).agg(*map(expr, HOURLY))
    hourly = hourly.selectExpr("carrier", "hour.start as window_start", "hour.end as window_end", *hourly.columns[2:])
    totals = flown.groupBy("carrier").agg(*map(expr, TOTALS))
    return [_write(hourly, folder, "hourly", "csv"), _write(totals, folder, "totals", "csv")]


def count(spark: SparkSession, folder: Path) -> list[StreamingQuery]:
    """Start the keyed count: a file a batch, since Spark is fastest with large batches."""
    readings = spark.readStream.option("maxFilesPerTrigger", 1).json(f"{folder}/readings", schema=READINGS)
    counts = readings.groupBy("sensor").agg(expr("count(*) as readings"), expr("sum(value) as total"))
    return [_write(counts, folder, "counts", "parquet")]


def _write(rows: DataFrame, folder: Path, name: str, form: str) -> StreamingQuery:
    def write(batch: DataFrame, number: int) -> None:
        batch.write.format(form).option("header", True).save(f"{folder}/out/{name}/part-{number}")

    stream = rows.writeStream.outputMode("update").trigger(availableNow=True)
    return stream.option("checkpointLocation", f"{folder}/checkpoint/{name}").foreachBatch(write).start()


def measured(queries: list[StreamingQuery], seconds: float) -> Measured:
    """Steady are the batches that began when a third of the rows was done, of a case with one query."""
    batches = [
        (batch.numInputRows, batch.durationMs["triggerExecution"] / 1_000) for batch in queries[0].recentProgress
    ]
    before = list(accumulate((rows for rows, _ in batches), initial=0))
    warm = [batch for batch, done in zip(batches, before, strict=False) if done >= before[-1] / 3]
    rows, time_taken = map(sum, zip(*warm, strict=True)) if warm else (0, 0)
    return Measured(seconds=seconds, steady=rows / time_taken if rows else None)


def main() -> None:
    case, place = arguments()
    folder = Path(place).absolute()
    spark = session(folder, rocksdb=case.endswith("-rocksdb"))
    began = time.monotonic()
    queries = flights(spark, folder) if case == "flights" else count(spark, folder)
    for query in queries:
        query.awaitTermination()
    seconds = time.monotonic() - began
    result = measured(queries, seconds)
    spark.stop()
    result.print()


if __name__ == "__main__":
    main()
