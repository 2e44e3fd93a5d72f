"""Stages what a source has got since its last generation as the next one (docs/protocols.md)."""

import os
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamapp_core.plan.plan import Plan, PlannedStream
from streamapp_core.schema import TypeKind
from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_core.spec.spark_system import Incremental
from streamapp_runtime.driver.source_process import SourceRequest, run_source
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.threads import Event
from streamapp_systems.file.output_folder import sync_folder
from streamapp_systems.folder import Generation, Generations, StagedFile
from streamapp_systems.folder.generations import new_folder_name, remove_folder, stream_folder
from streamapp_systems.objects import FilesMade, ObjectPath, check_conditional_writes
from streamapp_systems.protocols import StreamSystemError

Value: TypeAlias = int | Decimal | datetime
"""A value of a column by which rows are new."""
_DEFAULT_DELAY = 300_000
_PART = "part-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The values of a column in files: the smallest and the largest, and how many are null."""

    minimum: Value | None = None
    maximum: Value | None = None
    nulls: int = 0

    def joined(self, other: "Extent") -> "Extent":
        """Return the extent of both."""
        values = [v for v in (self.minimum, self.maximum, other.minimum, other.maximum) if v is not None]
        return Extent(
            minimum=min(values, default=None), maximum=max(values, default=None), nulls=self.nulls + other.nulls
        )


class SourceStager:
    """Makes the generations of one stream, one after the other."""

    def __init__(self, plan: Plan, stream: PlannedStream, context: ExecutionContext) -> None:
        """Look at nothing yet."""
        system = plan.app.spec.systems[stream.system]
        assert system.spark is not None
        self.name, self._stream, self._system = stream.name, stream, system.spark
        self._spark = plan.app.spec.spark or SparkSpec()
        self._context = context
        self._place = context.systems.place(system)
        self._generations = Generations(stream_folder(self._place, stream.address))
        self._last: Generation | None = None
        self.has_read = False
        """Whether the source has been read, by this driver or an earlier one."""

    @property
    def every(self) -> float | None:
        """The seconds after which the source is read again; None: it is read once."""
        return None if self._system.incremental is None else self._system.incremental.every / 1_000

    def stage(self, stopping: Event) -> None:
        """Make the next generation, if there are rows for one; another driver may be faster.

        Raises:
            StreamSystemError: the source can't be read, or its rows can't be staged.
            Stopped: `stopping` was set before.
        """
        last = self._find_last()
        incremental = self._system.incremental
        if last is None or incremental is not None:
            self._stage_next(last, incremental, stopping)
        self.has_read = True

    def _find_last(self) -> Generation | None:
        """Find the last generation, and check that the next one can follow it."""
        if self._last is None:
            if isinstance(self._place, ObjectPath):
                check_conditional_writes(self._place)
            self._last = self._generations.last()
        while self._last is not None and (found := self._generations.get(self._last.number + 1)) is not None:
            self._last = found
        last, column = self._last, None if self._system.incremental is None else self._system.incremental.column
        self.has_read |= last is not None
        if last is not None and (last.partitions, last.column) != (self._stream.partitions, column):
            raise StreamSystemError(
                f"{self._generations.folder} has generations of {last.partitions} partitions"
                f"{f' by column `{last.column}`' if last.column else ', which were read once'}, and the spec says "
                f"{self._stream.partitions} partitions{f' by column `{column}`' if column else ', read once'}: name "
                "another folder (`path`) and begin a new run, or correct the spec"
            )
        return last

    def _stage_next(self, last: Generation | None, incremental: Incremental | None, stopping: Event) -> None:
        number = 1 if last is None else last.number + 1
        name = new_folder_name(number)
        with fail_point(FailPoint.SOURCE_STAGE):
            try:
                files, extent = self._stage_files(name, last, stopping)
            except BaseException as error:
                remove_folder(self._generations.folder / name)
                if isinstance(error, OSError):
                    raise StreamSystemError(f"{self._generations.folder} can't be written: {error}") from error
                raise
        if incremental is not None and not files:
            remove_folder(self._generations.folder / name)
            return
        generation = Generation(
            number=number,
            source=name if last is None else last.source,
            folder=name,
            partitions=self._stream.partitions,
            files=files,
            column=None if incremental is None else incremental.column,
            maximum=None if extent.maximum is None else value_text(extent.maximum),
        )
        # From here on the manifest may exist, whatever is raised: the files stay.
        with fail_point(FailPoint.SOURCE_PUBLISH):
            published = self._generations.publish(generation)
        self._last = generation if published else self._generations.get(number)
        if self._last is not None:
            self._generations.remove_superseded(self._last)

    def _stage_files(
        self, name: str, last: Generation | None, stopping: Event
    ) -> tuple[tuple[StagedFile, ...], Extent]:
        """Have a job write the files of a generation, and put them in its folder, durable."""
        column = None if self._system.incremental is None else self._system.incremental.column
        with closing(FilesMade(self._generations.folder)) as made:
            made.folder.mkdir(parents=True, exist_ok=True)
            run_source(self._request(made.folder / name, last), self._context.systems.folder, stopping)
            files, extent = describe_files(made.folder / name, self._stream.partitions, column)
            if column is not None:
                check_extent(column, extent, None if last is None else last.maximum)
            for file in files:
                made.deliver(f"{name}/{file.name}")
        _sync(self._generations.folder / name)
        return files, extent

    def _request(self, folder: Path, last: Generation | None) -> SourceRequest:
        schema, incremental = self._stream.schema, self._system.incremental
        if schema is None:
            raise StreamSystemError("rows of files are read by a schema; the stream needs one")
        column = None if incremental is None else schema.get(incremental.column)
        up_to = None
        if incremental is not None and column is not None and column.type.kind is TypeKind.TIMESTAMP:
            delay = _DEFAULT_DELAY if incremental.delay is None else incremental.delay
            moment = self._context.clock.time_of_day() - delay
            up_to = value_text(datetime.fromtimestamp(moment / 1_000, UTC))
        packages = {"spark.jars.packages": ",".join(self._spark.packages)} if self._spark.packages else {}
        return SourceRequest(
            system=self._system.model_dump_json(by_alias=True),
            address=self._stream.address,
            schema=str(schema),
            properties=self._spark.conf | packages,
            folder=str(folder.absolute()),
            partitions=self._stream.partitions,
            key=self._stream.key,
            above=None if last is None else last.maximum,
            up_to=up_to,
        )


def describe_files(folder: Path, partitions: int, column: str | None) -> tuple[tuple[StagedFile, ...], Extent]:
    """Return the files with rows that a job has written, and the extent of a column of them.

    Spark numbers files by their partition.

    Raises:
        OSError: a file can't be read.
    """
    files, extent = [], Extent()
    for path in sorted(folder.glob(f"{_PART}*.parquet")):
        with pq.ParquetFile(path) as file:
            records = file.metadata.num_rows
            if not records:
                continue
            if column is not None:
                for rows in file.iter_batches(columns=[column]):
                    extent = extent.joined(_extent(rows.column(0)))
        partition = int(path.name.removeprefix(_PART).partition("-")[0]) % partitions
        size = path.stat().st_size
        files.append(StagedFile(name=path.name, partition=partition, records=records, size=size))
    return tuple(files), extent


def _extent(column: pa.Array) -> Extent:
    try:
        found = pc.min_max(column).as_py()
    except (ValueError, OverflowError) as error:
        raise StreamSystemError(
            f"the column by which rows are new has values outside of the years 1 to 9999: {error}. Leave them out by a "
            "query in the system's `options`"
        ) from error
    return Extent(minimum=found["min"], maximum=found["max"], nulls=column.null_count)


def check_extent(column: str, extent: Extent, last: str | None) -> None:
    """Check that the rows that were read are new, by a column, after the largest value of all earlier ones.

    Raises:
        StreamSystemError: some are not, or can't be told.
    """
    if extent.nulls:
        raise StreamSystemError(
            f"column `{column}` is null in {extent.nulls} of the rows that are to be read, so nobody knows when they "
            "are new: give them a value, or leave them out by a query in the system's `options`"
        )
    if last is not None and extent.minimum is not None and not is_above(extent.minimum, last):
        raise StreamSystemError(
            f"the source has rows again whose `{column}` is not above {last}, though it was asked for larger values: "
            "its values are finer than those of Spark (a timestamp in nanoseconds), or it compares them otherwise. "
            "Have a query in the system's `options` round or cast them"
        )


def value_text(value: Value) -> str:
    """Return a value as a text that Spark casts to it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def is_above(value: Value, text: str) -> bool:
    """Return whether a value is larger than the one of its type that a text stands for."""
    match value:
        case datetime():
            return value > datetime.fromisoformat(text)
        case Decimal():
            return value > Decimal(text)
        case _:
            return value > int(text)


def _sync(folder: Path | ObjectPath) -> None:
    """Make the files of a folder durable; objects are."""
    if isinstance(folder, ObjectPath):
        return
    for path in folder.glob(f"{_PART}*.parquet"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for each in (folder, folder.parent, folder.parent.parent):
        sync_folder(each)
