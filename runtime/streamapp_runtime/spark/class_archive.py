"""The archive of the classes that a local Spark loads, made once in the user's cache (docs/spark.md).

A JVM takes an archive only with the Java and the jars that it was made with, and starts without it otherwise. This
module imports nothing that takes time; its program, which makes an archive, does.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

OPTIONS, ARCHIVE = "driver.options", "driver.jsa"
"""What a folder has: the options of the JVM, and its classes."""

_FORM = "1"
"""Changes with what is in a folder."""
_CACHE_VARIABLE = "STREAMAPP_CACHE"
_DECIDE_ELSEWHERE = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "STREAMAPP_SPARK_MASTER", "STREAMAPP_CLASS_ARCHIVES")
_DECIDE_NOTHING = frozenset({"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP"})
"""Variables that a JVM reads itself, or that are of Python alone."""
_MAKING_SECONDS = 600.0
_UNUSED_SECONDS = 30 * 86_400.0
_FAILED_SECONDS = 86_400.0
"""How long nobody tries again what could not be made: its reason (no memory, a full disk) may have gone by then."""
_PROGRAM = "streamapp_runtime.spark.class_archive"
_MAIN = "org.apache.spark.deploy.SparkSubmit"


def archive_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder for the archive of this Java with these jars; it may be missing.

    None: what Spark's scripts do can't be known beforehand, as variables or files of Spark change it, or there is no
    Java, or no cache.
    """
    if any(name.startswith(_DECIDE_ELSEWHERE) and name not in _DECIDE_NOTHING for name in environment):
        return None
    cache, java, pyspark = _cache(environment), find_java(environment), find_spec("pyspark")
    if cache is None or java is None or pyspark is None or pyspark.origin is None:
        return None
    spark = Path(pyspark.origin).parent
    if (spark / "conf").exists():
        return None
    try:
        parts = [_FORM, *_describe([java]), *_describe(sorted((spark / "jars").glob("*.jar")))]
    except OSError:
        return None
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return cache / f"spark-{key[:16]}"


def find_java(environment: Mapping[str, str]) -> Path | None:
    """Return the program that Spark's scripts take for Java."""
    home = environment.get("JAVA_HOME")
    found = shutil.which("java", path=environment.get("PATH")) if home is None else f"{home}/bin/java"
    java = None if found is None else Path(found).resolve()
    return java if java is not None and java.is_file() else None


def make_later(environment: Mapping[str, str]) -> None:
    """Begin to make the archive, where there is none, in a process that goes on when this one has ended."""
    folder = archive_folder(environment)
    if folder is None or not is_wanted(folder, time.time()):
        return
    with suppress(OSError):  # the next run tries again
        subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", _PROGRAM, str(folder)],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def is_wanted(folder: Path, now: float) -> bool:
    """Return whether an archive is to be made: there is none, and none that could not be made less than a day ago."""
    try:
        return not (folder / OPTIONS).exists() and now - folder.stat().st_mtime > _FAILED_SECONDS
    except FileNotFoundError:
        return True


def make_archive(folder: Path) -> None:
    """Make an archive, unless another process does; a folder without one says that it could not be made.

    Raises:
        OSError: the folder can't be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = folder.with_suffix(".making")
    _delete_old(folder.parent)
    try:
        making.mkdir()
    except FileExistsError:
        return
    try:
        _archive_classes(making)
    finally:
        if not (folder / OPTIONS).exists():  # another process may have made it since it was looked for
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
        else:
            shutil.rmtree(making, ignore_errors=True)


def quote_options(options: Sequence[str]) -> str:
    """Return options as lines of a file that Java reads them from."""
    return "".join('"{}"\n'.format(option.replace("\\", "\\\\").replace('"', '\\"')) for option in options)


def _archive_classes(into: Path) -> None:
    """Run a job on a local Spark, and end its JVM, which then writes its archive."""
    from pyspark import SparkConf, SparkContext

    from streamapp_runtime.spark.local_session import local_settings
    from streamapp_runtime.spark.spark_logging import write_log_settings

    archive, log4j = into / "made.jsa", write_log_settings(into)
    settings = local_settings(log4j)
    passing = f"-XX:ArchiveClassesAtExit={archive}"
    settings |= {
        "spark.app.name": "classes",
        "spark.driver.extraJavaOptions": f"{settings['spark.driver.extraJavaOptions']} {passing}",
        "spark.python.daemon.module": "pyspark.daemon",
        "spark.ui.enabled": "false",
    }
    context = SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
    gateway = context._gateway  # noqa: SLF001 - to wait for its end
    context.parallelize([1], 1).mapPartitions(list).collect()
    jars = str(gateway.jvm.java.lang.System.getProperty("java.class.path"))
    _, *options = Path(f"/proc/{gateway.proc.pid}/cmdline").read_text().split("\0")
    context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_MAKING_SECONDS)
    log4j.unlink()
    kept = [option for option in options[: options.index(_MAIN)] if not option.startswith((passing, "-Dlog4j2."))]
    kept[kept.index("-cp") + 1] = jars
    (into / OPTIONS).write_text(quote_options(kept))
    if archive.exists():
        archive.rename(into / ARCHIVE)


def _cache(environment: Mapping[str, str]) -> Path | None:
    named = environment.get(_CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    caches = environment.get("XDG_CACHE_HOME")
    if caches:
        return Path(caches).absolute() / "streamapp"
    home = environment.get("HOME")
    return Path(home) / ".cache" / "streamapp" if home else None


def _describe(files: Sequence[Path]) -> list[str]:
    return [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file in files for stat in (file.stat(),)]


def _delete_old(cache: Path) -> None:
    """Delete what nobody has used for a month, and what a process that has died has begun."""
    now = time.time()
    for folder in cache.glob("spark-*"):
        used = folder / OPTIONS
        with suppress(OSError):
            age = now - (used if used.exists() else folder).stat().st_mtime
            if age > (_MAKING_SECONDS if folder.suffix else _UNUSED_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.nice(5)
    make_archive(Path(sys.argv[1]))
