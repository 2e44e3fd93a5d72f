"""Problems of a refused spec, and warnings about an accepted one, for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from streamapp_cli.counted import counted
from streamapp_core.problems import PlanWarning, Problem


def print_problems(console: Console, name: str, problems: Sequence[Problem]) -> None:
    """Print every problem: where, what, and how to mend it."""
    console.print(Text.assemble((f"{name} is refused", "bold red"), f": {counted(len(problems), 'problem')}\n"))
    for problem in problems:
        console.print(Text.assemble((problem.path, "bold"), "  ", (problem.code, "red")))
        repair = problem.repair
        console.print(f"  {problem.message if repair is None else problem.message.removesuffix(f': {repair.text}')}")
        if repair is not None:
            console.print(Text.assemble("  ", ("repair:", "green"), f" {repair.text}"))


def print_warnings(console: Console, warnings: Sequence[PlanWarning]) -> None:
    """Print every warning: where, what, and what to write instead."""
    for warning in warnings:
        console.print(Text.assemble((warning.path, "bold"), "  ", (warning.code, "yellow")))
        console.print(f"  {warning.message}")
        console.print(Text.assemble("  ", ("repair:", "green"), f" {warning.repair}"))
