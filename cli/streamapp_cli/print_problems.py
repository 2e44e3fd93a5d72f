"""Problems of a refused spec, for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from streamapp_core.problems import Problem


def print_problems(console: Console, name: str, problems: Sequence[Problem]) -> None:
    """Print every problem: where, what, and how to mend it."""
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    console.print(f"[bold red]{escape(name)} is refused[/]: {count}\n")
    for problem in problems:
        console.print(f"[bold]{escape(problem.path)}[/]  [red]{problem.code}[/]")
        console.print(f"  {escape(problem.message)}")
        if problem.repair is not None:
            console.print(f"  [green]repair:[/] {escape(problem.repair.text)}")
