"""The text of an app is planned as a run on this machine would plan it, its systems and its code looked at."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from streamapp_core.plan.plan import PlanResult
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import sorted_problems
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.app_streams import count_partitions
from streamapp_runtime.asked_systems import explain_missing_streams
from streamapp_runtime.functions.function_loader import find_code_problems
from streamapp_runtime.system_problems import find_system_problems
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.registry import local_systems


def plan_text(text: str, folder: Path, partitions: Mapping[str, int] | None = None) -> PlanResult:
    """Plan the text of an app whose paths resolve from a folder; its systems are asked for `partitions` that are None.

    Raises:
        DocumentError: the text is no StreamApp.
        StreamSystemError: a system can't be asked.
    """
    parsed, systems = parse_text(text), local_systems(folder)
    counts = partitions
    if counts is None:
        counts = {} if parsed.app is None else count_partitions(parsed.app, systems)
    result = make_plan(parsed, counts, algorithms=installed_algorithm)
    if result.plan is None:
        return replace(result, problems=explain_missing_streams(result.problems, parsed.app, systems))
    problems = find_code_problems(result.plan, folder)
    if partitions is None:
        problems += find_system_problems(result.plan, systems)
    return PlanResult(plan=None, problems=sorted_problems(problems)) if problems else result
