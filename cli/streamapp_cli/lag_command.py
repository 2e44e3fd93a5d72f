"""`streamapp lag`: how far an app is behind the ends of what it reads."""

import json
from pathlib import Path

from streamapp_cli.app_files import exit_with_error
from streamapp_cli.command_options import TableOutput
from streamapp_cli.consoles import new_console
from streamapp_cli.counted import counted
from streamapp_cli.plan_inputs import read_app
from streamapp_cli.print_problems import print_problems
from streamapp_cli.text_tables import new_table
from streamapp_runtime.driver.read_lag import PartitionLag, read_lag
from streamapp_runtime.errors import FAILURES, PlanRefused
from streamapp_runtime.execution_context import local_context


def print_lag(file: Path, *, output: TableOutput) -> int:
    """Print the lag of each partition that an app reads, and return the exit code."""
    parsed = read_app(file)
    name = file.stem if parsed.app is None else parsed.app.metadata.name
    try:
        lags = read_lag(parsed, local_context(file.absolute().parent))
    except PlanRefused as refused:
        print_problems(new_console(), name, refused.problems)
        return 1
    except FAILURES as failure:
        exit_with_error(f"{name}: {failure}", 1)
    if output is TableOutput.JSON:
        for lag in lags:
            print(json.dumps(_document(lag)))
    else:
        _print(name, lags)
    return 0


def _document(lag: PartitionLag) -> dict[str, object]:
    offsets = {"position": lag.position, "end": lag.end, "behind": lag.behind}
    return {"stream": lag.stream, "partition": lag.partition, **offsets}


def _print(name: str, lags: list[PartitionLag]) -> None:
    console = new_console()
    table = new_table(console, "stream", "partition", "position", "end", "behind")
    for lag in lags:
        position = "none" if lag.position is None else f"{lag.position:,}"
        table.add_row(lag.stream, str(lag.partition), position, f"{lag.end:,}", f"{lag.behind:,}")
    console.print(table)
    console.print(f"{name}: {counted(sum(lag.behind for lag in lags), 'offset')} behind")
