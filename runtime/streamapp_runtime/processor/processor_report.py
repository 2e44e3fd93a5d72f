"""What a processor is told at its start, and what it reports: values that travel as JSON."""

import math

import msgspec


class Incarnation(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a processor: it runs the tasks that one version of the job model gives it, and no others.

    `number` is unique in its epoch; a later life has a higher one.
    """

    processor: str
    epoch: int
    version: int
    number: int

    def __str__(self) -> str:
        return f"processor {self.processor} (epoch {self.epoch}, job model {self.version}, incarnation {self.number})"


class ProcessorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a processor needs to run: it plans again from the same inputs, and gets the same plan.

    `counts` are the partition counts of the external streams, `ends` the offsets where bounded partitions end, `starts`
    those where inputs are read first (0 where nothing is said), by stream and partition. Paths are absolute; `folder`
    is what relative paths of the spec resolve from.
    """

    incarnation: Incarnation
    app: str
    counts: dict[str, int]
    job_model: str
    ends: dict[str, dict[int, int]]
    folder: str
    state_folder: str
    starts: dict[str, dict[int, int]] = {}


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """How far one partition has been read: `rows` since the start, `offset` the next one.

    Of a side input, `awaited` offsets are still to be read before any other input.
    """

    rows: int
    offset: int
    ended: bool
    awaited: int = 0


class WatermarkHold(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a stream's watermark where it is: a `partition`, read by a `task`.

    Of an intermediate stream it is the `producer`, a task that writes to it, if it is known which. It has reached the
    event time `watermark` (None: it has said nothing yet) and has been there `since`, both in milliseconds since 1970.
    """

    task: str
    partition: int
    producer: str | None
    watermark: int | None
    since: int


def event_time(watermark: int | None) -> float:
    """Order watermarks: none at all comes before every time."""
    return -math.inf if watermark is None else watermark


class StateReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a task came to its state: from the store that was there (`kept`), else from the changelog alone.

    So many `records` of the changelog have been read; about as many as `left` are still to be.
    """

    kept: bool
    records: int
    left: int


class ProcessorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a processor has done so far, by stream, operator or table; event times are milliseconds.

    `states` tells by task how it came to its state; until all are `opened`, the rest is empty. A stream's watermark is
    the lowest of the tasks here (None: some task has none yet). `bad_rows` tell of the first rows that could not be
    used. `committed` are the offsets at which tasks would go on after a death. Who holds a stream's watermark back, of
    the tasks here, is in `held_back`; nobody, if all that is not idle has ended.
    """

    incarnation: Incarnation
    states: dict[str, StateReport] = {}
    opened: bool = False
    partitions: dict[str, dict[int, PartitionReport]] = {}
    watermarks: dict[str, int | None] = {}
    held_back: dict[str, WatermarkHold] = {}
    written: dict[str, int] = {}
    not_used: dict[str, dict[str, int]] = {}
    bad_rows: tuple[str, ...] = ()
    commits: int = 0
    committed: dict[str, dict[int, int]] = {}
    done: bool = False
