"""The plan of an app that was written in Python, or all that is wrong with it; notebooks and consoles show it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import StringIO

from rich.console import Console

from streamapp_cli.print_plan import print_plan
from streamapp_cli.print_problems import print_problems, print_warnings
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem

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
