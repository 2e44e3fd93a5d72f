"""What a processor is told at its start, and what it reports: values that travel as JSON."""

import msgspec


class ProcessorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a processor needs to run: it plans again from the same inputs, and gets the same plan.

    `counts` are the partition counts of the external streams, `ends` the offsets where bounded partitions end, by
    stream and partition. Paths are absolute; `folder` is what relative paths of the spec resolve from.
    """

    processor: str
    epoch: int
    app: str
    counts: dict[str, int]
    job_model: str
    ends: dict[str, dict[int, int]]
    folder: str
    state_folder: str


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """How far one partition has been read: `rows` since the start, `offset` the next one."""

    rows: int
    offset: int
    ended: bool


class ProcessorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a processor has done so far, by stream, operator or table; event times are milliseconds.

    A stream's watermark is the lowest of the tasks here (None: some task has none yet). `bad_rows` tell of the first
    rows that could not be used.
    """

    processor: str
    epoch: int
    partitions: dict[str, dict[int, PartitionReport]]
    watermarks: dict[str, int | None]
    written: dict[str, int]
    not_used: dict[str, dict[str, int]]
    bad_rows: tuple[str, ...]
    commits: int
    done: bool = False
