"""One run of a Nexmark query on Spark: `python -m benchmarks.nexmark_spark QUERY FOLDER SERVERS TOPIC OUTPUT`.

Structured Streaming in the JVM, RocksDB, at least once: Kafka's sink has nothing else.
"""

import sys
import time
from pathlib import Path

from pyspark.sql.functions import coalesce, col, from_json, struct, to_json

from benchmarks.kafka_spark import session
from benchmarks.nexmark_queries import EVENT, KEYS, KINDS, query_text
from benchmarks.structured_streaming import measured


def main() -> None:
    query, place, servers, topic, output = sys.argv[1:]
    folder = Path(place).absolute()
    spark = session(folder)
    began = time.monotonic()
    source = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "1000000",
    }
    schema = ", ".join(
        f"{kind} struct<{', '.join(f'{name}: {column}' for name, column in fields.items())}>"
        for kind, fields in EVENT.items()
    )
    messages = spark.readStream.format("kafka").options(**source).load()
    events = messages.select(from_json(col("value").cast("string"), schema).alias("event")).select("event.*")
    times = coalesce(*(col(f"{kind}.dateTime") for kind in KINDS))
    for kind, fields in EVENT.items():
        columns = [times.alias(name) if name == "dateTime" else col(f"{kind}.{name}") for name in fields]
        rows = events.where(col(kind).isNotNull()).select(*columns).withWatermark("dateTime", "4 seconds")
        rows.createOrReplaceTempView(kind)
    spark.read.json(str(folder / "side.jsonl")).createOrReplaceTempView("side")
    written = spark.sql(query_text(query, "spark"))
    sent = written.select(to_json(struct("*"), {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSX"}).alias("value"))
    sink = sent.writeStream.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": output})
    sink = sink.outputMode("update" if query in KEYS else "append").trigger(availableNow=True)
    running = sink.option("checkpointLocation", f"{folder}/checkpoint").start()
    running.awaitTermination()
    result = measured([running], time.monotonic() - began)
    spark.stop()
    result.print()


if __name__ == "__main__":
    main()
