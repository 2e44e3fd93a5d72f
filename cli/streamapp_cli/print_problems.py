"""Problems of a refused spec, for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from streamapp_core.problems import Problem


def print_problems(console: Console, name: str, problems: Sequence[Problem]) -> None:
    """Print every problem: where, what, and how to mend it."""
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    console.print(Text.assemble((f"{name} is refused", "bold red"), f": {count}\n"))
    for problem in problems:
        console.print(Text.assemble((problem.path, "bold"), "  ", (problem.code, "red")))
        console.print(f"  {problem.message}")
        if problem.repair is not None:
            console.print(Text.assemble("  ", ("repair:", "green"), f" {problem.repair.text}"))
