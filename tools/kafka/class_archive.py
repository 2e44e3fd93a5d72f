"""Kafka's classes as a JVM holds them in memory, in one file: a broker that starts with it takes half of the CPU time.

A file is for one Java and one set of jars; any other Java leaves it aside, and starts as without it.
"""

import shutil
from pathlib import Path

from tools.cluster.cached import key_of

FILE = "kafka.jsa"


def archive_folder(jars: Path) -> Path:
    """Return the folder of the cache that has the classes of these jars for the Java on the path; it may be missing."""
    java = Path(shutil.which("java") or "java").resolve()
    files = [*sorted(jars.glob("*.jar")), java]
    times = [f"{file.name} {file.stat().st_mtime_ns}" for file in files if file.exists()]
    return jars.parent / f"classes-kafka-{key_of(str(java), *times)}"


def start_options(jars: Path) -> list[str]:
    """Return the options of a JVM that runs Kafka's programs: it is to start fast, with the archive if there is one."""
    archive = archive_folder(jars) / FILE
    kept = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
    return ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *kept]
