"""Statements of Flink's SQL in a JVM of their own: its settings, with the reasons for them, and its tables of Kafka."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.runs import FOLDER

HERE = Path(__file__).parent / "flink"
BACKENDS = {"heap": "hashmap", "rocksdb": "rocksdb"}
SETTINGS = {
    # Two slots in one JVM, as the others have two slots: rows between operators of one slot are not serialised.
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    # Rows are handed on between chained operators without copies.
    "pipeline.object-reuse": "true",
    # Results are visible once a second, as with the others; RocksDB uploads only new files.
    "execution.checkpointing.interval": "1s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.incremental": "true",
    # More than any state here, so that RocksDB's caches and write buffers hold all of it.
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.max": "256m",
    "table.local-time-zone": "UTC",
    # Aggregates take rows of up to a second together: one read, write and result a key, as ours do between commits.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
"""Those of the Nexmark project, but for the number of slots."""
JSON = {"json.timestamp-format.standard": "ISO-8601"}
_BEGIN, _BOUNDED = {"scan.startup.mode": "earliest-offset"}, {"scan.bounded.mode": "latest-offset"}
_READER = {"properties.max.poll.records": "10000", "properties.max.partition.fetch.bytes": "4194304"}
"""Java's consumer hands on 500 records at a time otherwise."""
_WRITER = {
    "properties.transaction.timeout.ms": "600000",
    "properties.compression.type": "lz4",
    "properties.linger.ms": "20",
    "properties.batch.size": "262144",
}
"""Batches and compression as those of the other producers: Java's are 16 KB, not compressed, otherwise."""
_OPENED = ("util", "lang", "time", "nio")
"""The packages of Java that Flink's start scripts open."""


def source(servers: str, topic: str, *, bounded: bool = True) -> dict[str, str]:
    """Return the options of a table that reads a topic, to the end that it has now if it is bounded."""
    kafka = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": servers}
    return {**kafka, **_BEGIN, **(_BOUNDED if bounded else {}), **_READER, "format": "json", **JSON}


def sink(servers: str, topic: str, *, upsert: bool) -> dict[str, str]:
    """Return the options of a table that writes a topic exactly once, without those of its formats."""
    return {
        "connector": "upsert-kafka" if upsert else "kafka",
        "topic": topic,
        "properties.bootstrap.servers": servers,
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": topic,
        **_WRITER,
    }


def with_options(options: Mapping[str, str]) -> str:
    """Write the options of a table."""
    written = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    return f"WITH ({written})"


def run(statements: Iterable[str], backend: str, folder: Path, settings: Mapping[str, str] | None = None) -> NoReturn:
    """Run statements, the last of which is measured, in place of this process; files go to `folder`."""
    file = folder / "statements.sql"
    file.write_text("".join(f"{statement};\n" for statement in statements), encoding="utf-8")
    jars = kafka_jars(default_cache(), HERE / "pom.xml")
    given = {
        **SETTINGS,
        "state.backend.type": BACKENDS[backend],
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder),
        **(settings or {}),
    }
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
    path = f"{classes(jars)}:{jars}/*"
    java = ["java", "-Xmx4g", *opened, "-cp", path, "RunSql", str(file), *(f"{k}={v}" for k, v in given.items())]
    sys.stdout.flush()
    os.execvp("java", java)  # noqa: S606 S607


def classes(jars: Path) -> Path:
    """Return the folder of the compiled classes of `benchmarks/flink`, compiled once: no run pays for that."""
    sources = sorted(HERE.glob("*.java"))
    key = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    made = FOLDER / f"flink-{key}"
    if not made.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=FOLDER))
        path = ":".join(str(jar) for jar in sorted(jars.glob("*.jar")))
        compiler = ["java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", str(work), "-cp", path]
        subprocess.run([*compiler, *map(str, sources)], check=True)  # noqa: S603
        try:
            work.rename(made)
        except OSError:  # another process was first
            shutil.rmtree(work)
    return made
