"""The columns of tables that are read, compared with those that streams declare."""

from collections.abc import Iterator

from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.problems import Problem, ProblemCode
from streamapp_runtime.app_streams import descriptor
from streamapp_systems.registry import Systems


def find_table_problems(plan: Plan, systems: Systems) -> Iterator[Problem]:
    """Yield the columns of streams that can't be read of their tables.

    Raises:
        StreamSystemError: a table is not there, or can't be read.
    """
    for stream in plan.streams.values():
        system = plan.app.spec.systems[stream.system]
        if system.tables is None or stream.role is StreamRole.OUTPUT:
            continue
        for reason in systems.column_mismatches(system, descriptor(stream)):
            yield Problem(
                path=f"spec.streams.{stream.name}.schema", code=ProblemCode.TYPE_MISMATCH, message=f"{reason}"
            )
