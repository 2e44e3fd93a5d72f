"""The configuration with which a processor starts, and its reports: values that travel as JSON."""

import math

import msgspec

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_runtime.side_input_versions import SideInputVersion
from streamapp_runtime.state.store_size import StoreSize


class Incarnation(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a processor: it runs the tasks that one version of the job model assigns to it, and no others.

    `number` is unique in its epoch; a later incarnation has a higher one.
    """

    processor: str
    epoch: int
    version: int
    number: int

    def __str__(self) -> str:
        return f"processor {self.processor} (epoch {self.epoch}, job model {self.version}, incarnation {self.number})"


class ProcessorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a processor needs to run: it plans again from the same inputs, and gets the same plan.

    `counts` are the partition counts of the external streams, `ends` the offsets where bounded partitions end,
    `starts` those where inputs are read first (0 where none is given), by stream and partition. `side_inputs` are the
    versions of side inputs from files. Paths are absolute; `folder` is what relative paths of the spec resolve from.
    """

    incarnation: Incarnation
    app: str
    counts: dict[str, int]
    job_model: str
    ends: dict[str, dict[int, int]]
    folder: str
    state_folder: str
    starts: dict[str, dict[int, int]] = {}
    side_inputs: dict[str, SideInputVersion] = {}


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """The progress in one partition: `rows` read since the start of the run, `offset` the next one.

    Of a side input, `awaited` offsets are still to be read before any other input.
    """

    rows: int
    offset: int
    ended: bool
    awaited: int = 0


class WatermarkHolderReport(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a stream's watermark does not advance: a `partition`, read by a `task`.

    In an intermediate stream it is the `producer`, a task that writes to it, if it is known which. It has reached the
    event time `watermark` (None: it has none yet) and has been there `since`, both in milliseconds since 1970.
    """

    task: str
    partition: int
    producer: str | None
    watermark: int | None
    since: int


def event_time(watermark: int | None) -> float:
    """Return a watermark as a number to compare: no watermark is lower than every time."""
    return -math.inf if watermark is None else watermark


class StateReport(msgspec.Struct, frozen=True, kw_only=True):
    """The restore of a task's state: from the store that was there (`kept`), else from the changelog alone.

    `records` of the changelog have been read; about `left` are still to be read.
    """

    kept: bool
    records: int
    left: int


class BrokenClaimReport(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a stream that were `checked` since the start, how many were `misplaced`, and the first of them."""

    checked: int
    misplaced: int
    example: str


class RunNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A message about the run that a person should know, and a word for programs."""

    reason: NoticeReason
    message: str


class ProcessorReport(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a processor, by stream, operator or table; event times are milliseconds.

    `states` are the restores by task; until all are `opened`, the rest is empty. A stream's watermark is the lowest of
    the tasks here (None: some task has none yet). `bad_rows` describe the first rows that could not be used.
    `committed` are the offsets from which partitions would be read after a crash. `held_back` names, by stream, the
    task here that holds the watermark back; none, if all that is not idle has ended. `broken_claims` has the streams
    with rows that are not where their key belongs (`onBrokenClaim: report`), `file_keys` samples of the keys of files
    that claim all rows of them, with their files' numbers. `notices` say what a person should know of the tables here.
    `state_sizes` are those of the stores here at the last commit, by operator or table.
    """

    incarnation: Incarnation
    states: dict[str, StateReport] = {}
    opened: bool = False
    partitions: dict[str, dict[int, PartitionReport]] = {}
    watermarks: dict[str, int | None] = {}
    held_back: dict[str, WatermarkHolderReport] = {}
    written: dict[str, int] = {}
    not_used: dict[str, dict[str, int]] = {}
    bad_rows: tuple[str, ...] = ()
    broken_claims: dict[str, BrokenClaimReport] = {}
    file_keys: dict[str, dict[str, int]] = {}
    commits: int = 0
    committed: dict[str, dict[int, int]] = {}
    notices: tuple[RunNotice, ...] = ()
    state_sizes: dict[str, StoreSize] = {}
    done: bool = False
