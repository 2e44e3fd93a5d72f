"""The values that the operators of a task are built from: those of its processor, made once, and the task's own."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.job_model.job_model import TaskModel
from streamapp_core.plan.plan import Plan, PlannedOperator
from streamapp_runtime.functions.process_function import UserFunction
from streamapp_runtime.functions.scalar_function import ScalarFunctions
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.table_opener import TableOpener
from streamapp_runtime.writing.dead_letter_writer import DeadLetterWriter
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.protocols import OutputPlace, Producer, RecordLimits, StagedOutput

NoteNullKeys = Callable[[PlannedOperator, str, str, int], object]
"""Takes an operator, the task, the column of the key, and the number of rows. May raise `ClaimBroken`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """The writers of a processor: of `intermediate` streams, of `outputs` that are streams, of `files` by system.

    `dead_letters` takes records that can't be read. `places` are those of `files`, by system.

    All streams are written by one `producer`, in one transaction. `limits` are those of the outputs that have some.
    """

    producer: Producer
    intermediate: IntermediateWriter
    outputs: OutputWriter
    dead_letters: DeadLetterWriter
    files: Mapping[str, StagedOutput]
    places: Mapping[str, OutputPlace]
    limits: Mapping[str, RecordLimits]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorContext:
    """The values that all tasks of a processor share.

    `tasks` are those of the processor. `producers` are the tasks of the whole run that are expected to write to each
    intermediate stream; `starts` the offsets where inputs are read first, by stream and partition (0 where none is
    given). Functions of `process` are by operator. Rows that every task has are written by the task `broadcast_writer`
    alone.
    `note_null_keys` is told of rows without a key that a group would take in a task where none belongs.
    Windows close at most `results_at_once` in one step, and groups keep at most `values_inline` values in one record,
    if these are given.
    `time_of_day` returns milliseconds since 1970, `monotonic_milliseconds` those of a clock that never jumps; they mean
    nothing in the next process unless `clock_outlives_process`.
    """

    plan: Plan
    processor: str
    tasks: Mapping[str, TaskModel]
    producers: Mapping[str, Sequence[str]]
    starts: Mapping[str, Mapping[int, int]]
    broadcast_writer: str
    functions: Mapping[str, UserFunction]
    scalar_functions: ScalarFunctions
    engine: SqlEngine
    tables: TableOpener
    writers: Writers
    note_null_keys: NoteNullKeys
    results_at_once: int | None
    values_inline: int | None
    time_of_day: Callable[[], int]
    monotonic_milliseconds: Callable[[], int]
    clock_outlives_process: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """The values of one task: its state and its tables by name.

    `written`, the rows of each output, and `bad_rows` are counted by the operators and read by the task.
    """

    processor: ProcessorContext
    name: str
    state: TaskState
    tables: Mapping[str, LookupTable]
    written: Counter[str]
    bad_rows: BadRows
