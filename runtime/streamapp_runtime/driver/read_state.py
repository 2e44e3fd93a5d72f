"""The rows that the stores of an app hold, as of its last commits (`streamapp state`)."""

import json
import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa

from streamapp_core.graph.graph import written_name
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.near_names import did_you_mean
from streamapp_core.plan.plan import Plan, PlannedTable
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks.natural_order import natural_key
from streamapp_runtime.app_streams import changelog_stream
from streamapp_runtime.driver.active_run import find_job_model
from streamapp_runtime.driver.plan_run import replan_run
from streamapp_runtime.driver.run_folder import METADATA, RunFolder
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.processor.state_opener import shared_owner, side_input_folder, task_folder
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.state.changelog_restore import restore_from_changelog
from streamapp_runtime.state.checkpoint import decode_checkpoint
from streamapp_runtime.state.folder_lock import FolderInUse
from streamapp_runtime.state.lmdb_environment import DATA_FILE, LmdbEnvironment
from streamapp_runtime.state.state_folder import assess_folder
from streamapp_runtime.state.state_metadata import CHECKPOINT, META
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import StoreCondition
from streamapp_runtime.tasks.stored_operators import stored_rows, table_rows

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """A row in the `store` of a task (or of a processor, whose tasks share it).

    `kind` says what it is there, `time` is its event time in milliseconds, if it has one, and `row` a JSON object.
    """

    task: str
    store: str
    kind: str
    time: int | None
    row: bytes


def read_state(
    parsed: ParsedApp, context: ExecutionContext, state: Path, name: str, key: Sequence[str] = ()
) -> Generator[StateRow, None, None]:
    """Return the rows that an operator or a table of an app's run holds: all, or those of a key.

    They are read from the changelog, which has what was committed: the app may run, here or elsewhere. Tables that side
    inputs fill have no changelog, and are read from `state`, the app's folder, while it does not run. The parts of a
    `key` are texts, as JSON has its values.

    Raises:
        PlanRefused: the app has problems.
        RuntimeFailure: there is no run, no such store, or it can't be read here.
        JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: a system can't be read.
    """
    if parsed.app is None or parsed.problems:
        raise PlanRefused(parsed.problems)
    model = find_job_model(parsed.app, context.systems)
    plan = replan_run(parsed, context.systems, model, context.clock.time_of_day()).plan
    stores = [store for store in plan.stores if name in (store, written_name(store))]
    if not stores:
        raise RuntimeFailure(_no_store(plan, name))
    for store in stores:
        table = plan.tables.get(store)
        if table is not None and table.spec.side_inputs:
            found = _of_side_inputs(table, model, state, context)
        else:
            found = _of_changelog(store, plan, model, context)
        with closing(found):
            for task, stored in found:
                for some in _with_key(store, stored, key):
                    yield from _rows(task, store, some)


def _of_changelog(
    store: str, plan: Plan, model: JobModel, context: ExecutionContext
) -> Generator[tuple[str, StoredRows], None, None]:
    stream, spec = changelog_stream(plan), plan.app.system(plan.default_system)
    with (
        closing(context.systems.open_transactional_admin(plan.default_system, spec)) as admin,
        SqlEngine() as engine,
    ):
        if stream.name not in admin.partitions([stream]):
            raise RuntimeFailure(f"system {plan.default_system} has no changelog {stream.address}")
        for task in sorted(model.tasks, key=natural_key):
            number = model.tasks[task].changelog_partition
            with (
                closing(context.systems.open_consumer(plan.default_system, spec, [stream])) as consumer,
                _scratch() as environment,
            ):
                _restore(environment, ChangelogPartitionReader(admin, consumer, stream, number))
                held = environment.store(store)
                if store in plan.tables:
                    found = table_rows(plan.tables[store], held)
                else:
                    watermark = _watermark(environment, store)
                    found = stored_rows(plan.operators[store], held, engine, context.clock.time_of_day, watermark)
                yield from ((task, rows) for rows in found)


def _of_side_inputs(
    table: PlannedTable, model: JobModel, state: Path, context: ExecutionContext
) -> Generator[tuple[str, StoredRows], None, None]:
    streams = " or ".join(table.spec.side_inputs)
    elsewhere = f"table {table.name} has no changelog: its side inputs fill it. `streamapp peek` shows {streams}"
    if not table.spec.persistent:
        raise RuntimeFailure(f"{elsewhere}; the table itself is in the memory of the app alone (persistent: false)")
    if not (state / METADATA).exists():
        raise RuntimeFailure(f"{elsewhere}; its store is where the app runs, and not in {state}")
    owners = [shared_owner(name) for name in model.processors] if table.broadcast else list(model.tasks)
    try:
        with RunFolder(state, context.clock) as folder:
            for task in sorted(owners, key=natural_key):
                source = side_input_folder(task_folder(folder.state(model.run_id), task))
                owner = StateOwner(run_id=model.run_id, task=task, boot_id=context.boot_id)
                if assess_folder(source, owner) is StoreCondition.INTACT:
                    with _scratch(source) as environment:
                        yield from ((task, rows) for rows in table_rows(table, environment.store(table.name)))
    except FolderInUse:
        raise RuntimeFailure(f"{elsewhere}; to see the table itself, stop the app first") from None


@contextmanager
def _scratch(source: Path | None = None) -> Iterator[LmdbEnvironment]:
    """Open stores in a temporary folder: empty ones, or a copy of others that nobody has open."""
    with tempfile.TemporaryDirectory(prefix="streamapp-state-") as folder:
        if source is not None:
            shutil.copyfile(source / DATA_FILE, Path(folder) / DATA_FILE)
        with closing(LmdbEnvironment(Path(folder))) as environment:
            yield environment


def _restore(environment: LmdbEnvironment, changelog: ChangelogPartitionReader) -> None:
    restore_from_changelog(
        environment,
        changelog,
        start=0,
        end=changelog.end(),
        kept=False,
        commit=lambda _: environment.commit(),
        on_progress=id,
    )
    environment.commit()


def _watermark(environment: LmdbEnvironment, operator: str) -> int | None:
    """Return the watermark that an operator had reached at the last commit; None: none."""
    data = environment.store(META).get(CHECKPOINT)
    reached = None if data is None else decode_checkpoint(data).watermarks.get(operator)
    return None if reached is None else reached.reached


def _no_store(plan: Plan, name: str) -> str:
    known = sorted({written_name(store) for store in plan.stores})
    app, there = plan.app.metadata.name, name in {*plan.tables, *map(written_name, plan.operators)}
    lacks = f"{name} keeps no state" if there else f"there is no operator or table {name}"
    if name in plan.app.spec.streams:
        return f"{name} is a stream: `streamapp peek` shows its records"
    if not there and (near := did_you_mean(name, known)):
        return f"{lacks}{near}"
    return f"{lacks}; those with state are {', '.join(known)}" if known else f"{lacks}: nothing of {app} keeps any"


def _with_key(store: str, stored: StoredRows, key: Sequence[str]) -> Iterator[StoredRows]:
    """Return those rows that have a key, if one is given; rows that are not found by their key are none of them."""
    if not key:
        yield stored
        return
    if not stored.key:
        return
    if len(key) != len(stored.key):
        raise RuntimeFailure(f"the key of {store} is {', '.join(stored.key)}: give {len(stored.key)}, not {len(key)}")
    keys = stored.rows.select(stored.key)
    _check_key(store, keys.schema, key)
    found = [_texts(line) == list(key) for line in encode_json(keys).to_pylist()]
    values = None if stored.values is None else [v for v, same in zip(stored.values, found, strict=True) if same]
    if any(found):
        rows = stored.rows.filter(pa.array(found))
        yield StoredRows(kind=stored.kind, key=stored.key, rows=rows, values=values)


def _check_key(store: str, columns: pa.Schema, key: Sequence[str]) -> None:
    """Refuse a value that no key can have: of another column, say."""
    for column, text in zip(columns, key, strict=True):
        if text != "null" and (pa.types.is_integer(column.type) or pa.types.is_date(column.type)):
            try:
                pa.scalar(text).cast(column.type)
            except pa.ArrowInvalid:
                order = ", ".join(columns.names)
                raise RuntimeFailure(f"the key of {store} is {order}: {text} is no value of {column.name}") from None


def _texts(row: bytes) -> list[str]:
    values = (bytes(value).decode() for value in _fields(row).values())
    return [str(json.loads(value)) if value.startswith('"') else value for value in values]


def _rows(task: str, store: str, stored: StoredRows) -> Iterator[StateRow]:
    rows, times = stored.rows, [None] * len(stored.rows)
    if EVENT_TIME_COLUMN in rows.column_names:
        times, rows = rows.column(EVENT_TIME_COLUMN).to_pylist(), rows.drop_columns([EVENT_TIME_COLUMN])
    lines = encode_json(rows).to_pylist()
    if stored.values is not None:
        lines = [_with_value(line, value) for line, value in zip(lines, stored.values, strict=True)]
    for time, line in zip(times, lines, strict=True):
        yield StateRow(task=task, store=store, kind=stored.kind, time=time, row=line)


def _with_value(row: bytes, value: object) -> bytes:
    return row.removesuffix(b"}") + b',"value":' + msgspec.json.encode(value) + b"}"
