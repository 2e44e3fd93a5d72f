"""The plan of an app that was written in Python, or all that is wrong with it; notebooks and consoles show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from streamapp_cli.print_plan import print_plan
from streamapp_cli.print_problems import print_problems, print_warnings
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.plan import Plan, PlanResult
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.app_streams import count_partitions
from streamapp_runtime.functions.function_loader import find_code_problems
from streamapp_runtime.output_tables import find_table_problems
from streamapp_runtime.registered_schemas import find_schema_problems
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.registry import local_systems

_COLUMNS = 160
_HTML = '<pre style="font-family: monospace">{code}</pre>'


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlannedApp:
    """The `plan` of an app; None if there are `problems`, whose paths name the lines of code of the parts."""

    name: str
    plan: Plan | None
    problems: tuple[Problem, ...]

    @property
    def accepted(self) -> bool:
        """Whether the app can run."""
        return self.plan is not None

    def __repr__(self) -> str:
        return self._printed().export_text()

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return self._printed().export_html(inline_styles=True, code_format=_HTML)

    def _printed(self) -> Console:
        console = Console(file=StringIO(), record=True, width=_COLUMNS, markup=False, emoji=False, highlight=False)
        if self.plan is None:
            print_problems(console, self.name, self.problems)
        else:
            print_plan(console, self.plan, build_job_model(self.plan, None, None))
            print_warnings(console, self.plan.warnings)
        return console


def with_places(problems: Sequence[Problem], place: Callable[[str], str | None]) -> tuple[Problem, ...]:
    """Return problems whose paths also name the lines of code of their parts, as far as they have any."""
    return tuple(
        replace(problem, path=f"{problem.path} ({line})") if (line := place(problem.path)) else problem
        for problem in problems
    )


def plan_text(text: str, folder: Path, partitions: Mapping[str, int] | None) -> PlanResult:
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
        return result
    problems = find_code_problems(result.plan, folder)
    if partitions is None:
        problems += (*find_schema_problems(result.plan, systems), *find_table_problems(result.plan, systems))
    return PlanResult(plan=None, problems=sorted_problems(problems)) if problems else result
