"""The problems of a plan that only the systems of its app know: registered schemas, tables that are read or written."""

from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem
from streamapp_runtime.output_tables import find_table_problems
from streamapp_runtime.registered_key_schemas import find_key_schema_problems
from streamapp_runtime.registered_schemas import find_schema_problems
from streamapp_systems.registry import Systems


def find_system_problems(plan: Plan, systems: Systems) -> tuple[Problem, ...]:
    """Find what the columns of a plan don't fit.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    return (
        *find_schema_problems(plan, systems),
        *find_key_schema_problems(plan, systems),
        *find_table_problems(plan, systems),
    )
