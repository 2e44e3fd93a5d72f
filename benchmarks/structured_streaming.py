"""One run of a case on Structured Streaming: `python -m benchmarks.structured_streaming flights|count[-rocksdb] FOLDER`.

The same queries on `local[2]`, all in the JVM: only the call that starts a batch's write is Python. Update mode, as
running aggregates need it; the file sink refuses it, so `foreachBatch` writes each batch's changed keys as files.
"""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FLIGHTS = (
    "scheduled timestamp, carrier string, flight int, tailnum string, origin string, dest string, "
    "dep_delay double, arr_delay double, distance int"
)
PLANES = "tailnum string, year int, manufacturer string, model string, seats int"
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
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **({"spark.sql.streaming.stateStore.providerClass": ROCKSDB} if rocksdb else {}),
        **({"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"} if rocksdb else {}),
    }
    return SparkSession.builder.config(map=settings).getOrCreate()


def flights(spark: SparkSession, folder: Path) -> list[StreamingQuery]:
    """Start both queries of the example; they share no scan. One batch: each file is a year, in order of time."""
    planes = spark.read.csv(f"{folder}/data/planes.csv", schema=PLANES, header=True, nullValue="NA")
    flown = (
        spark.readStream.csv(f"{folder}/data/flights", schema=FLIGHTS, header=True, nullValue="NA")
        .filter("dep_delay is not null")
        .join(planes.select("tailnum", "manufacturer", "seats"), "tailnum", "left")
        .withWatermark("scheduled", "0 seconds")
    )
    hourly = flown.selectExpr("*", "window(scheduled, '1 hour') as hour").groupBy("carrier", "hour")
    columns = ["carrier", "hour.start as window_start", "hour.end as window_end"]
    windows = _aggregated(hourly, HOURLY).selectExpr(*columns, *(text.rpartition(" ")[2] for text in HOURLY))
    totals = _aggregated(flown.groupBy("carrier"), TOTALS)
    return [_write(windows, folder, "hourly", "csv"), _write(totals, folder, "totals", "csv")]


def count(spark: SparkSession, folder: Path) -> list[StreamingQuery]:
    """Start the keyed count: a file of a million rows a batch, where it is fastest."""
    readings = spark.readStream.json(f"{folder}/readings", schema=READINGS, maxFilesPerTrigger=1)
    counted = _aggregated(readings.groupBy("sensor"), ("count(*) as readings", "sum(value) as total"))
    return [_write(counted, folder, "counts", "parquet")]
