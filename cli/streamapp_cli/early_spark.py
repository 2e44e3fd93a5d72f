"""Spark of `streamapp run`, started beside the imports of what runs apps, which take as long as its JVM does."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamapp_cli.app_files import read_app_text, state_folder
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.yaml_document import DocumentError
from streamapp_runtime.spark.class_archive import make_later
from streamapp_runtime.spark.early_start import EarlyStart, start_early

RECORD = "metadata.db"
"""In the folder of an app's state, if it has run before."""


class EarlySpark:
    """The JVM and the daemon of workers for one run."""

    def __init__(self, state: Path) -> None:
        """Have none yet, for an app with this folder of state."""
        self._log = state / "spark.log"
        self._environment = dict(os.environ)  # PySpark adds to it
        self._started: EarlyStart | None = None
        self._lacking = False

    def start(self) -> None:
        """Start them, unless a Spark runs in this process, whose JVM is taken again."""
        if self._started is None and not _spark_runs():
            self._started = start_early(self._environment, self._log)

    def take(self) -> EarlyStart | None:
        """Return them, for a Spark that begins; None: it is without, this time."""
        self.start()
        self._lacking = self._started is None
        return self._started

    def prepare_next(self) -> None:
        """See to it that the next run has what this one, which has completed, lacked."""
        if self._lacking:
            make_later(self._environment)

    def end(self) -> None:
        """End what is not used."""
        if self._started is not None:
            self._started.end()


def _spark_runs() -> bool:
    loaded = sys.modules.get("pyspark.core.context")
    return loaded is not None and loaded.SparkContext._gateway is not None  # noqa: SLF001 - PySpark has no API for it


@contextmanager
def early_spark(file: Path, *, state_dir: Path | None, fresh: bool) -> Iterator[EarlySpark | None]:
    """Start what a run of a file's app needs of Spark, if it can be read and begins; None: there is no such app.

    One that has run before may have completed, and need no Spark: that is known later.
    """
    app = _read(file)
    if app is None:
        yield None
        return
    state = state_folder(file, app.metadata.name, state_dir)
    early = EarlySpark(state)
    if fresh or not (state / RECORD).exists():
        early.start()
    try:
        yield early
    finally:
        early.end()


def _read(file: Path) -> StreamApp | None:
    """Return a file's app; None: it has problems, or needs jars that Spark's scripts find."""
    try:
        parsed = parse_text(read_app_text(file))
    except DocumentError:
        return None
    if parsed.app is None or parsed.problems:
        return None
    spark = parsed.app.spec.spark
    return parsed.app if spark is None or not spark.packages else None
