"""The parts of a processor, put together from plan and job model."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.control.source import SourceTiming
from streamapp_core.control.states import ControlStates
from streamapp_core.plan.model import Plan, PlannedTable, StreamRole
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.processor import Reading
from streamapp_runtime.sql.arrow_types import arrow_schema, arrow_type
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory import MemoryEnvironment
from streamapp_runtime.state.protocol import Environment
from streamapp_runtime.tables.fill_sql import fill_sql
from streamapp_runtime.tables.table import Table
from streamapp_runtime.tasks.build import Surroundings, build_pipeline
from streamapp_runtime.tasks.task import Task
from streamapp_systems.protocols import FileOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Tasks and tables, and which partition is read for which of them; `shared` holds the broadcast tables."""

    tasks: tuple[Task, ...]
    tables: Mapping[str, Sequence[Table]]
    reading: Reading
    shared: Environment
    written: Counter[str]


class Assembly:
    """Makes the tasks of one processor and their tables; `handles` closes their state."""

    def __init__(
        self,
        plan: Plan,
        *,
        owned: Mapping[str, Sequence[Ssp]],
        producers: Mapping[str, Sequence[str]],
        state_folder: Path,
        engine: SqlEngine,
        handles: ExitStack,
        now: int,
    ) -> None:
        """Take the partitions of each task here, and the expected producers of every intermediate stream."""
        self._plan = plan
        self._owned = owned
        self._producers = producers
        self._state_folder = state_folder
        self._engine = engine
        self._handles = handles
        self._now = now
        self._tables: dict[str, list[Table]] = {}
        self._fills: dict[Ssp, list[Table]] = {}
        self._written: Counter[str] = Counter()

    def assemble(self, processor: str, writer: IntermediateWriter, outputs: Mapping[str, FileOutput]) -> Assembled:
        """Open the state and make everything."""
        shared = self._environment(f"processor {processor}")
        everything = {ssp for ssps in self._owned.values() for ssp in ssps}
        broadcast = self._open_tables(shared, everything, broadcast=True)
        tasks = {}
        for name, ssps in sorted(self._owned.items()):
            environment = self._environment(name)
            around = Surroundings(
                engine=self._engine,
                writer=writer,
                tables={**broadcast, **self._open_tables(environment, ssps, broadcast=False)},
                outputs=outputs,
                written=self._written,
                environment=environment,
            )
            tasks[name] = self._task(name, around)
        return Assembled(
            tasks=tuple(tasks.values()),
            tables=self._tables,
            reading=self._reading(tasks),
            shared=shared,
            written=self._written,
        )

    def _task(self, name: str, around: Surroundings) -> Task:
        read = [ssp for ssp in self._owned[name] if self._role(ssp) is not StreamRole.SIDE_INPUT]
        inputs = {ssp.stream for ssp in read}
        sources = inputs - self._producers.keys()
        states = ControlStates(
            [(ssp.stream, ssp.partition) for ssp in read],
            producers={stream: tasks for stream, tasks in self._producers.items() if stream in inputs},
            sources={stream: self._timing(stream) for stream in sources},
            now=self._now,
        )
        return Task(
            name,
            ssps=read,
            pipeline=build_pipeline(self._plan, around),
            states=states,
            environment=around.environment,
            sources=sources,
            produces=[stream for stream, tasks in self._producers.items() if name in tasks],
        )

    def _open_tables(self, environment: Environment, ssps: Iterable[Ssp], *, broadcast: bool) -> dict[str, Table]:
        opened = {
            table.name: self._table(table, environment)
            for table in self._plan.tables.values()
            if table.broadcast is broadcast
        }
        for name, table in opened.items():
            self._tables.setdefault(name, []).append(table)
            for ssp in ssps:
                if ssp.stream in self._plan.tables[name].fillers:
                    self._fills.setdefault(ssp, []).append(table)
        return opened

    def _table(self, planned: PlannedTable, environment: Environment) -> Table:
        assert planned.key_type is not None
        where = environment if planned.spec.persistent else MemoryEnvironment()
        store = where.store(planned.name)
        columns = arrow_schema(planned.schema)
        return Table(self._engine, store, fill_sql(planned), arrow_type(planned.key_type), columns)

    def _reading(self, tasks: Mapping[str, Task]) -> Reading:
        intermediate: dict[Ssp, list[Task]] = {}
        inputs: dict[Ssp, list[Task]] = {}
        for name, task in tasks.items():
            for ssp in self._owned[name]:
                role = self._role(ssp)
                if role is not StreamRole.SIDE_INPUT:
                    owners = intermediate if role is StreamRole.INTERMEDIATE else inputs
                    owners.setdefault(ssp, []).append(task)
        return Reading(tables=self._fills, intermediate=intermediate, inputs=inputs)

    def _environment(self, name: str) -> Environment:
        environment = LmdbEnvironment(self._state_folder / name.replace(" ", "-"))
        self._handles.callback(environment.close)
        return environment

    def _role(self, ssp: Ssp) -> StreamRole:
        return self._plan.streams[ssp.stream].role

    def _timing(self, stream: str) -> SourceTiming:
        spec = self._plan.streams[stream].spec
        if spec is None or spec.event_time is None:
            return SourceTiming()
        time = spec.event_time
        return SourceTiming(max_out_of_orderness=time.max_out_of_orderness, idle_timeout=time.idle_timeout)
