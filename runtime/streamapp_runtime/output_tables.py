"""The tables that an app writes: compared with its rows, created where they are missing, told from others."""

from collections.abc import Iterator, Mapping

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_runtime.app_streams import output_descriptor
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.objects import ObjectPath, check_conditional_writes
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import Systems
from streamapp_systems.tables import WrittenTable


def find_table_problems(plan: Plan, systems: Systems) -> tuple[Problem, ...]:
    """Find what rows don't fit in the tables that they are written to; a table that is missing takes any.

    Raises:
        StreamSystemError: a table can't be read.
    """
    problems = []
    for stream, described, table in _tables(plan, systems):
        version = table.load()
        if version is None or described.schema is None:
            continue
        problems += [
            Problem(
                path=f"spec.streams.{stream.name}",
                code=ProblemCode.TYPE_MISMATCH,
                message=f"rows of `{stream.name}` can't be written to table `{stream.address}`: {reason}",
            )
            for reason in version.mismatches(arrow_schema(described.schema), described.folder_columns)
        ]
    return sorted_problems(problems)


def create_tables(plan: Plan, systems: Systems) -> None:
    """Create the tables that are missing.

    Raises:
        StreamSystemError: one can't be created, or is in a store in which commits are not safe.
    """
    for name in {stream.system for stream, _, _ in _tables(plan, systems)}:
        system = plan.app.spec.systems[name]
        if system.delta is None and system.spark is None:  # others have a database, which orders commits
            continue
        place = systems.place(system)
        if isinstance(place, ObjectPath):
            check_conditional_writes(place)
    for _, described, table in _tables(plan, systems):
        if described.schema is not None and table.load() is None:
            table.create(arrow_schema(described.schema), described.folder_columns)


def table_identities(plan: Plan, systems: Systems) -> Mapping[str, str]:
    """Return, by the folder of each table, what distinguishes it from a later one there; empty where there is none.

    An output may be moved to another table within a run, so its name says nothing.

    Raises:
        StreamSystemError: a table can't be read.
    """
    found = {}
    for stream, _, table in _tables(plan, systems):
        version, storage = table.load(), plan.app.spec.systems[stream.system].storage
        found[f"{storage}/{stream.address}"] = "" if version is None else version.id
    return found


def count_table_rows(plan: Plan, systems: Systems) -> Mapping[str, int]:
    """Return, by stream, about how many rows the tables have that are there.

    Raises:
        StreamSystemError: a table can't be read.
    """
    loaded = ((stream.name, table.load()) for stream, _, table in _tables(plan, systems))
    return {name: version.count_rows() for name, version in loaded if version is not None}


def _tables(plan: Plan, systems: Systems) -> Iterator[tuple[PlannedStream, StreamDescriptor, WrittenTable]]:
    for stream in plan.streams.values():
        system = plan.app.spec.systems[stream.system]
        if stream.role is StreamRole.OUTPUT and system.stages_outputs and system.file is None:
            described = output_descriptor(stream)
            yield stream, described, systems.open_written_table(system, described, plan.app.name_prefix)
